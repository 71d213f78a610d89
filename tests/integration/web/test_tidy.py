"""What requests leave behind is forgotten in time, and nothing else is."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from tests.integration.web.conftest import Site, key, write_novel
from workers.faces import tidy


def leave_traces(site: Site) -> str:
    """A request, an operation, a token that was taken back, half an upload; gives the upload."""
    site.lab.ingest(site.lab.book(write_novel(2)))
    client = site.client()
    document = site.walk("/v1/documents")[0]["id"]
    asked = client.post("/v1/jobs", json={"pipeline": "summary", "documents": [document]}, headers=key()).json()
    with site.lab.database.write() as rows:
        rows.web.end_operation(UUID(asked["id"]), result={}, error=None)
    made = client.post("/v1/tokens", json={"name": "guest", "scope": "read"}).json()
    client.delete(f"/v1/tokens/{made['id']}")
    upload = client.post("/v1/uploads", json={"name": "a.txt", "size": 5}).json()["id"]
    headers = {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
    assert client.patch(f"/v1/uploads/{upload}", content=b"123", headers=headers).status_code == 200
    return str(upload)


def counts(site: Site) -> dict[str, int]:
    tables = ("idempotency", "operations", "tokens", "uploads", "documents")
    with site.lab.database.engine.connect() as connection:
        return {name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one() or 0 for name in tables}


def test_what_is_young_stays_and_what_is_old_goes(either_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site = either_site
    upload = leave_traces(site)
    before = counts(site)
    tidy.tidy(site.web.runtime)
    assert counts(site) == before
    file = tidy.arriving(site.web.runtime, upload)
    assert file.read_bytes() == b"123"
    for name in ("REQUESTS", "UPLOADS", "OPERATIONS", "TOKENS"):
        monkeypatch.setattr(tidy, name, timedelta(seconds=-60))
    tidy.tidy(site.web.runtime)
    after = counts(site)
    assert (after["idempotency"], after["operations"], after["uploads"]) == (0, 0, 0)
    assert after["tokens"] == before["tokens"] - 1
    assert after["documents"] == before["documents"]
    assert not file.exists()
    assert site.get("/v1/jobs")["items"] == []  # tokens that are good are good
