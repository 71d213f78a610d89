"""Every page and list of the API, over a library."""

from __future__ import annotations

from benchmarks.faces.library import Library


def pages_of(library: Library) -> dict[str, str]:
    """Addresses by name: in the middle of the job and of the book, where nothing is near an end."""
    job, book, middle = library.job.id, library.book, library.chunks // 2
    with library.runtime.database.read() as rows:
        steps = rows.jobs.steps(job)
        task = rows.tasks.at(steps[0].id, middle)
        hole = rows.task_lists.tasks([steps[0].id], limit=1, states=("failed",))[0]
        small = rows.lists.documents(limit=1)[0].id
        document = rows.documents.get(book)
        assert task is not None
        assert task.page_id is not None
        at = (task.page_id, task.page_ordinal or 0)
        chunk = rows.chunks.at([at])[at].logical_id
    assert document is not None
    assert document.current is not None
    at = document.current.char_count // 2
    line = document.current.line_count // 2
    return {
        "home": "/",
        "documents": "/documents",
        "documents, searched": "/documents?q=tale",
        "document": f"/documents/{book}",
        "a small document": f"/documents/{small}",
        "text": f"/documents/{book}/read",
        "text, in the middle": f"/documents/{book}/read?line={line}",
        "text, a citation": f"/documents/{book}/read?at={at}-{at + 40}",
        "a document's strip": f"/documents/{book}/strip.png",
        "chunk": f"/chunks/{chunk}",
        "jobs": "/jobs",
        "job": f"/jobs/{job}",
        "the map's picture": f"/jobs/{job}/map.png",
        "tasks": f"/jobs/{job}/tasks",
        "tasks, failed": f"/jobs/{job}/tasks?state=failed",
        "step": f"/jobs/{job}/steps/0",
        "fold step": f"/jobs/{job}/steps/1",
        "task": f"/tasks/{task.id}",
        "hole": f"/tasks/{hole.id}",
        "result": f"/jobs/{job}/read",
        "result, a citation": f"/jobs/{job}/read?at={at}-{at + 40}",
        "fold": f"/jobs/{job}/fold",
        "holes": "/holes",
        "views": "/views",
        "search": "/search?q=harbour",
        "search, rare": "/search?q=planks+4242",
        "traces": "/traces",
        "cost": "/cost",
        "workers": "/workers",
        "settings": "/settings",
        "API documents": "/v1/documents?limit=50",
        "API chunks": f"/v1/documents/{book}/chunks?limit=50&text=true",
        "API sections": f"/v1/documents/{book}/sections?limit=50",
        "API tasks": f"/v1/jobs/{job}/tasks?limit=50",
        "API map": f"/v1/jobs/{job}/map",
        "API results": f"/v1/jobs/{job}/results?limit=50",
        "API output": f"/v1/jobs/{job}/output?limit=50",
        "API search": "/v1/search?q=harbour",
    }
