"""What other sites, other machines, odd requests and the text of books can not do. Each fails without its guard."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import unquote

import pytest

from octavo.web import guards
from octavo.web.pages.plain import shown
from tests.integration.web.conftest import ADDRESS, PROBE, SUMMARY, Site, key, problem, write_novel

REBOUND = [
    "evil.example",
    "evil.example:8321",
    "127.0.0.1.evil.example",
    "localhost.evil.example:8321",
    "",
    "127.0.0.1@evil.example",
]


def test_a_name_that_is_not_ours_is_refused_for_every_method(site: Site) -> None:
    for host in REBOUND:
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
            answer = site.client().request(method, "/v1/jobs", headers={"Host": host})
            assert answer.status_code == 421, (host, method)


@pytest.mark.parametrize("host", ["127.0.0.1:8321", "localhost:8321", "LOCALHOST", "[::1]:8321"])
def test_this_machines_own_names_are_let_in(site: Site, host: str) -> None:
    assert site.client().get("/v1/jobs", headers={"Host": host}).status_code == 200


CROSS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "cross-site", "Origin": ADDRESS},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:9999"},
    {},
]


@pytest.mark.parametrize("headers", CROSS)
def test_another_sites_page_can_not_use_a_browsers_session(site: Site, headers: dict[str, str]) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(2)))
    browser = site.browser()
    del browser.headers["Sec-Fetch-Site"]
    answer = browser.post(f"/jobs/{job.id}/pause", headers=headers)
    assert answer.status_code == 403
    assert site.get(f"/v1/jobs/{job.id}")["state"] == "running"


def test_our_own_pages_can(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(2)))
    assert site.browser().post(f"/jobs/{job.id}/pause").status_code == 303
    assert site.get(f"/v1/jobs/{job.id}")["state"] == "paused"


def test_a_browser_without_those_headers_is_known_by_its_origin(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(2)))
    browser = site.browser()
    del browser.headers["Sec-Fetch-Site"]
    assert browser.post(f"/jobs/{job.id}/pause", headers={"Origin": ADDRESS}).status_code == 303


def test_a_get_changes_nothing(novel_site: Site) -> None:
    """Every address that can be got leaves the rows as they are, but for what notes that somebody looked."""
    job = novel_site.get("/v1/jobs")["items"][0]["id"]
    before = novel_site.get(f"/v1/jobs/{job}")
    browser = novel_site.browser()
    for path in ("pause", "resume", "cancel", "retry", "waive", "priority"):
        assert browser.get(f"/jobs/{job}/{path}").status_code in (404, 405)
        assert novel_site.client().get(f"/v1/jobs/{job}/{path}").status_code == 405
    assert novel_site.get(f"/v1/jobs/{job}") == before


def _routes(site: Site) -> list[tuple[str, str]]:
    found = []
    for path, methods in site.app.openapi()["paths"].items():
        filled = re.sub(
            r"\{\w+\}", "01900000-0000-7000-8000-000000000000", path.replace("{task}", "1").replace("{view}", "v")
        )
        found += [(method.upper(), filled) for method in methods]
    return found


def test_no_part_of_the_api_answers_without_a_token(site: Site) -> None:
    routes = _routes(site)
    assert len(routes) > 30
    for method, path in routes:
        answer = site.client(None, **{"Sec-Fetch-Site": "same-origin"}).request(method, path, json={})
        assert answer.status_code == 401, (method, path)
        assert problem(answer, 401)["type"] == "urn:octavo:no-token"


PAGES = [
    "/",
    "/documents",
    "/jobs",
    "/holes",
    "/views",
    "/search",
    "/traces",
    "/cost",
    "/workers",
    "/settings",
    "/tasks/1",
]


@pytest.mark.parametrize("path", PAGES)
def test_no_page_is_shown_to_who_has_not_entered(site: Site, path: str) -> None:
    answer = site.client(None, Accept="text/html").get(path)
    assert answer.status_code == 401
    assert "Launch code or token" in answer.text


@pytest.mark.parametrize(
    "secret", ["", "oct_", "oct_nobody-has-this-one", "Bearer", "' OR 1=1 --", "x" * 5000, "\N{SNOWMAN}"]
)
def test_a_wrong_token_is_none(site: Site, secret: str) -> None:
    headers = {"Authorization": f"Bearer {secret}".encode()}
    assert site.client(None).get("/v1/jobs", headers=headers).status_code == 401


def test_a_session_is_no_token_and_a_token_is_no_session(site: Site) -> None:
    browser = site.browser()
    session = browser.cookies[site.web.cookie]
    assert site.client(None, Authorization=f"Bearer {session}").get("/v1/jobs").status_code == 401
    other = site.client(None)
    other.cookies.set(site.web.cookie, site.token("admin"))
    assert other.get("/v1/jobs").status_code == 401


def test_a_token_in_an_address_counts_for_nothing(site: Site) -> None:
    assert site.client(None).get(f"/v1/jobs?token={site.token('admin')}").status_code == 401


def test_reading_needs_read_acting_needs_run_and_tokens_need_admin(site: Site) -> None:
    job = site.lab.begin(SUMMARY, site.lab.book(write_novel(2)))
    acts = [("POST", f"/v1/jobs/{job.id}/pause", {}), ("POST", "/v1/uploads", {"name": "a.txt", "size": 1})]
    for method, path, body in acts:
        assert (
            problem(site.client("read").request(method, path, json=body, headers=key()), 403)["type"]
            == "urn:octavo:scope"
        )
        assert site.client("run").request(method, path, json=body, headers=key()).status_code < 300
    assert problem(site.client("run").get("/v1/tokens"), 403)["type"] == "urn:octavo:scope"
    assert problem(site.client("run").post("/v1/tokens", json={"name": "x", "scope": "admin"}), 403)
    assert site.client("admin").get("/v1/tokens").status_code == 200
    assert site.client("read").get("/v1/jobs").status_code == 200


def test_a_token_that_was_taken_back_or_has_expired_is_none(site: Site) -> None:
    made = site.client().post("/v1/tokens", json={"name": "guest", "scope": "read"}).json()
    guest = site.client(None, Authorization=f"Bearer {made['secret']}")
    assert guest.get("/v1/jobs").status_code == 200
    assert site.client().delete(f"/v1/tokens/{made['id']}").status_code == 204
    assert guest.get("/v1/jobs").status_code == 401


def test_a_launch_code_lets_one_browser_in_once_and_only_when_it_is_sent(site: Site) -> None:
    code = site.web.codes.make()
    first = site.client(None, **{"Sec-Fetch-Site": "same-origin"})
    assert first.get("/enter", params={"code": code}).status_code == 200  # a look uses nothing up
    assert first.post("/enter", data={"secret": code}).status_code == 303
    cookie = first.cookies[site.web.cookie]
    assert first.get("/jobs").status_code == 200
    second = site.client(None, **{"Sec-Fetch-Site": "same-origin"})
    assert second.post("/enter", data={"secret": code}).status_code == 403
    third = site.client(None, **{"Sec-Fetch-Site": "same-origin"})
    set_cookie = third.post("/enter", data={"secret": site.web.codes.make()}).headers["set-cookie"].lower()
    assert "httponly" in set_cookie
    assert "samesite=strict" in set_cookie
    first.post("/leave")
    fourth = site.client(None)
    fourth.cookies.set(site.web.cookie, cookie)
    assert fourth.get("/jobs").status_code == 401


def test_secrets_are_stored_hashed_only(site: Site) -> None:
    token = site.token("admin")
    site.browser()
    stored = (site.lab.folder / "state" / "octavo.db").read_bytes()
    wal = site.lab.folder / "state" / "octavo.db-wal"
    assert token.encode() not in stored + (wal.read_bytes() if wal.exists() else b"")


POLICIES = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def test_every_answer_carries_the_policy(novel_site: Site) -> None:
    job = novel_site.get("/v1/jobs")["items"][0]["id"]
    browser = novel_site.browser()
    for path in [*PAGES, f"/jobs/{job}/read", f"/jobs/{job}/map.png", "/v1/jobs", "/nowhere", "/enter", "/docs"]:
        headers = browser.get(path).headers
        for name, value in POLICIES.items():
            assert headers[name] == value, (path, name)
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers


def test_no_page_needs_what_the_policy_forbids(novel_site: Site) -> None:
    """No scripts or styles in the page, no attributes that are scripts, and nothing from elsewhere."""
    browser = novel_site.browser()
    job = novel_site.get("/v1/jobs")["items"][0]["id"]
    document = novel_site.get("/v1/documents")["items"][0]["id"]
    for path in [*PAGES, f"/jobs/{job}", f"/jobs/{job}/read", f"/documents/{document}", "/docs", "/enter?code=x"]:
        page = browser.get(path).text
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:", page), path
        assert not re.search(r"(src|href|action)=\"(https?:)?//", page), path


BOOK = """Chapter 1

