"""The child process of workers.offload: answers with the extractive model until its parent is gone."""

from __future__ import annotations

import os
import sys

from pipeline.models.builtin import ExtractiveModel
from pipeline.models.protocol import Request
from pipeline.ops.values import Json
from pipeline.retry import CallError
from workers.offload import read_request, receive, send, written_answer


def reply_to(model: ExtractiveModel, request: Request) -> Json:
    """What is sent back: the answer, or the error with its class."""
    try:
        return written_answer(model.answer(request))
    except CallError as error:
        return {"error": error.kind, "code": error.code, "message": error.message}
    except Exception as error:  # noqa: BLE001  # whatever a text makes the model raise is that call's failure
        return {"error": "transient", "code": "op_raised", "message": f"{type(error).__name__}: {error}"[:500]}


def serve() -> None:
    """Answer requests one by one. A print anywhere must not break the protocol, so stdout is kept for it alone."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    model = ExtractiveModel(1)
    while True:
        try:
            request = read_request(receive(sys.stdin.buffer))
            send(out, reply_to(model, request))
        except (EOFError, BrokenPipeError):
            return


if __name__ == "__main__":
    serve()
