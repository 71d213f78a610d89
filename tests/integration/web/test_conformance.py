"""The API does what its description says, whatever it is sent: requests made up by schemathesis, right and wrong."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of schemathesis' own dependencies, on import
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import response_schema_conformance

from octavo.web.app import described
from tests.integration.web.conftest import PROBE, Site, key, problem, write_novel

SPEC = described()
EXAMPLES = int(os.environ.get("OCTAVO_CONFORMANCE_EXAMPLES", "20"))
ACTIONS = sorted(
    (method.upper(), path) for path, methods in SPEC["paths"].items() for method in methods if "events" not in path
)


@pytest.fixture
def filled(novel_site: Site) -> tuple[Site, dict[str, str]]:
    """A site with something of each noun, and the ids by the names that stand in paths."""
    site = novel_site
    site.lab.begin(PROBE.replace("probe", "summarize"), site.lab.book(write_novel(3), "other.txt"))
    jobs = {item["pipeline"]: item["id"] for item in site.walk("/v1/jobs")}
    document = site.walk("/v1/documents")[-1]["id"]
    client = site.client("run")
    client.post("/v1/views", json={"name": "names", "pipeline": "glossary", "documents": [document]})
    client.post("/v1/views/names/sweep", headers=key())
    made = client.post("/v1/context", json={"question": "silver coins"}).json()
    upload = client.post("/v1/uploads", json={"name": "b.txt", "size": 10, "pipeline": "summary"}).json()
    ids = {
        "document": document,
        "job": jobs["summary"],
        "chunk": site.walk(f"/v1/documents/{document}/chunks")[0]["id"],
        "task": str(site.walk(f"/v1/jobs/{jobs['summary']}/tasks")[0]["id"]),
        "operation": site.walk("/v1/operations")[0]["id"],
        "upload": upload["id"],
        "view": "names",
        "trace": made["trace"],
        "node": site.walk(f"/v1/jobs/{jobs['summary']}/fold")[0]["node"],
        "decision": "1",
        "token": "01900000-0000-7000-8000-000000000000",
    }
    return site, ids


def send(site: Site, case: Any, ids: dict[str, str]) -> Any:
    """Send a made-up case; half of the time at something that is there."""
    sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8321")
    headers = {name: value for name, value in dict(sent.get("headers") or {}).items() if _is_header(name, value)}
    headers |= {"Authorization": f"Bearer {site.token('admin')}"}
    path = case.path
    for name, value in ids.items():
        path = path.replace("{" + name + "}", value)
    address = "http://127.0.0.1:8321" + path
    body = {name: sent[name] for name in ("json", "data") if name in sent}
    if "data" in body:
        body = {"content": body["data"] if isinstance(body["data"], (bytes, str)) else str(body["data"]).encode()}
    return site.client(None).request(sent["method"], address, params=_flat(sent.get("params")), headers=headers, **body)


def _is_header(name: Any, value: Any) -> bool:
    good = isinstance(value, str) and value.isascii() and value.isprintable() and value.strip() == value
    return good and name.lower() not in ("authorization", "cookie", "host", "content-length")


def _flat(params: Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in (params or {}).items():
        found += [(name, str(item)) for item in (value if isinstance(value, list) else [value])]
    return [(name, value) for name, value in found if not _lone(name + value)]


def _lone(text: str) -> bool:
    return any("\ud800" <= char <= "\udfff" for char in text)


def check(action: Any, answer: Any) -> None:
    """No 500; an error is a problem document; what is good has a status and a shape that the description gives."""
    said = f"{answer.request.method} {answer.request.url} → {answer.status_code} {answer.text[:300]}"
    assert answer.status_code < 500 or answer.status_code == 503, said
    if answer.status_code >= 400:
        problem(answer, answer.status_code)
        return
    assert str(answer.status_code) in action["responses"], said
    assert answer.headers["cache-control"] == "no-store"


def test_every_action_keeps_to_its_description(filled: tuple[Site, dict[str, str]]) -> None:
    for method, path in ACTIONS:
        both_ways(filled, method, path, examples=1)


@pytest.mark.nightly
@pytest.mark.parametrize(("method", "path"), ACTIONS, ids=[f"{method} {path}" for method, path in ACTIONS])
def test_an_action_keeps_to_its_description(filled: tuple[Site, dict[str, str]], method: str, path: str) -> None:
    both_ways(filled, method, path, examples=EXAMPLES)


def both_ways(filled: tuple[Site, dict[str, str]], method: str, path: str, *, examples: int) -> None:
    """Send right and wrong cases of an action."""
    site, ids = filled
    schema = schemathesis.openapi.from_dict(SPEC)
    found = [result.ok() for result in schema.get_all_operations()]
    (chosen,) = [item for item in found if (item.method.upper(), item.path) == (method, path)]
    action = SPEC["paths"][path][method.lower()]
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        try:
            made_up(site, ids, chosen, action, mode, examples)
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing about it could be wrong


def made_up(site: Site, ids: dict[str, str], chosen: Any, action: Any, mode: GenerationMode, examples: int) -> None:
    """Send some cases of a kind."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=chosen.as_strategy(generation_mode=mode))
    def run(case: Any) -> None:
        answer = send(site, case, ids)
        check(action, answer)
        if answer.status_code < 400 and mode is GenerationMode.POSITIVE and answer.content:
            case.validate_response(answer, checks=[response_schema_conformance])

    run()
