"""Retention: what the policy lets go, told first, taken then. Nothing is ever evicted in silence."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from db.database import Database, Repositories
from db.repositories.retention import Candidate
from db.tables import ChunkRow, ContentRow, TaskRow, ViewNodeRow
from db.values import View
from pipeline import canonical
from pipeline.keys import KeyMaker
from pipeline.ops.values import Json
from pipeline.settings import RetentionSpec
from workers.batched import batched
from workers.planning.plan import leaf_identities

BATCH = 2_000  # results in one transaction
DAY_S = 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What would go."""

    jobs: tuple[UUID, ...]
    tasks: int
    nodes: int  # of views' trees, that refreshes took away long ago
    revisions: tuple[int, ...]
    pages: int
    chunks: int
    results: tuple[bytes, ...]
    newest_task: int  # when it was planned: tasks that came later may reach any of them
    result_bytes: int
    kept_results: int  # all that stay
    unreached: int  # of those, how many only the policy keeps
    calls: int  # outside jobs, that `octavo usage` counts no more

    def row(self) -> dict[str, Json]:
        """As JSON (docs/outputs.md, `Collected`)."""
        return {
            "jobs": len(self.jobs),
            "tasks": self.tasks,
            "nodes": self.nodes,
            "revisions": len(self.revisions),
            "pages": self.pages,
            "chunks": self.chunks,
            "results": len(self.results),
            "result_bytes": self.result_bytes,
            "kept_results": self.kept_results,
            "unreached": self.unreached,
            "calls": self.calls,
        }


def collectable(database: Database, policy: RetentionSpec) -> Plan:
    """What the policy lets go now; nothing is changed."""
    with database.read() as rows:
        jobs = _jobs(rows, policy)
        revisions = rows.retention.old_revisions(policy.revisions, set(jobs)) if policy.revisions else []
        pages = [
            page
            for chunking in rows.retention.chunkings()
            for page in rows.retention.loose_pages(chunking, set(revisions))
        ]
        kept = _reached_by_revisions(rows, set(jobs), {page for page, _ in pages})
        unreached = [item for item in rows.retention.unreached(set(jobs)) if item.key not in kept]
        total, size = rows.retention.results_size()
        going = _results(unreached, size, policy)
        return Plan(
            jobs=tuple(jobs),
            tasks=rows.retention.task_counts(jobs),
            nodes=sum(
                rows.retention.closed_nodes(view.id, view.refresh - policy.refreshes) for view in rows.views.all()
            ),
            revisions=tuple(revisions),
            pages=len(pages),
            chunks=sum(count for _, count in pages),
            results=tuple(item.key for item in going),
            newest_task=rows.retention.newest_task(),
            result_bytes=sum(item.size for item in going),
            kept_results=total - len(going),
            unreached=len(unreached) - len(going),
            calls=rows.retention.old_calls(_old_ms(policy)),
        )


def _old_ms(policy: RetentionSpec) -> int:
    """Before when a call outside jobs is forgotten."""
    return int((time.time() - policy.calls_days * DAY_S) * 1000)


def _reached_by_revisions(rows: Repositories, jobs: Collection[UUID], pages: Collection[int]) -> set[bytes]:
    """The keys of chunks of kept revisions under the steps of kept jobs: going back to such a revision stays free."""
    makers: dict[int, dict[bytes, KeyMaker]] = {}
    for resolved in rows.retention.kept_jobs(jobs):
        for identity in leaf_identities(resolved["steps"]):
            digest = canonical.digest(identity.fields())
            for chunking_id in resolved["chunkings"].values():
                makers.setdefault(chunking_id, {}).setdefault(digest, KeyMaker(identity))
    reached: set[bytes] = set()
    for chunking_id, found in makers.items():
        contents = list(rows.retention.contents_of(chunking_id, pages))
        for maker in found.values():
            reached.update(maker.of_leaves(contents))
    return reached


def _before(view: View, policy: RetentionSpec) -> int:
    """The last refresh of a view whose former nodes need not be kept."""
    return view.refresh - policy.refreshes


