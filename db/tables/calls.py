"""Calls of models outside jobs: what `octavo usage` adds up beside the attempts of tasks."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from db.base import Base, Big, BigId


class DirectCallRow(Base):
    """What one command asked a model: a question, a measurement, a test or a probe."""

    __tablename__ = "direct_calls"

    id: Mapped[BigId]
    kind: Mapped[str]  # ask, measure, test or probe
    model: Mapped[str]  # the profile's name
    document_id: Mapped[UUID | None] = mapped_column(ForeignKey("documents.id", ondelete="SET NULL"))  # if one
    calls: Mapped[Big]
    tokens_in: Mapped[Big]
    tokens_out: Mapped[Big]
    cost_micros: Mapped[Big]
    error_code: Mapped[str | None]
    ended_ms: Mapped[Big]
