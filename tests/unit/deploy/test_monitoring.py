"""The dashboard, the alerts and the Prometheus example ask only for what the workers show."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from workers.metrics import Metrics, series
from workers.supervise.stack import TARGETS_FILE

ROOT = Path(__file__).resolve().parents[3]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text(encoding="utf-8"))
QUERIES = [(panel["title"], target["expr"]) for panel in DASHBOARD["panels"] for target in panel["targets"]]
PROMETHEUS_OWN = {"up"}
LABELS = {"op", "lane", "outcome", "direction", "reason", "queue", "le", "job", "instance"}

yaml = pytest.importorskip("yaml", reason="PyYAML is a test dependency")
promql = pytest.importorskip("promql_parser", reason="promql-parser is a test dependency")
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]
EVERY = QUERIES + [(rule["alert"], rule["expr"]) for rule in RULES]


def selected(query: str) -> set[str]:
    """The names of the series that a query asks for. Raises ValueError when it is no PromQL."""
    found: set[str] = set()

    def visit(part: Any) -> None:
        selector = getattr(part, "vector_selector", part)  # of a range: the selector inside
        if isinstance(selector, promql.VectorSelector):
            found.add(selector.name)

    promql.walk(promql.parse(query.replace("$__rate_interval", "1m")), visit)  # Grafana's own variable
    return found


@pytest.mark.parametrize(("name", "query"), EVERY, ids=[name for name, _ in EVERY])
def test_every_query_is_promql_over_series_and_labels_that_exist(name: str, query: str) -> None:
    names = selected(query)
    assert names
    assert names <= series(Metrics()) | PROMETHEUS_OWN
    for labels in re.findall(r"by \(([^)]*)\)", query):
        assert {label.strip() for label in labels.split(",")} <= LABELS


def test_a_query_that_is_wrong_would_be_found() -> None:
    with pytest.raises(ValueError):
        selected("sum(rate(octavo_calls_total[5m])")
    assert not selected("rate(octavo_no_such_total[5m])") <= series(Metrics())


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    asked = set().union(*(selected(query) for _, query in QUERIES))
    families = {re.sub(r"_(total|bucket|sum|count)$", "", name) for name in asked}
    ours = {family.name for family in Metrics().registry.collect() if family.name.startswith("octavo_")}
    assert ours <= families


def test_the_panels_have_ids_of_their_own_and_do_not_overlap() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


def test_every_alert_says_what_and_how_bad_and_stands_in_the_operations_guide() -> None:
    guide = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["alert"] in guide


def test_prometheus_reads_the_rules_and_the_file_that_octavo_up_writes() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text(encoding="utf-8"))
    assert config["rule_files"] == ["alerts.yml"]
    (job,) = config["scrape_configs"]
    assert job["job_name"] == "octavo-worker"
    assert Path(job["file_sd_configs"][0]["files"][0]).name == TARGETS_FILE
