"""What stands before every request: known hosts, no requests from other sites, no odd paths, bounded bodies."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from octavo.web.problems import ProblemError, response

SAFE = ("GET", "HEAD", "OPTIONS")
SMALL_BODY = 1 << 20
SLACK = 1 << 16  # of a form around the file in it

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class TooLargeError(ProblemError):
    """More came than is allowed."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", f"The request holds more than the {limit} bytes allowed"
        )


class Guard:
    """The outermost of the application: refuses before anything is read or looked up."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str], upload_bytes: int) -> None:
        self._app = app
        self._hosts = hosts
        self._upload_bytes = upload_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refuse(scope)
        if refused is not None:
            await response(refused)(scope, receive, with_headers)
            return
        body = _Body(receive, self._limit(scope))

        async def unless_too_large(message: Message) -> None:
            if not body.exceeded:
                await with_headers(message)

        await self._app(scope, body.receive, unless_too_large)
        if body.exceeded:
            # Whoever read the body may have made an error of its own of it: what is told is what it was.
            await response(TooLargeError(body.limit))(scope, receive, with_headers)

    def _refuse(self, scope: Scope) -> ProblemError | None:
        headers = Headers(scope=scope)
        return (
            _odd_path(scope)
            or host_fault(headers.getlist("host"), self._hosts)
            or (origin_fault(headers) if scope["method"] not in SAFE else None)
            or self._announced(scope, headers)
        )

    def _limit(self, scope: Scope) -> int:
        path = scope["path"]
        uploads = (path.startswith("/v1/uploads/") and scope["method"] == "PATCH") or path == "/documents"
        return self._upload_bytes + SLACK if uploads else SMALL_BODY

    def _announced(self, scope: Scope, headers: Headers) -> ProblemError | None:
        said = headers.get("content-length", "0")
        limit = self._limit(scope)
        return TooLargeError(limit) if said.isdecimal() and int(said[:19]) > limit else None


class _Body:
    """A request's body, which ends with an error where it is longer than allowed."""

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive = receive
        self._seen = 0
        self.limit = limit
        self.exceeded = False

    async def receive(self) -> Message:
        """The next part of it. Raises TooLargeError."""
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self.limit:
            self.exceeded = True
            raise TooLargeError(self.limit)
        return message


def _odd_path(scope: Scope) -> ProblemError | None:
    """Paths that other programs could read in another way than this one."""
    raw = scope.get("raw_path") or scope["path"].encode()
    lower = raw.lower()
    odd = any(sign in lower for sign in (b"%2f", b"%5c", b"%00", b"\\", b"//", b"/./", b"/../", b"%2e"))
    if odd or lower.endswith((b"/.", b"/..")) or any(ord(char) < 32 or ord(char) == 127 for char in scope["path"]):
        return ProblemError(HTTPStatus.BAD_REQUEST, "odd-path", "The path holds what no path of Octavo has")
    return None


def host_fault(said: list[str], hosts: frozenset[str]) -> ProblemError | None:
    """A name that is not ours may be another site's, pointed at this machine (DNS rebinding)."""
    if len(said) == 1 and _name_of(said[0]) in hosts:
        return None
    return ProblemError(
        HTTPStatus.MISDIRECTED_REQUEST,
        "unknown-host",
        "This server does not answer to that host name",
        hint="octavo web --host NAME lets it; from this machine use 127.0.0.1",
    )


def _name_of(host: str) -> str:
    name, _, port = host.rpartition(":")
    if name and port.isdecimal() and not name.endswith(":"):
        return name.lower()
    return host.lower()


def origin_fault(headers: Headers) -> ProblemError | None:
    """Requests that change something come from our own pages, or from a program that shows a token.

    A browser says where a request comes from by itself; a page can not make it say otherwise.
    """
    site = headers.get("sec-fetch-site")
    if site is not None:
        same = site == "same-origin"
    elif headers.get("origin") is not None:
        same = urlsplit(headers["origin"]).netloc.lower() == headers.get("host", "").lower()
    else:
        same = headers.get("authorization", "").lower().startswith("bearer ")
    if same:
        return None
    return ProblemError(
        HTTPStatus.FORBIDDEN, "cross-site", "A request that changes something must come from this site's own pages",
        hint="programs: send Authorization: Bearer oct_…",
    )  # fmt: skip
