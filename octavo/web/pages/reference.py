"""The API's reference, made from its own description: nothing is loaded from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from octavo.web.pages.render import render

router = APIRouter()


@router.get("/docs")
def reference(request: Request) -> Response:
    """The API, action by action. It tells nothing of what is kept, so no token is asked for."""
    described = request.app.openapi()
    return render(
        request, "reference.html", {"groups": groups(described), "schemas": described["components"]["schemas"]}
    )


def groups(described: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The actions by their first tag."""
    found: dict[str, list[dict[str, Any]]] = {}
    for path, methods in described["paths"].items():
        for method, action in methods.items():
            entry = {
                "path": path,
                "method": method.upper(),
                "id": action["operationId"],
                "says": action.get("description", ""),
                "parameters": action.get("parameters", []),
                "body": shape_of(action.get("requestBody")),
                "gives": [
                    (status, shape_of(answer)) for status, answer in action["responses"].items() if status[0] == "2"
                ],
            }
            found.setdefault(action["tags"][0], []).append(entry)
    return found


def shape_of(part: dict[str, Any] | None) -> str:
    """The name of the shape of a body, or its media type."""
    if not part or not part.get("content"):
        return ""
    media, content = next(iter(part["content"].items()))
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return name or str(media)
