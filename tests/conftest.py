"""What all tests share: the corpus, a state folder of each test's own, and no sockets in unit tests."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.corpus import ABSENT, CORPUS

HERE = Path(__file__).resolve().parent


def pytest_configure() -> None:
    """A shell that starts the tests in the background makes them, and all that they start, deaf to Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Unit tests open no sockets."""
    for item in items:
        if (HERE / "unit") in item.path.parents:
            item.add_marker(pytest.mark.disable_socket)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The shared corpus; skips the test where there is none."""
    if not CORPUS.is_dir():
        pytest.skip(ABSENT)
    return CORPUS


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A state folder of the test's own, made on first use; settings of the machine's user do not reach the test."""
    for name in list(os.environ):
        if name.startswith("OCTAVO_") and name != "OCTAVO_CORPUS":
            monkeypatch.delenv(name)
    folder = tmp_path / "state"
    monkeypatch.setenv("OCTAVO_STATE", str(folder))
    return folder
