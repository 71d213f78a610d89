"""`octavo web` as one of the services: on loopback, with a token of its own in the state folder."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from workers.supervise.folders import kept_secret
from workers.supervise.health import HttpProbe
from workers.supervise.service import Service

NAME = "web"
TOKEN_FILE = "web.token"  # noqa: S105  # the name of the file


def installed() -> bool:
    """Is the extra `web` there?"""
    return all(importlib.util.find_spec(name) for name in ("fastapi", "uvicorn", "jinja2", "multipart"))


def service(
    state: Path,
    *,
    command: tuple[str, ...],
    port: int,
    env: Mapping[str, str],
    needs: tuple[str, ...],
    flower_url: str | None = None,
) -> Service:
    """The pages for this stack. The token is in `web.token` of the state folder; made when there is none."""
    flower = {"OCTAVO_FLOWER_URL": flower_url} if flower_url else {}
    return Service(
        name=NAME,
        argv=(*command, "web", "--port", str(port)),
        env={**env, **flower, "OCTAVO_WEB_TOKEN": kept_secret(state / TOKEN_FILE)},
        health=HttpProbe(port=port),
        needs=needs,
        optional=True,
        stops=1,
        shown=f"http://127.0.0.1:{port}  enter with the token in {state / TOKEN_FILE}",
    )
