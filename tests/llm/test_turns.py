"""A call through the SDK that waited for its slot, and was to be silent by then, is not made and is no error."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator

import pytest

from pipeline.models.llm.engine import Ask
from pipeline.models.llm.prompts import Message
from pipeline.settings import ModelProfile
from tests.llm.server import Server
from workers import wire
from workers.governor.port import Reason, Wait
from workers.models.openai_engine import OpenAIEngine
from workers.wire import NotNowError, Wire

ASK = Ask(messages=[Message("user", "What was lit?")], max_tokens=20)


class Busy(threading.BoundedSemaphore):
    """A slot that is never free at once: it is to be waited for."""

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        return blocking and super().acquire(blocking, timeout)


@pytest.fixture
def server() -> Iterator[Server]:
    """A server that counts."""
    made = Server()
    yield made
    made.close()


@pytest.fixture
def engine(server: Server) -> Iterator[OpenAIEngine]:
    """An engine for it."""
    made = OpenAIEngine(ModelProfile(provider="openai", base_url=server.url, model="stub-1"), None)
    yield made
    made.close()


def test_a_call_whose_provider_asked_for_silence_while_it_waited_is_not_made(
    server: Server, engine: OpenAIEngine
) -> None:
    wait = Wait(ms=3_000, reason=Reason.COOL_DOWN)
    slot = Busy(1)

    def calls() -> None:
        wire.here.set(Wire(slot, lambda: None))
        wire.on_turn(lambda: wait)
        with pytest.raises(NotNowError) as refused:
            engine.complete(ASK)
        assert refused.value.wait is wait
        assert server.calls == []
        engine.complete(ASK)  # the slot came back; the turn is asked for once
        assert len(server.calls) == 1

    contextvars.copy_context().run(calls)
    assert slot.acquire()
