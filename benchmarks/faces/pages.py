"""Every page of the site and every list of the API, over a library."""

from __future__ import annotations

from uuid import UUID

from benchmarks.faces.library import Library, name_of
from pipeline.ids import uuid7
from pipeline.spec import builtin
from workers.faces.begin import plan_over
from workers.ingest.find import find
from workers.ingest.ingest import ingest


def pages_of(library: Library) -> dict[str, str]:
    """Addresses by name: in the middle of jobs and of the book, where nothing is near an end."""
    return _of_site(library) | _of_book(library) | _of_job(library) | _of_names(library) | _of_view(library)


def _of_site(library: Library) -> dict[str, str]:
    with library.runtime.database.read() as rows:
        (trace,) = rows.traces.latest(1)
    operation = _operation(library)
    return {
        "home": "/",
        "enter": "/enter",
        "documents": "/documents",
        "documents, searched": "/documents?q=tale",
        "documents, not found": "/documents?q=nowhere",
        "jobs": "/jobs",
        "jobs, filtered": "/jobs?state=done&pipeline=outline",
        "holes": "/holes",
        "views": "/views",
        "search": "/search?q=harbour",
        "search, rare": "/search?q=planks+4242",
        "traces": "/traces",
        "trace": f"/traces/{trace.id}",
        "operation": f"/operations/{operation}",
        "cost": "/cost",
        "workers": "/workers",
        "settings": "/settings",
        "reference": "/docs",
        "API documents": "/v1/documents?limit=50",
        "API documents, counted": "/v1/documents?limit=50&count=true&q=tale",
        "API jobs": "/v1/jobs?limit=50&count=true",
        "API holes": "/v1/holes",
        "API pipelines": "/v1/pipelines",
        "API operations": "/v1/operations?limit=50",
        "API operation": f"/v1/operations/{operation}",
        "API trace": f"/v1/traces/{trace.id}",
        "API usage": "/v1/usage",
        "API workers": "/v1/workers",
        "API queues": "/v1/queues",
        "API tokens": "/v1/tokens",
        "API traces": "/v1/traces?limit=50",
        "API bundle": f"/v1/traces/{trace.id}/bundle",
        "API search": "/v1/search?q=harbour",
    }


def _operation(library: Library) -> UUID:
    """An operation that was done: what a job over a small document would cost."""
    with library.runtime.database.read() as rows:
        found = rows.web.operations(limit=1)
        small = rows.lists.documents(limit=1, search="tale")[0].id
    if found:
        return found[0].id
    made, planned = uuid7(), plan_over(library.runtime, builtin("summary"), [small])
    asked = {"pipeline": "summary", "documents": [str(small)]}
    with library.runtime.database.write() as rows:
        rows.web.add_operation(id=made, kind="plan", request=asked, state="done", result=planned)
    return made


def _revised(library: Library) -> UUID:
    """A small document that has been edited."""
    runtime, path = library.runtime, library.runtime.settings.state.parent / "small" / "tale 00001.txt"
    edited = "Chapter 1\n\nTale 1 of the lake and its 青石 harbour.\n"
    if path.read_text(encoding="utf-8") != edited:
        path.write_text(edited, encoding="utf-8")
    cutting = runtime.cutting(builtin("summary").grain)
    (item,) = [ingest(runtime.database, found, cutting) for found in find([str(path)], runtime.spool, None)]
    return item.document.id


