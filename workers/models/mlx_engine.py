"""mlx-lm in this process: one model, one thread that loads it and makes all text, in batches.

Whoever wants text hands a request to the thread and waits. What waits is taken together into mlx-lm's batch generator,
and what comes later joins the running batch. Each request has its own sampler with its own random key, so that a seeded
answer does not depend on what else is in the batch. Nothing is loaded before the first request, and a process that was
forked begins with a thread and a model of its own: a fork after any evaluation in the parent would hang.
"""

from __future__ import annotations

import os
import queue
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.models.errors import fault
from pipeline.models.llm.engine import Ask, Completion
from pipeline.models.llm.tokens import FolderCounter
from pipeline.ops.values import Json
from pipeline.retry import CallError
from workers.models.mlx_sampling import processors_for, sampler_for

GATHER_S = 0.02  # a first request waits so long for company: a batch costs little more than one
BATCH = 32


@dataclass(slots=True)
class _Waiting:
    """A request and what came of it so far."""

    ask: Ask
    future: Future[Completion]
    deadline: float
    prompt: list[int]
    tokens: list[int] = field(default_factory=list)


class MlxEngine:
    """Makes text with one local model. Safe to call from many threads."""

    on_wire = False

    def __init__(self, folder: Path, counter: FolderCounter, *, adapters: Path | None, batch: int) -> None:
        self._folder = folder
        self._counter = counter
        self._adapters = adapters
        self._batch = max(1, min(BATCH, batch))
        self._begin()
        me = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: engine._begin() if (engine := me()) else None)

    def _begin(self) -> None:
        """No thread and no model yet. A child made by fork begins so too: its parent's lock may be held for ever."""
        self._lock = threading.Lock()
        self._inbox: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def complete(self, ask: Ask) -> Completion:
        """One answer. Raises CallError."""
        waiting = _Waiting(ask, Future(), time.monotonic() + ask.timeout_s, self._counter.encode(ask.messages))
        self._serving().put(waiting)
        try:
            return waiting.future.result(timeout=ask.timeout_s + 1)
        except FutureTimeoutError:
            raise fault("timeout", f"The model gave no answer within {ask.timeout_s:g} s") from None

    def _serving(self) -> queue.SimpleQueue[_Waiting | None]:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._serve, args=(self._inbox,), name="octavo-mlx", daemon=True)
                self._thread.start()
            return self._inbox

    def _serve(self, inbox: queue.SimpleQueue[_Waiting | None]) -> None:
        """The thread: load, then batches for ever."""
        loaded: _Loaded | None = None
        while True:
            first = inbox.get()
            if first is None:
                loaded = None
                continue
            waiting = [first]
            try:
                if loaded is None:
                    loaded = _Loaded(self._folder, self._adapters)
                waiting += self._company(inbox)
                loaded.run(waiting, lambda: self._company(inbox), self._batch, self._counter)
            except CallError as error:
                _fail(waiting, lambda error=error: error)  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001  # whatever the library raises, those who wait must be told
                text = f"{type(error).__name__}: {error}"[:300]
                _fail(waiting, lambda text=text: fault("model_crashed", f"The model failed: {text}"))  # type: ignore[misc]

    def _company(self, inbox: queue.SimpleQueue[_Waiting | None]) -> list[_Waiting]:
        found: list[_Waiting] = []
        until = time.monotonic() + GATHER_S
        while len(found) < self._batch - 1:
            try:
                more = inbox.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if more is None:
                inbox.put(None)
                break
            found.append(more)
        return found

    def close(self) -> None:
        """Let go of the model after what the thread is at.

        The thread sleeps on until the process ends: when one that has evaluated ends first, mlx aborts the process.
        """
        self._inbox.put(None)


def _fail(waiting: Sequence[_Waiting], error: Callable[[], CallError]) -> None:
    for item in waiting:
        if not item.future.done():
            item.future.set_exception(error())


