"""The states of things that have one. A comment a member; only named functions in `db/` change a state."""

from __future__ import annotations

from enum import StrEnum


class RevisionState(StrEnum):
    """Of a revision of a document."""

    BUILDING = "building"  # rows are being written; nobody sees it
    CURRENT = "current"  # the one that jobs and readers use
    SUPERSEDED = "superseded"  # a newer one took its place


class JobState(StrEnum):
    """Of a job: one refresh of a pipeline over a selection of documents."""

    RUNNING = "running"  # planned or being planned; work is done while a process serves it
    PAUSED = "paused"  # nothing new starts until it is resumed
    DONE = "done"  # every step is complete, no holes
    HOLES = "holes"  # every step is complete, some chunks failed and are named
    FAILED = "failed"  # it can not go on: a step's hole policy or its retry budget says so
    CANCELLED = "cancelled"  # a person, or a newer revision of the book, ended it


JOB_ACTIVE = (JobState.RUNNING, JobState.PAUSED)
JOB_ENDED = (JobState.DONE, JobState.HOLES, JobState.FAILED, JobState.CANCELLED)


class StepState(StrEnum):
    """Of one level of a step."""

    PLANNING = "planning"  # its tasks are being written, a batch at a time
    RUNNING = "running"  # all its tasks are there, some are open
    COMPLETE = "complete"  # no task is open; what follows was planned in the same transaction


class TaskState(StrEnum):
    """Of a task: one chunk, or one reduce node."""

    BLOCKED = "blocked"  # waits for the output of the step it comes after
    READY = "ready"  # may be taken once `not_before` has passed
    DISPATCHED = "dispatched"  # a message that rings for it is on its way to a worker
    LEASED = "leased"  # a process holds it until `lease_until`
    WAITING_KEY = "waiting_key"  # another task computes the same key
    DONE = "done"  # its key has a result
    FAILED = "failed"  # a hole: out of attempts, or a permanent error
    WAIVED = "waived"  # a hole that a person accepted
    CANCELLED = "cancelled"  # its job was cancelled before it ran


TASK_OPEN = (
    TaskState.BLOCKED,
    TaskState.READY,
    TaskState.DISPATCHED,
    TaskState.LEASED,
    TaskState.WAITING_KEY,
)
TASK_CLAIMABLE = (TaskState.READY, TaskState.DISPATCHED)
TASK_HOLES = (TaskState.FAILED, TaskState.WAIVED)


WAITS = "waits_"  # begins the code of a task that went back because the governor gave no permit; the reason follows


class Outcome(StrEnum):
    """How one attempt ended."""

    DONE = "done"  # its result was committed, or an equal key's was adopted
    RETRY = "retry"  # an error that a later attempt may not meet
    FAILED = "failed"  # an error that ended the task
    LOST = "lost"  # the process that held the lease died or slept past it
    RETURNED = "returned"  # the provider was found down: nobody is charged with it