<script>alert(1)</script> said <img src=x onerror=alert(2)> the captain of the "Kittiwake" & 'Swallow'.
He wrote \N{RIGHT-TO-LEFT OVERRIDE}gnp.exe\N{POP DIRECTIONAL FORMATTING} and \N{RIGHT-TO-LEFT ISOLATE}never closed it.
The bell \x1b[31mred\x1b]0;title\x07 rang eleven times over the water of the bay that night, and all were asleep.

Chapter 2 <b>bold</b> {{ 7 * 7 }}

Nothing happened in the second chapter but the weather, which was bad, and the captain said {{ 7 * 7 }} prayers.
"""


def test_what_a_book_says_is_text_on_every_page(site: Site) -> None:
    book = site.lab.book(BOOK, "<i>odd & name.txt")
    job = site.lab.run(SUMMARY, book)
    site.lab.run(SUMMARY.replace("summary", "again", 1), book)
    browser = site.browser()
    document = site.get("/v1/documents")["items"][0]["id"]
    chunk = site.get(f"/v1/documents/{document}/chunks")["items"][0]["id"]
    task = site.get(f"/v1/jobs/{job.id}/tasks")["items"][0]["id"]
    paths = [
        "/", "/documents", f"/documents/{document}", f"/documents/{document}/read", f"/jobs/{job.id}",
        f"/jobs/{job.id}/read", f"/jobs/{job.id}/tasks", f"/tasks/{task}", f"/chunks/{chunk}", "/jobs",
        "/documents?q=<script>alert(3)</script>",
    ]  # fmt: skip
    seen = ""
    for path in paths:
        page = browser.get(path)
        assert page.status_code == 200, path
        seen += page.text
        for bad in ("<script>alert", "<img src=x", "<b>bold", "<i>odd", "\x1b", "\x07", "\u202e", "\u2067"):
            assert bad not in page.text, (path, bad)
        assert " 49 " not in page.text
    for good in ("&lt;script&gt;alert(1)", "{{ 7 * 7 }}", "⟨RLO⟩", "⟨RLI⟩", "␛[31m"):
        assert good in seen
    assert "<bdi>" in seen


def test_what_an_op_says_when_it_fails_is_text_too(site: Site) -> None:
    from pipeline.ops.decorators import map_op
    from pipeline.retry import CallError, ErrorClass

    @map_op(name="probe", version="1")
    def probe(text: str) -> object:
        raise CallError(ErrorClass.PERMANENT, "<b>code</b>", f"<script>alert(4)</script> \u202e {text[:5]}")

    site.lab.teach(probe)
    job = site.lab.run(PROBE, site.lab.book(write_novel(2)))
    browser = site.browser()
    task = site.get(f"/v1/jobs/{job.id}/tasks")["items"][0]["id"]
    for path in ("/", "/holes", f"/jobs/{job.id}", f"/tasks/{task}", f"/jobs/{job.id}/tasks?state=failed"):
        page = browser.get(path).text
        assert "<script>alert" not in page
        assert "<b>code" not in page
        assert "\u202e" not in page
    assert "&lt;script&gt;alert(N)" in browser.get("/holes").text


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("plain", "plain"),
        ("a\x00b", "a␀b"),
        ("\x9b31m", "⟨9B⟩31m"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("שלום", "שלום"),
        ("\u200fmark", "\u200fmark"),
        ("\u2066x\u2069", "⟨LRI⟩x⟨PDI⟩"),
    ],
)
def test_controls_are_shown_and_scripts_of_people_are_left_alone(said: str, seen: str) -> None:
    assert shown(said) == seen


ODD = [
    "/static/x/../app.css",
    "/static/x/..%2fapp.css",
    "/static/x/%2e%2e/app.css",
    "/static/x/app.css%00.png",
    "/static/x/..\\app.css",
    "/static//etc/passwd",
    "/v1/documents/..%2f..%2fetc%2fpasswd",
    "/v1/jobs/%0d%0aSet-Cookie:x",
]


async def raw(site: Site, path: str) -> int:
    """The status of a path that is sent as it stands: clients tidy paths up, an attacker does not."""
    sent: list[dict[str, Any]] = []
    headers = {"host": "127.0.0.1:8321", "authorization": f"Bearer {site.token('read')}"}
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "query_string": b"",
        "path": unquote(path), "raw_path": path.encode(), "root_path": "", "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8321), "headers": [(n.encode(), v.encode()) for n, v in headers.items()],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await site.app(scope, receive, send)
    return int(sent[0]["status"])


@pytest.mark.parametrize("path", ODD)
def test_paths_that_could_be_read_in_two_ways_are_refused(site: Site, path: str) -> None:
    assert asyncio.run(raw(site, path)) == 400


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\system.ini", "system.ini"),
        ("/absolute.txt", "absolute.txt"),
        (".hidden.txt", "hidden.txt"),
        ("nul\x00byte.txt", "nul_byte.txt"),
        ("con\x1b[31m.txt", "con_31m.txt"),
        ("\u202etxt.exe", "_txt.exe"),
        ("三国演义.txt", "三国演义.txt"),
        ("x" * 500 + ".txt", "x" * 116 + ".txt"),
    ],
)
def test_an_uploads_name_is_one_part_of_a_path(site: Site, name: str, kept: str) -> None:
    answer = site.client().post("/v1/uploads", json={"name": name[:200], "size": 3})
    if len(name) > 200:
        kept = "x" * 120
    assert answer.status_code == 201, answer.text
    upload = answer.json()
    assert upload["name"] == kept
    headers = {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
    sent = site.client().patch(f"/v1/uploads/{upload['id']}", content=b"abc", headers=headers)
    assert sent.status_code == 200, sent.text
    inside = {path.name for path in site.web.uploads.iterdir() if path.is_file()}
    assert inside == {kept}


@pytest.mark.parametrize("name", ["..", ".", "///", "...", " . "])
def test_an_upload_without_a_name_is_refused(site: Site, name: str) -> None:
    problem(site.client().post("/v1/uploads", json={"name": name, "size": 3}), 422)


def test_more_than_is_allowed_is_refused_before_and_while_it_comes(site: Site) -> None:
    most = site.web.runtime.settings.upload_mb << 20
    problem(site.client().post("/v1/uploads", json={"name": "a.txt", "size": most + 1}), 413)
    problem(site.client().post("/v1/tokens", content=b" " * (guards.SMALL_BODY + 1)), 413)

    def endless() -> object:
        for _ in range(3):
            yield b" " * (guards.SMALL_BODY // 2)

    problem(site.client().post("/v1/tokens", content=endless()), 413)
    upload = site.client().post("/v1/uploads", json={"name": "a.txt", "size": 5}).json()
    headers = {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
    problem(site.client().patch(f"/v1/uploads/{upload['id']}", content=b"123456", headers=headers), 413)


def test_who_asks_too_often_is_told_to_wait(site: Site) -> None:
    client = site.client()
    assert "RateLimit" in client.get("/v1/jobs").headers
    site.web.rate.per_minute = 2
    site.web.rate._buckets.clear()
    answers = [client.get("/v1/jobs").status_code for _ in range(4)]
    assert answers[:2] == [200, 200]
    answer = client.get("/v1/jobs")
    assert answer.status_code == 429
    assert answer.headers["Retry-After"] == "1"
    assert site.client("read").get("/v1/jobs").status_code == 200  # each caller has a share of its own


def test_another_address_without_a_token_is_refused(state: object) -> None:
    from octavo.cli.web import _is_loopback, _needs_token
    from pipeline.errors import UsageError
    from pipeline.settings import current
    from workers.runtime import Runtime

    assert [_is_loopback(address) for address in ("127.0.0.1", "::1", "localhost")] == [True] * 3
    assert [_is_loopback(address) for address in ("0.0.0.0", "::", "192.168.1.7", "host.example", "")] == [False] * 5
    runtime = Runtime(current({}))
    try:
        with pytest.raises(UsageError, match="no token yet"):
            _needs_token(runtime, "0.0.0.0")
    finally:
        runtime.close()


def test_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY only where a socket names its protocol; what is accepted has the listener's."""
    import socket

    from octavo.cli.web import _listen

    with _listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()[:2]) as client:
        accepted, _ = listener.accept()
        assert accepted.proto == socket.IPPROTO_TCP
        accepted.close()
        assert client
