"""Flower behind a password, on loopback, with every change switched off."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from workers.supervise.folders import kept_secret, write_private
from workers.supervise.health import HttpProbe
from workers.supervise.service import Service

NAME = "flower"
USER = "octavo"
APP = "workers.app:app"
LOOPBACK = "127.0.0.1"
PASSWORD_FILE = "flower.password"  # noqa: S105  # the name of the file
MOST_TASKS = 10_000  # kept in its memory; the history is in the database


def installed() -> bool:
    """Is the extra `flower` there?"""
    return importlib.util.find_spec("flower") is not None


def arguments(*, address: str, port: int) -> tuple[str, ...]:
    """What follows `celery`. The password is never here: other users of the machine see a process's arguments.

    Flower's own default listens on every interface, and a `flowerconfig.py` in the working folder would be run: both
    are said here, since the command line has the last word.
    """
    return (
        f"--app={APP}",
        "flower",
        f"--address={address}",
        f"--port={port}",
        "--read_only=True",
        "--persistent=False",
        f"--max_tasks={MOST_TASKS}",
        "--tasks_columns=name,args,state,received,runtime,worker",
    )


def service(
    state: Path, *, broker_url: str, port: int, needs: tuple[str, ...], environ: Mapping[str, str], app: str = APP
) -> Service:
    """Flower for this broker. The password is in `flower.password` of the state folder; made when there is none.

    What the environment says to Flower is taken away, FLOWER_UNAUTHENTICATED_API first of all.
    """
    password = kept_secret(state / PASSWORD_FILE)
    config = state / "flower.conf.py"
    write_private(config, f"basic_auth = [{f'{USER}:{password}'!r}]\n")
    said = {name: None for name in environ if name.startswith("FLOWER_")}
    words = tuple(word.replace(f"--app={APP}", f"--app={app}") for word in arguments(address=LOOPBACK, port=port))
    return Service(
        name=NAME,
        argv=(sys.executable, "-m", "celery", *words, f"--conf={os.path.abspath(config)}"),  # noqa: PTH100
        env={**said, "CELERY_BROKER_URL": broker_url},
        health=HttpProbe(port=port, path="/healthcheck"),
        needs=needs,
        optional=True,
        stops=1,
        shown=f"http://{LOOPBACK}:{port}  user {USER}, password in {state / PASSWORD_FILE}",
    )
