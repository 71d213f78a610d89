"""the first tables

Revision ID: 0001
Revises: none
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "contents",
        sa.Column("sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_contents")),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("uri", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("collection", sa.String(), nullable=False),
        sa.Column("current_revision_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("uri", name=op.f("uq_documents_uri")),
    )
    op.create_table(
        "grains",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("policy", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_grains")),
        sa.UniqueConstraint("digest", name=op.f("uq_grains_digest")),
    )
    op.create_table(
        "key_leases",
        sa.Column("key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("task_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("until_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_key_leases")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "partitions",
        sa.Column("output_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("scheme", sa.String(), nullable=False),
        sa.Column("parts", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("output_sha256", "scheme", name=op.f("pk_partitions")),
    )
    op.create_table(
        "parts",
        sa.Column("scheme", sa.String(), nullable=False),
        sa.Column("shard", sa.Integer(), nullable=False),
        sa.Column("output_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("items", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("scheme", "shard", "output_sha256", name=op.f("pk_parts")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "pipelines",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("spec", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pipelines")),
        sa.UniqueConstraint("digest", name=op.f("uq_pipelines_digest")),
    )
    op.create_table(
        "processes",
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("host", sa.String(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("queues", sa.String(), nullable=False),
        sa.Column("slots", sa.Integer(), nullable=False),
        sa.Column("started_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("beat_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.PrimaryKeyConstraint("owner", name=op.f("pk_processes")),
    )
    op.create_table(
        "results",
        sa.Column("key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("op", sa.String(), nullable=False),
        sa.Column("output", sa.LargeBinary(), nullable=False),
        sa.Column("output_size", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("output_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("spans", sa.LargeBinary(), nullable=False),
        sa.Column("tokens_in", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("cost_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("latency_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used", sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_results")),
    )
    op.create_table(
        "chunkings",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("grain_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_chunkings_document_id_documents"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["grain_id"], ["grains.id"], name=op.f("fk_chunkings_grain_id_grains")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunkings")),
        sa.UniqueConstraint("document_id", "grain_id", name=op.f("uq_chunkings_document_id_grain_id")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("pipeline_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("selection_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("resolved", sa.JSON(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("retry_budget", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["pipeline_id"], ["pipelines.id"], name=op.f("fk_jobs_pipeline_id_pipelines")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_pipeline_id_state", ["pipeline_id", "state"], unique=False)
        batch_op.create_index(batch_op.f("ix_jobs_state"), ["state"], unique=False)

    op.create_table(
        "revisions",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("source_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("source_size", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("source_mtime_ns", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("text_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("encoding", sa.String(), nullable=False),
        sa.Column("reader", sa.String(), nullable=False),
        sa.Column("reader_version", sa.Integer(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("title", sa.String(), nullable=True),
        sa.Column("char_count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("line_count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("layout", sa.LargeBinary(), nullable=False),
        sa.Column("line_endings", sa.LargeBinary(), nullable=False),
        sa.Column("warnings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_revisions_document_id_documents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_revisions")),
        sa.UniqueConstraint("document_id", "number", name=op.f("uq_revisions_document_id_number")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "sections",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("parent_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["document_id"], ["documents.id"], name=op.f("fk_sections_document_id_documents"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sections")),
        sa.UniqueConstraint("document_id", "digest", name=op.f("uq_sections_document_id_digest")),
    )
    op.create_table(
        "job_documents",
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("revision_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["document_id"], ["documents.id"], name=op.f("fk_job_documents_document_id_documents")),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_job_documents_job_id_jobs"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["revision_id"], ["revisions.id"], name=op.f("fk_job_documents_revision_id_revisions")),
        sa.PrimaryKeyConstraint("job_id", "ordinal", name=op.f("pk_job_documents")),
    )
    op.create_table(
        "pages",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("chunking_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("unit_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("char_count", sa.Integer(), nullable=False),
        sa.Column("line_count", sa.Integer(), nullable=False),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["chunking_id"], ["chunkings.id"], name=op.f("fk_pages_chunking_id_chunkings"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pages")),
    )
    with op.batch_alter_table("pages", schema=None) as batch_op:
        batch_op.create_index("ix_pages_chunking_id_unit_sha256", ["chunking_id", "unit_sha256"], unique=False)

    op.create_table(
        "revision_pages",
        sa.Column("revision_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("chunking_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("layout", sa.LargeBinary(), nullable=False),
        sa.Column("chunk_count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("token_count", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["chunking_id"], ["chunkings.id"], name=op.f("fk_revision_pages_chunking_id_chunkings"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["revision_id"], ["revisions.id"], name=op.f("fk_revision_pages_revision_id_revisions"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("revision_id", "chunking_id", name=op.f("pk_revision_pages")),
    )
    op.create_table(
        "steps",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("level", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("planned", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("total", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_steps_job_id_jobs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
        sa.UniqueConstraint("job_id", "position", "level", name=op.f("uq_steps_job_id_position_level")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "chunks",
        sa.Column("page_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("logical_id", sa.Uuid(), nullable=False),
        sa.Column("content_sha256", sa.LargeBinary(length=32), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("line", sa.Integer(), nullable=False),
        sa.Column("lead", sa.Integer(), nullable=False),
        sa.Column("lead_sha256", sa.LargeBinary(length=32), nullable=True),
        sa.Column("token_count", sa.Integer(), nullable=False),
        sa.Column("over_limit", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["page_id"], ["pages.id"], name=op.f("fk_chunks_page_id_pages"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("page_id", "ordinal", name=op.f("pk_chunks")),
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("chunks", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_chunks_content_sha256"), ["content_sha256"], unique=False)
        batch_op.create_index(batch_op.f("ix_chunks_logical_id"), ["logical_id"], unique=False)

    op.create_table(
        "step_counters",
        sa.Column("step_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("calls", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("retries", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tokens_in", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("cost_micros", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("busy_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["step_id"], ["steps.id"], name=op.f("fk_step_counters_step_id_steps"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("step_id", "owner", name=op.f("pk_step_counters")),
    )
    op.create_table(
        "tasks",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("step_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ordinal", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("key", sa.LargeBinary(length=32), nullable=True),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("hit", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("dispatch", sa.Integer(), nullable=False),
        sa.Column("dispatched_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("lease_owner", sa.String(), nullable=True),
        sa.Column("lease_until_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("not_before_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("error_code", sa.String(), nullable=True),
        sa.Column("page_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.Column("page_ordinal", sa.Integer(), nullable=True),
        sa.Column("inputs", sa.LargeBinary(), nullable=True),
        sa.Column("scope", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=True),
        sa.ForeignKeyConstraint(["step_id"], ["steps.id"], name=op.f("fk_tasks_step_id_steps"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tasks")),
        sa.UniqueConstraint("step_id", "ordinal", name=op.f("uq_tasks_step_id_ordinal")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.create_index(
            "ix_tasks_lease_owner",
            ["lease_owner"],
            unique=False,
            sqlite_where=sa.text("lease_owner IS NOT NULL"),
            postgresql_where=sa.text("lease_owner IS NOT NULL"),
        )
        batch_op.create_index("ix_tasks_step_id_state_ordinal", ["step_id", "state", "ordinal"], unique=False)
        batch_op.create_index(
            "ix_tasks_waiting_key",
            ["key"],
            unique=False,
            sqlite_where=sa.text("state = 'waiting_key'"),
            postgresql_where=sa.text("state = 'waiting_key'"),
        )

    op.create_table(
        "attempts",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("task_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("epoch", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("started_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("ended_ms", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("error_code", sa.String(), nullable=True),
        sa.Column("message", sa.String(), nullable=True),
        sa.Column("tokens_in", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("tokens_out", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(["task_id"], ["tasks.id"], name=op.f("fk_attempts_task_id_tasks"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_attempts_task_id"), ["task_id"], unique=False)


def downgrade() -> None:
    """Take back."""
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_attempts_task_id"))

    op.drop_table("attempts")
    with op.batch_alter_table("tasks", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_tasks_waiting_key",
            sqlite_where=sa.text("state = 'waiting_key'"),
            postgresql_where=sa.text("state = 'waiting_key'"),
        )
        batch_op.drop_index("ix_tasks_step_id_state_ordinal")
        batch_op.drop_index(
            "ix_tasks_lease_owner",
            sqlite_where=sa.text("lease_owner IS NOT NULL"),
            postgresql_where=sa.text("lease_owner IS NOT NULL"),
        )

    op.drop_table("tasks")
    op.drop_table("step_counters")
    with op.batch_alter_table("chunks", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_chunks_logical_id"))
        batch_op.drop_index(batch_op.f("ix_chunks_content_sha256"))

    op.drop_table("chunks")
    op.drop_table("steps")
    op.drop_table("revision_pages")
    with op.batch_alter_table("pages", schema=None) as batch_op:
        batch_op.drop_index("ix_pages_chunking_id_unit_sha256")

    op.drop_table("pages")
    op.drop_table("job_documents")
    op.drop_table("sections")
    op.drop_table("revisions")
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_jobs_state"))
        batch_op.drop_index("ix_jobs_pipeline_id_state")

    op.drop_table("jobs")
    op.drop_table("chunkings")
    op.drop_table("results")
    op.drop_table("processes")
    op.drop_table("pipelines")
    op.drop_table("parts")
    op.drop_table("partitions")
    op.drop_table("key_leases")
    op.drop_table("grains")
    op.drop_table("documents")
    op.drop_table("contents")
