"""Who may see a page, and who may use its buttons."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Response

from octavo.web.access import allow
from workers.faces.tokens import Caller


def _reads(request: Request, response: Response) -> Caller:
    return allow(request, response, "read")


def _runs(request: Request, response: Response) -> Caller:
    return allow(request, response, "run")


def _rules(request: Request, response: Response) -> Caller:
    return allow(request, response, "admin")


Sees = Annotated[Caller, Depends(_reads)]
Acts = Annotated[Caller, Depends(_runs)]
Rules = Annotated[Caller, Depends(_rules)]
