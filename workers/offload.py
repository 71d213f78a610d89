"""A model that computes in this process's memory, spread over child processes: one interpreter uses one core.

A child is a plain process that reads requests from its standard input and answers on its standard output, so it ends
by itself when its parent does, however the parent ends. Children are started only once a run has shown that it is
long: a small book is done sooner than they are up.
"""

from __future__ import annotations

import contextlib
import queue
import struct
import subprocess
import sys
import threading
import time
from typing import IO

from pipeline import canonical
from pipeline.models.protocol import Answer, Measure, Model, OwnPrompt, Request, Sent
from pipeline.ops.kinds import Asking, Params
from pipeline.ops.values import Json, OpOutput, Span
from pipeline.retry import CallError, ErrorClass

AFTER_S = 1.0  # of answering in this process before children are worth their start
_LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], value: Json) -> None:
    """Write one JSON value with its length before it."""
    data = canonical.dumps(value)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: IO[bytes]) -> Json:
    """Read what `send` wrote. Raises EOFError when the other side is gone."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    if len(data) < length:
        raise EOFError
    return canonical.loads(data)


class _Child:
    """One child process."""

    def __init__(self) -> None:
        # A session of its own: Ctrl-C in the terminal is for the parent, which lets running calls end.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workers.offload_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def ask(self, request: Json) -> Json:
        """One request, one reply. Raises OSError or EOFError when the child is gone."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        send(self._process.stdin, request)
        return receive(self._process.stdout)

    def close(self) -> None:
        """End the child."""
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                assert stream is not None
                stream.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class OffloadedModel:
    """Answers as `model` does: in this process at first, in children once it has worked for a second."""

    def __init__(self, model: Model, after_s: float = AFTER_S) -> None:
        self._model = model
        self._after_s = after_s
        self._spent_s = 0.0
        self._lock = threading.Lock()
        self._idle: queue.LifoQueue[_Child] = queue.LifoQueue()
        self._children: list[_Child] = []
        self.name = model.name
        self.identity = model.identity
        self.slots = model.slots
        self.window = model.window
        self.on_wire = False

    def knows(self, op: Asking) -> bool:
        """Can the model answer this op?"""
        return self._model.knows(op)

    def sends(self, op: Asking, params: Params, own: OwnPrompt) -> Sent | None:
        """As the model says."""
        return self._model.sends(op, params, own)

    def measure(self, request: Request) -> Measure:
        """As the model says."""
        return self._model.measure(request)

    def price(self, tokens_in: int, tokens_out: int) -> int:
        """As the model says."""
        return self._model.price(tokens_in, tokens_out)

    def answer(self, request: Request) -> Answer:
        """Answer, or raise CallError; `model_crashed` when the child died of it."""
        child = self._child() if self._spent_s >= self._after_s and self.slots > 1 else None
        if child is None:
            began = time.perf_counter()
            try:
                return self._model.answer(request)
            finally:
                self._spent_s += time.perf_counter() - began
        try:
            reply = child.ask(_written(request))
        except (OSError, EOFError) as error:
            self._forget(child)
            raise CallError(ErrorClass.TRANSIENT, "model_crashed", "The model's process died of this call") from error
        self._idle.put(child)
        return _answer(reply)

    def _child(self) -> _Child:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            pass
        with self._lock:
            if len(self._children) < self.slots:
                self._children.append(_Child())
                return self._children[-1]
        return self._idle.get()

    def _forget(self, child: _Child) -> None:
        with self._lock:
            self._children.remove(child)
        child.close()

    def close(self) -> None:
        """End the children."""
        with self._lock:
            for child in self._children:
                child.close()
            self._children.clear()


def _written(request: Request) -> Json:
    return {
        "op": request.op,
        "params": dict(request.params),
        "text": request.text,
        "children": list(request.children),
        "tokens": request.tokens,
    }


def read_request(value: Json) -> Request:
    """The request that a parent sent."""
    return Request(**value)


def written_answer(answer: Answer) -> Json:
    """An answer as a child sends it."""
    return {
        "value": answer.output.value,
        "spans": [[span.item, span.start, span.end] for span in answer.output.spans],
        "used": [answer.tokens_in, answer.tokens_out, answer.cost_micros],
    }


def _answer(reply: Json) -> Answer:
    if "error" in reply:
        raise CallError(ErrorClass(reply["error"]), reply["code"], reply["message"])
    spans = tuple(Span(item=item, start=start, end=end) for item, start, end in reply["spans"])
    tokens_in, tokens_out, cost = reply["used"]
    output = OpOutput(value=reply["value"], spans=spans)
    return Answer(output=output, tokens_in=tokens_in, tokens_out=tokens_out, cost_micros=cost)
