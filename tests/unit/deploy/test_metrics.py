"""A worker's metrics: what is counted is shown, and labels stay few and without names of books."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from prometheus_client.parser import text_string_to_metric_families

from workers.metrics import NAMES_MOST, OTHER, Metrics, Names, Reading, series

EMPTY = Reading()


def shown(metrics: Metrics, reading: Reading = EMPTY) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """All samples by name and labels, as a scrape reads them."""
    families = text_string_to_metric_families(metrics.render(reading).decode())
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_what_happened_is_counted_by_op_lane_and_outcome() -> None:
    metrics = Metrics()
    metrics.done("summarize", "local", "hit", 40)
    metrics.done("summarize", "local", "computed")
    metrics.call("summarize", "qwen", "ok", seconds=0.2, tokens_in=900, tokens_out=80)
    metrics.retry("summarize", "qwen", "rate_limited")
    metrics.hole("summarize", "qwen", "invalid_output")
    metrics.lease_lost("qwen", 2)
    metrics.governor_wait("qwen", "tokens")
    metrics.checkpoint(0.004, 31)
    samples = shown(metrics)
    work = (("lane", "qwen"), ("op", "summarize"))
    assert samples["octavo_tasks_done_total", (("lane", "local"), ("op", "summarize"), ("outcome", "hit"))] == 40
    assert samples["octavo_tokens_total", (("direction", "in"), *work)] == 900
    assert samples["octavo_call_seconds_count", work] == 1
    assert samples["octavo_retries_total", (*work, ("reason", "rate_limited"))] == 1
    assert samples["octavo_holes_total", (*work, ("reason", "invalid_output"))] == 1
    assert samples["octavo_lease_losses_total", (("lane", "qwen"),)] == 2
    assert samples["octavo_governor_waits_total", (("lane", "qwen"), ("reason", "tokens"))] == 1
    assert samples["octavo_checkpoint_tasks_sum", ()] == 31


def test_gauges_are_those_of_the_reading_and_what_is_gone_is_gone() -> None:
    metrics = Metrics()
    before = shown(metrics, Reading(in_flight={"local": 3}, queue_depth={"octavo.call": 7}, heartbeat_s=1e9))
    assert before["octavo_in_flight", (("lane", "local"),)] == 3
    assert before["octavo_queue_depth", (("queue", "octavo.call"),)] == 7
    assert before["octavo_heartbeat_timestamp_seconds", ()] == 1e9
    after = shown(metrics, Reading(healthy=False, circuits_open={"qwen": True}))
    assert ("octavo_in_flight", (("lane", "local"),)) not in after
    assert after["octavo_circuit_open", (("lane", "qwen"),)] == 1
    assert after["octavo_healthy", ()] == 0


@pytest.mark.parametrize(
    "value",
    ["Moby-Dick; or, The Whale", "第一章", "a/path/of.txt", "0197f3c2-8a4e-7d61-9c1b-2f6d5e4a3b2c", "chunk_00012345",
     "deadbeefdeadbeef", "", "x" * 60, 'quote"', "line\nfeed"],
)  # fmt: skip
def test_titles_paths_and_ids_never_become_labels(value: str) -> None:
    metrics = Metrics()
    metrics.done(value, value, value)
    metrics.retry(value, value, value)
    ours = ("op", "lane", "outcome", "reason")
    assert {label for _, labels in shown(metrics) for name, label in labels if name in ours} == {OTHER}


def test_the_values_of_a_label_have_a_bound() -> None:
    names = Names()
    kept = {names(f"op_{letter}{other}") for letter in "abcdefghij" for other in "abcdefghij"}
    assert len(kept) == NAMES_MOST + 1
    assert OTHER in kept
    assert names("op_aa") == "op_aa", "one that was there stays"


def test_the_series_are_what_a_scrape_shows() -> None:
    metrics = Metrics()
    for act in (
        lambda: metrics.done("op", "lane", "hit"),
        lambda: metrics.call("op", "lane", "ok", seconds=1, tokens_in=1),
        lambda: metrics.retry("op", "lane", "r"),
        lambda: metrics.hole("op", "lane", "r"),
        lambda: metrics.lease_lost("lane"),
        lambda: metrics.governor_wait("lane", "slots"),
    ):
        act()
    full = Reading(in_flight={"a": 1}, queue_depth={"a": 1}, circuits_open={"a": False})
    assert {name for name, _ in shown(metrics, full)} == series(metrics)


def test_health_is_an_answer_of_its_own() -> None:
    from workers.metrics import answer

    metrics = Metrics()
    assert answer("/health", metrics, lambda: EMPTY)[0] is HTTPStatus.OK
    status, kind, body = answer("/health", metrics, lambda: Reading(healthy=False, says="no heartbeat for 40 s"))
    assert (status, kind) == (HTTPStatus.SERVICE_UNAVAILABLE, "application/json")
    assert json.loads(body) == {"healthy": False, "says": "no heartbeat for 40 s"}
    assert answer("/metrics", metrics, lambda: EMPTY)[2].startswith(b"# HELP")
    assert answer("/", metrics, lambda: EMPTY)[0] is HTTPStatus.NOT_FOUND
