"""The tables, one module a family of nouns."""

from db.tables.calls import DirectCallRow
from db.tables.chunks import ChunkingRow, ChunkRow, ContentRow, GrainRow, PageRow, RevisionPagesRow
from db.tables.documents import DocumentRow, RevisionRow, SectionRow
from db.tables.evidence import DecisionRow, EntitySetRow, SearchChunkingRow, SearchChunkRow, TraceRow
from db.tables.jobs import AttemptRow, JobDocumentRow, JobRow, PipelineRow, ProcessRow, StepCounterRow, StepRow, TaskRow
from db.tables.results import KeyLeaseRow, PartitionRow, PartRow, ResultRow
from db.tables.views import DismissalRow, ScheduleRow, ViewDocumentRow, ViewNodeRow, ViewRefreshRow, ViewRow
from db.tables.web import EventRow, IdempotencyRow, OperationRow, TokenRow, UploadRow

__all__ = [
    "AttemptRow",
    "ChunkRow",
    "ChunkingRow",
    "ContentRow",
    "DecisionRow",
    "DirectCallRow",
    "DismissalRow",
    "DocumentRow",
    "EntitySetRow",
    "EventRow",
    "GrainRow",
    "IdempotencyRow",
    "JobDocumentRow",
    "JobRow",
    "KeyLeaseRow",
    "OperationRow",
    "PageRow",
    "PartRow",
    "PartitionRow",
    "PipelineRow",
    "ProcessRow",
    "ResultRow",
    "RevisionPagesRow",
    "RevisionRow",
    "ScheduleRow",
    "SearchChunkRow",
    "SearchChunkingRow",
    "SectionRow",
    "StepCounterRow",
    "StepRow",
    "TaskRow",
    "TokenRow",
    "TraceRow",
    "UploadRow",
    "ViewDocumentRow",
    "ViewNodeRow",
    "ViewRefreshRow",
    "ViewRow",
]