def _of_book(library: Library) -> dict[str, str]:
    book, revised = library.book, _revised(library)
    with library.runtime.database.read() as rows:
        small = rows.lists.documents(limit=1, search="tale")[0].id
        document = rows.documents.get(book)
        task = rows.tasks.at(rows.jobs.steps(library.job.id)[0].id, library.chunks // 2)
        assert task is not None
        assert task.page_id is not None
        place = (task.page_id, task.page_ordinal or 0)
        chunk = rows.chunks.at([place])[place].logical_id
    assert document is not None
    assert document.current is not None
    at, line = document.current.char_count // 2, document.current.line_count // 2
    return {
        "document": f"/documents/{book}",
        "document, its structure": f"/documents/{book}?after={library.chunks // 2}",
        "a small document": f"/documents/{small}",
        "edits": f"/documents/{revised}/changes",
        "text": f"/documents/{book}/read",
        "text, in the middle": f"/documents/{book}/read?line={line}",
        "text, a citation": f"/documents/{book}/read?at={at}-{at + 40}",
        "a document's strip": f"/documents/{book}/strip.png",
        "a small document's strip": f"/documents/{small}/strip.png",
        "chunk": f"/chunks/{chunk}",
        "API document": f"/v1/documents/{book}",
        "API edits": f"/v1/documents/{revised}/changes",
        "API chunks": f"/v1/documents/{book}/chunks?limit=50&text=true",
        "API sections": f"/v1/documents/{book}/sections?limit=50",
        "API revisions": f"/v1/documents/{book}/revisions?limit=50",
        "API text": f"/v1/documents/{book}/text?line={line}",
        "API chunk": f"/v1/chunks/{chunk}",
        "API chunk's tasks": f"/v1/chunks/{chunk}/tasks",
    }


def _of_job(library: Library) -> dict[str, str]:
    job, middle = library.job.id, library.chunks // 2
    with library.runtime.database.read() as rows:
        steps = rows.jobs.steps(job)
        task = rows.tasks.at(steps[0].id, middle)
        hole = rows.task_lists.tasks([steps[0].id], limit=1, states=("failed",))[0]
        document = rows.documents.get(library.book)
    assert task is not None
    assert document is not None
    assert document.current is not None
    at = document.current.char_count // 2
    return {
        "job": f"/jobs/{job}",
        "the map's picture": f"/jobs/{job}/map.png",
        "tasks": f"/jobs/{job}/tasks",
        "tasks, failed": f"/jobs/{job}/tasks?state=failed",
        "tasks, of one error": f"/jobs/{job}/tasks?step=tell&error=bad&state=failed",
        "step": f"/jobs/{job}/steps/0",
        "fold step": f"/jobs/{job}/steps/1",
        "task": f"/tasks/{task.id}",
        "task, why": f"/tasks/{task.id}?why=true",
        "hole": f"/tasks/{hole.id}",
        "result": f"/jobs/{job}/read",
        "result, a citation": f"/jobs/{job}/read?at={at}-{at + 40}",
        "result, in the middle": f"/jobs/{job}/read?after={middle}",
        "fold": f"/jobs/{job}/fold",
        "fold node": f"/jobs/{job}/fold?node=1-0",
        "fold, a chunk": f"/jobs/{job}/fold?node=0-{middle}",
        "API job": f"/v1/jobs/{job}",
        "API job's history": f"/v1/jobs/{job}/history",
        "API job's documents": f"/v1/jobs/{job}/documents",
        "API tasks": f"/v1/jobs/{job}/tasks?limit=50",
        "API map": f"/v1/jobs/{job}/map",
        "API job's holes": f"/v1/jobs/{job}/holes",
        "API results": f"/v1/jobs/{job}/results?limit=50",
        "API output": f"/v1/jobs/{job}/output?limit=50",
        "API fold": f"/v1/jobs/{job}/fold",
        "API fold node": f"/v1/jobs/{job}/fold/1-0?limit=50",
        "API task": f"/v1/tasks/{task.id}",
        "API attempts": f"/v1/tasks/{task.id}/attempts",
    }


def _of_names(library: Library) -> dict[str, str]:
    """What a glossary has: entries, a merge."""
    names, book = library.names.id, library.book
    some = name_of(7)
    return {
        "job of a merge": f"/jobs/{names}",
        "merge step": f"/jobs/{names}/steps/1",
        "glossary": f"/jobs/{names}/read",
        "glossary, searched": f"/jobs/{names}/read?q={some}",
        "merge": f"/jobs/{names}/merge",
        "merge, shards": f"/jobs/{names}/merge?level=1",
        "merge, a shard": f"/jobs/{names}/merge?node=1-0",
        "merge, judgement": f"/jobs/{names}/merge?node=2-0",
        "merge, a chunk": f"/jobs/{names}/merge?node=0-{library.chunks // 2}",
        "entities": f"/documents/{book}/entities",
        "entities, searched": f"/documents/{book}/entities?q={some}",
        "API entities": f"/v1/documents/{book}/entities?limit=50",
        "API decisions": f"/v1/documents/{book}/decisions",
        "API glossary": f"/v1/jobs/{names}/output?limit=50",
        "API merge": f"/v1/jobs/{names}/merge?level=1",
        "API merge node": f"/v1/jobs/{names}/merge/1-0",
    }


def _of_view(library: Library) -> dict[str, str]:
    """What a view over all small documents has, and its job over as many documents."""
    with library.runtime.database.read() as rows:
        view = rows.views.get(library.view)
    assert view is not None
    job = view.served_job_id
    return {
        "view": f"/views/{view.name}",
        "job of all documents": f"/jobs/{job}",
        "result of all documents": f"/jobs/{job}/read",
        "fold of all documents": f"/jobs/{job}/fold",
        "tasks of all documents": f"/jobs/{job}/tasks",
        "API views": "/v1/views",
        "API view": f"/v1/views/{view.name}",
        "API view's documents": f"/v1/views/{view.name}/documents?limit=50",
        "API job's many documents": f"/v1/jobs/{job}/documents?limit=50",
    }