class _Loaded:
    """A loaded model. Lives in one thread."""

    def __init__(self, folder: Path, adapters: Path | None) -> None:
        from mlx_lm.utils import load_adapters, load_model

        try:
            self.model, config = load_model(folder)
            if adapters is not None:
                self.model = load_adapters(self.model, str(adapters))
                self.model.eval()
        except (OSError, ValueError, KeyError) as error:
            raise fault("model_settings", f"The model in {folder} can not be loaded: {error}") from error
        self._stops = _stops(folder, config)

    def run(
        self,
        waiting: list[_Waiting],
        company: Callable[[], list[_Waiting]],
        most: int,
        counter: FolderCounter,
    ) -> None:
        """Answer requests, those too that come while it is at it. `waiting` grows with them."""
        from mlx_lm.generate import BatchGenerator

        generator: Any = BatchGenerator(self.model, stop_tokens=self._stops, completion_batch_size=most)
        live: dict[int, _Waiting] = {}
        fresh = list(waiting)
        try:
            while fresh or live:
                if fresh:
                    live |= dict(zip(self._insert(generator, fresh), fresh, strict=True))
                for response in generator.next_generated():
                    item = live[response.uid]
                    if response.finish_reason != "stop":
                        item.tokens.append(int(response.token))
                    if response.finish_reason is not None or self._stopped(item, counter):
                        del live[response.uid]
                        if response.finish_reason is None:
                            generator.remove([response.uid])
                        item.future.set_result(_completion(item, response.finish_reason or "stop", counter))
                self._drop_late(generator, live)
                fresh = company() if len(live) < most and live else []
                waiting.extend(fresh)
        finally:
            generator.close()

    @staticmethod
    def _insert(generator: Any, fresh: Sequence[_Waiting]) -> list[int]:
        uids: list[int] = generator.insert(
            [item.prompt for item in fresh],
            max_tokens=[item.ask.max_tokens for item in fresh],
            samplers=[sampler_for(item.ask.sampling) for item in fresh],
            logits_processors=[processors_for(item.ask.sampling) for item in fresh],
        )
        return uids

    @staticmethod
    def _stopped(item: _Waiting, counter: FolderCounter) -> bool:
        words: Sequence[str] = item.ask.sampling.get("stop") or ()
        return bool(words) and any(word in counter.decode(item.tokens[-64:]) for word in words)

    @staticmethod
    def _drop_late(generator: Any, live: dict[int, _Waiting]) -> None:
        """Give up requests whose time is over: nobody waits for them."""
        now = time.monotonic()
        for uid in [uid for uid, item in live.items() if now > item.deadline]:
            item = live.pop(uid)
            generator.remove([uid])
            item.future.set_exception(fault("timeout", f"The model gave no answer within {item.ask.timeout_s:g} s"))


def _completion(item: _Waiting, finish: str, counter: FolderCounter) -> Completion:
    text = counter.decode(item.tokens)
    for word in item.ask.sampling.get("stop") or ():
        text = text.partition(word)[0]
    return Completion(content=text, finish=finish, tokens_in=len(item.prompt), tokens_out=len(item.tokens))


def _stops(folder: Path, config: dict[str, Json]) -> list[list[int]]:
    """The tokens that end an answer: the config's, the generation config's, the tokenizer's own."""
    import json

    from tokenizers import Tokenizer

    found: set[int] = set()
    more: list[Json] = [config.get("eos_token_id")]
    path = folder / "generation_config.json"
    if path.is_file():
        more.append(json.loads(path.read_text(encoding="utf-8")).get("eos_token_id"))
    told = folder / "tokenizer_config.json"
    if told.is_file():
        eos = json.loads(told.read_text(encoding="utf-8")).get("eos_token")
        eos = eos.get("content") if isinstance(eos, dict) else eos
        if isinstance(eos, str):
            more.append(Tokenizer.from_file(str(folder / "tokenizer.json")).token_to_id(eos))
    for value in more:
        found |= set(value) if isinstance(value, list) else {value} if isinstance(value, int) else set()
    return [[token] for token in sorted(found)]