def _jobs(rows: Repositories, policy: RetentionSpec, view_id: int | None = None) -> list[UUID]:
    """Ended jobs beyond the newest of their pipeline that ended long ago; a refresh that waits for a person stays."""
    waiting = {latest for view in rows.views.all() if (latest := rows.views.latest(view.id))}
    before = time.time() - policy.jobs_days * DAY_S
    seen: dict[int, int] = {}
    found = []
    for job_id, pipeline_id, ended in rows.retention.ended_jobs(view_id):
        seen[pipeline_id] = seen.get(pipeline_id, 0) + 1
        if seen[pipeline_id] > policy.jobs and ended <= before and job_id not in waiting:
            found.append(job_id)
    return found


def trim_refreshes(database: Database, policy: RetentionSpec, view_id: int) -> int:
    """Drop the old refreshes of a view, as every sweep does; their results stay. Gives how many went."""
    with database.read() as rows:
        jobs = _jobs(rows, policy, view_id)
    return trim_jobs(database, jobs)


def _results(unreached: Sequence[Candidate], size: int, policy: RetentionSpec) -> list[Candidate]:
    """Those of the unreached results that the policy does not keep, the longest unused first."""
    going: dict[bytes, Candidate] = {}
    if policy.results == "reachable":
        going = {item.key: item for item in unreached}
    if policy.results_days is not None:
        before = datetime.now(UTC).date() - timedelta(days=policy.results_days)
        going |= {item.key: item for item in unreached if item.last_used < before}
    if policy.results_bytes is not None:
        left = size - sum(item.size for item in going.values())
        for item in unreached:
            if left <= policy.results_bytes:
                break
            if item.key not in going:
                going[item.key] = item
                left -= item.size
    return list(going.values())


def collect(database: Database, policy: RetentionSpec) -> dict[str, Json]:
    """Take what the policy lets go; gives what went. What became reachable since it was planned stays."""
    plan = collectable(database, policy)
    jobs = trim_jobs(database, plan.jobs)
    with database.write() as rows:
        calls = rows.retention.drop_calls(_old_ms(policy))
        nodes = sum(rows.retention.trim_tree(view.id, _before(view, policy)) for view in rows.views.all())
    revisions = 0
    for revision_id in plan.revisions:
        with database.write() as rows:
            revisions += rows.retention.drop_revision(revision_id)
    pages, chunks = _take_pages(database)
    with database.write() as rows:
        rows.retention.hold(ContentRow, ChunkRow)
        texts = rows.retention.drop_contents()
    results = _take_results(database, plan.results, plan.newest_task)
    return plan.row() | {
        "jobs": jobs,
        "nodes": nodes,
        "revisions": revisions,
        "pages": pages,
        "chunks": chunks,
        "texts": texts,
        "results": results,
        "calls": calls,
    }


def trim_jobs(database: Database, jobs: Sequence[UUID]) -> int:
    """Drop ended jobs, one in a transaction; gives how many went."""
    count = 0
    for job_id in jobs:
        with database.write() as rows:
            count += rows.retention.drop_job(job_id)
    return count


def _take_pages(database: Database) -> tuple[int, int]:
    with database.read() as rows:
        chunkings = rows.retention.chunkings()
    pages = chunks = 0
    for chunking_id in chunkings:
        with database.write() as rows:
            rows.retention.lock_chunking(chunking_id)
            found = rows.retention.loose_pages(chunking_id)
            rows.retention.drop_pages([page_id for page_id, _ in found])
        pages += len(found)
        chunks += sum(count for _, count in found)
    return pages, chunks


def _take_results(database: Database, keys: Sequence[bytes], newest_task: int) -> int:
    if not keys:
        return 0
    count = 0
    for part in batched(keys, BATCH):
        with database.write() as rows:
            rows.retention.hold(TaskRow, ViewNodeRow)
            count += rows.retention.drop_results(part, newest_task)
    with database.write() as rows:
        rows.retention.drop_partitions()
    return count
