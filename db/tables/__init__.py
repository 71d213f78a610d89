"""The tables, one module a family of nouns."""

from db.tables.chunks import ChunkingRow, ChunkRow, ContentRow, GrainRow, PageRow, RevisionPagesRow
from db.tables.documents import DocumentRow, RevisionRow, SectionRow
from db.tables.jobs import AttemptRow, JobDocumentRow, JobRow, PipelineRow, ProcessRow, StepCounterRow, StepRow, TaskRow
from db.tables.results import KeyLeaseRow, PartitionRow, PartRow, ResultRow

__all__ = [
    "AttemptRow",
    "ChunkRow",
    "ChunkingRow",
    "ContentRow",
    "DocumentRow",
    "GrainRow",
    "JobDocumentRow",
    "JobRow",
    "KeyLeaseRow",
    "PageRow",
    "PartRow",
    "PartitionRow",
    "PipelineRow",
    "ProcessRow",
    "ResultRow",
    "RevisionPagesRow",
    "RevisionRow",
    "SectionRow",
    "StepCounterRow",
    "StepRow",
    "TaskRow",
]
