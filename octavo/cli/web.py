"""`octavo web` and `octavo token`."""

from __future__ import annotations

import contextlib
import gc
import ipaddress
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from octavo.cli import console, options
from pipeline.errors import UsageError
from workers import logs
from workers.runtime import Runtime

if TYPE_CHECKING:
    from octavo.web.state import Web

token_app = typer.Typer(help="Tokens for the API and the pages.", no_args_is_help=True, rich_markup_mode=None)

SWITCH_S = 0.0005
GARBAGE = (50_000, 20, 100)
STOP_S = 5  # for answers in flight when it ends; viewers are let go at once


def web(
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 takes a free one.")] = 8321,
    address: Annotated[
        str, typer.Option("--address", help="Address to listen on. Any but this machine's own needs a token.")
    ] = "127.0.0.1",
    host: Annotated[
        list[str] | None, typer.Option("--host", help="A name by which browsers reach it; may be repeated.")
    ] = None,
    https: Annotated[
        bool, typer.Option("--https", help="It is reached by https (a proxy before it ends it): cookies say so.")
    ] = False,
    model: options.Model = None,
    ops: options.Ops = None,
    tokenizer: options.Tokenizer = None,
    state: options.State = None,
) -> None:
    """Serve the pages and the HTTP API until Ctrl-C."""
    _installed()
    from octavo.web.state import make_web

    overrides = {"state": state, "model": model, "ops": tuple(ops) if ops else None, "tokenizer": tokenizer}
    with options.runtime(state, model=model, ops=ops, tokenizer=tokenizer) as runtime:
        logs.set_up(runtime.settings)
        if not _is_loopback(address):
            _needs_token(runtime, address)
        listener = _listen(address, port)
        at = listener.getsockname()[1]
        made = make_web(runtime, port=at, hosts=_names(host or [], address), overrides=overrides)
        made.secure = https
        if _is_loopback(address):
            shown = f"[{address}]" if ":" in address else address
            console.note(f"octavo web: http://{shown}:{at}/enter?code={made.codes.make()}")
            console.note("that address lets one browser in, once. Ctrl-C stops the server")
        else:
            console.note(f"octavo web listens on {address}, port {at}; enter with a token")
        _serve(made, listener)


def _installed() -> None:
    missing = [name for name in ("fastapi", "uvicorn", "jinja2", "multipart") if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"octavo web needs {', '.join(missing)}", hint="pip install 'octavo[web]' brings all that it needs"
        )


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _names(given: list[str], address: str) -> frozenset[str]:
    names = {name.lower() for name in given}
    if _is_loopback(address):
        names.add(f"[{address}]" if ":" in address else address)
    return frozenset(names)


def _needs_token(runtime: Runtime, address: str) -> None:
    """On another address than this machine's own nobody is let in by a code, and there must be another way."""
    from workers.faces.tokens import list_tokens

    if runtime.settings.web_token is None and not list_tokens(runtime.database, limit=1):
        raise UsageError(
            f"octavo web on {address} is open to other machines, and there is no token yet",
            hint="octavo token add NAME makes one; or set OCTAVO_WEB_TOKEN",
        )


def _listen(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # With its protocol named: asyncio lets small answers go at once (TCP_NODELAY) only where a socket says it is TCP.
    # Without, each answer on a kept connection waits 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address, port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"Port {port} on {address} can not be had: {error.strerror}", hint="name another with --port"
        ) from error
    listener.listen()  # the address is told before the server is ready: who comes meanwhile waits, and is not refused
    listener.set_inheritable(False)
    return listener


def _serve(made: Web, listener: socket.socket) -> None:
    import uvicorn

    from octavo.web.app import create_app

    # A page asks the database a hundred times, and each time waits for its turn among the threads of this process: for
    # 5 ms by the interpreter's own setting, where one of them computes.
    sys.setswitchinterval(SWITCH_S)
    # What is kept between requests is much and stays: a look through all of it for garbage takes a fifth of a second.
    gc.set_threshold(*GARBAGE)
    config = uvicorn.Config(
        create_app(made),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=STOP_S,
        h11_max_incomplete_event_size=64 << 10,
    )
    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        uvicorn.Server(config).run(sockets=[listener])
    console.note("octavo web has stopped")


@token_app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who or what it is for.")],
    scope: Annotated[
        str, typer.Option("--scope", help="read, run, or admin; each may what those before it may.")
    ] = "read",
    days: Annotated[int | None, typer.Option("--days", min=1, help="How long it is good; without it for ever.")] = None,
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Make a token. It is printed this once."""
    from workers.faces.tokens import make_token

    with options.runtime(state) as runtime:
        made, secret = make_token(runtime.database, name=name, scope=scope, days=days)
    if as_json:
        console.print_json({"id": str(made), "name": name, "scope": scope, "token": secret})
    else:
        console.out().print(secret)
        console.note(f"{name} may {scope} with it; it is not shown again. octavo token revoke {made} takes it back")


@token_app.command("list")
def list_command(as_json: options.AsJson = False, state: options.State = None) -> None:
    """The tokens that may be used."""
    from workers.faces.tokens import list_tokens

    with options.runtime(state) as runtime:
        found = list_tokens(runtime.database)
    rows = [
        {
            "id": str(item.id),
            "name": item.name,
            "scope": item.scope,
            "created_at": item.created_at.isoformat(timespec="seconds"),
            "expires_at": item.expires_at.isoformat(timespec="seconds") if item.expires_at else None,
            "used_on": item.used_on.isoformat() if item.used_on else None,
        }
        for item in found
    ]
    if as_json:
        console.print_json(rows)
    elif rows:
        columns = ("id", "name", "scope", "created_at", "used_on")
        console.table(columns, [[row[name] for name in columns] for row in rows])
    else:
        console.note("no tokens yet: octavo token add NAME makes one")


@token_app.command("revoke")
def revoke_command(
    token: Annotated[str, typer.Argument(metavar="ID", help="The token's id.")],
    as_json: options.AsJson = False,
    state: options.State = None,
) -> None:
    """Take a token back."""
    from workers.faces.tokens import revoke

    try:
        token_id = UUID(token)
    except ValueError as error:
        raise UsageError(f"{token!r} is no id of a token", hint="octavo token list shows them") from error
    with options.runtime(state) as runtime:
        revoke(runtime.database, token_id)
    if as_json:
        console.print_json({"revoked": token})
    else:
        console.note("taken back")
