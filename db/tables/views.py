"""Views: pipelines kept fresh over a selection of documents, and when they are looked at."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from db.base import BIG, WITHOUT_ROWID, Base, Big, BigId, Said


class ViewRow(Base):
    """A pipeline kept fresh over what its selectors name."""

    __tablename__ = "views"

    id: Mapped[BigId]
    name: Mapped[str] = mapped_column(unique=True)
    pipeline: Mapped[str]  # a built-in name, or the path of a file: read anew at every sweep
    selectors: Mapped[list[str]] = mapped_column(JSON)  # files, folders and globs (absolute), or documents' ids
    options: Mapped[dict[str, object]] = mapped_column(JSON)  # model, ops, tokenizer, limit, overlap, encoding
    served_job_id: Mapped[UUID | None]  # the refresh whose outputs are shown; replaced when the next one is committed
    refresh: Mapped[int]  # number of that refresh, from 1; 0: none yet
    trouble: Mapped[Said | None]  # why the last sweep could not do all of its work
    swept_at: Mapped[datetime | None]
    created_at: Mapped[datetime]


class ViewDocumentRow(Base):
    """A document that a view's selectors named at the last sweep. What the view serves may still be others."""

    __tablename__ = "view_documents"
    __table_args__ = WITHOUT_ROWID

    view_id: Mapped[int] = mapped_column(BIG, ForeignKey("views.id", ondelete="CASCADE"), primary_key=True)
    ordinal: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[UUID] = mapped_column(ForeignKey("documents.id", ondelete="CASCADE"), index=True)


class DismissalRow(Base):
    """That a document of a view is not fresh is known to a person, and no trouble: good for the state it was in."""

    __tablename__ = "dismissals"

    view_id: Mapped[int] = mapped_column(BIG, ForeignKey("views.id", ondelete="CASCADE"), primary_key=True)
    uri: Mapped[str] = mapped_column(primary_key=True)
    stamp: Mapped[str]  # names that state (workers.fresh.standing): another one is told anew
    note: Mapped[Said]
    made_by: Mapped[Said]
    made_at: Mapped[datetime]


class ViewRefreshRow(Base):
    """A job that is a refresh of a view. A job may be the refresh of several."""

    __tablename__ = "view_refreshes"
    __table_args__ = (Index("ix_view_refreshes_job_id", "job_id"), *WITHOUT_ROWID)

    view_id: Mapped[int] = mapped_column(BIG, ForeignKey("views.id", ondelete="CASCADE"), primary_key=True)
    job_id: Mapped[UUID] = mapped_column(ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int | None]  # as which it was committed; None: not yet, or a newer one came first


class ViewNodeRow(Base):
    """A node of a view's tree and its key. A refresh adds what is new and closes what is gone: it writes the delta.

    A map's node is its chunk (page and place in it), a merge's its shard, a fold's its key: none says where in the
    book it stands, so an insertion leaves the others as they are.
    """

    __tablename__ = "view_nodes"
    __table_args__ = WITHOUT_ROWID

    view_id: Mapped[int] = mapped_column(BIG, ForeignKey("views.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    level: Mapped[int] = mapped_column(primary_key=True)
    place: Mapped[int] = mapped_column(BIG, primary_key=True)  # the page, or the shard, or 0
    within: Mapped[int] = mapped_column(primary_key=True)  # ordinal within the page, or 0
    key: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    since: Mapped[int] = mapped_column(primary_key=True)  # the refresh that brought it
    until: Mapped[int | None]  # the refresh that took it away; None: it stands


class ScheduleRow(Base):
    """How often a view is swept. Who moves `next_ms` by compare-and-set does it: two that look at once do no harm."""

    __tablename__ = "schedules"

    view_id: Mapped[int] = mapped_column(BIG, ForeignKey("views.id", ondelete="CASCADE"), primary_key=True)
    every_s: Mapped[int]
    next_ms: Mapped[Big]
