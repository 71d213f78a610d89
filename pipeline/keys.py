"""The one place that makes keys (DESIGN §5).

    key = sha256(canonical JSON of {octavo, op, version, prompt, schema, model, params, input, extra})

Inside is everything that changes an output; outside are queue, priority, retries, timeouts, concurrency, paths and
dates. Golden digests in the tests pin the form: it can not change unnoticed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pipeline import canonical
from pipeline.ops.values import Json

KEY_FORMAT = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """What a step puts into every key it makes."""

    op: str
    version: int | str  # a number, or the hash of a user's op's source
    prompt: str | None = None  # the template itself; its hash goes in
    schema: Json = None  # the JSON schema of the answer; its hash goes in
    model: str | None = None  # the model's identity, None for an op that asks no model
    params: Mapping[str, Json] = field(default_factory=dict)  # every parameter that can change the answer

    def fields(self) -> dict[str, Json]:
        """The step's part of the key document."""
        return {
            "octavo": KEY_FORMAT,
            "op": self.op,
            "version": self.version,
            "prompt": None if self.prompt is None else canonical.sha256(self.prompt.encode()).hex(),
            "schema": None if self.schema is None else canonical.digest(self.schema).hex(),
            "model": self.model,
            "params": dict(self.params),
        }


def document(identity: Identity, inputs: Sequence[bytes], extra: bytes | None = None) -> dict[str, Json]:
    """The whole key document, for people: `octavo explain` compares two of them field by field.

    `inputs` are 32-byte hashes: a chunk's content, a content and the output it comes after, or children's outputs in
    order. `extra` is the hash of what else the model sees.
    """
    return identity.fields() | {"input": [item.hex() for item in inputs], "extra": extra.hex() if extra else None}


class KeyMaker:
    """Makes the keys of one step; the constant part is written once, for a plan makes 50,000 a second."""

    def __init__(self, identity: Identity) -> None:
        # "extra" and "input" sort before every other field, so the rest is a constant tail.
        self._tail = b"]," + canonical.dumps(identity.fields())[1:]

    def key(self, inputs: Sequence[bytes], extra: bytes | None = None) -> bytes:
        """The 32-byte key; equal to the digest of `document(identity, inputs, extra)`."""
        head = b'{"extra":"%b","input":[' % extra.hex().encode() if extra else b'{"extra":null,"input":['
        hexes = ",".join([f'"{item.hex()}"' for item in inputs])
        return canonical.sha256(head + hexes.encode() + self._tail)

    def of_leaves(self, contents: Iterable[bytes]) -> Iterator[bytes]:
        """`key((content,))` for each of many content hashes, in order."""
        sha256, tail = hashlib.sha256, b'"' + self._tail
        for content in contents:
            yield sha256(b'{"extra":null,"input":["%b%b' % (content.hex().encode(), tail)).digest()


class Missed(StrEnum):
    """Why a key was not found in the memo."""

    NEW_TEXT = "new text"  # no result of this op for this content
    NEW_VERSION = "new op version"
    NEW_PROMPT = "new prompt"
    NEW_SCHEMA = "new schema"
    NEW_MODEL = "new model"
    NEW_PARAMS = "new parameters"
    NEW_INPUT = "new input"
    NEW_EXTRA = "new context"
    NEVER_RUN = "never run"


_REASONS = {
    "version": Missed.NEW_VERSION,
    "prompt": Missed.NEW_PROMPT,
    "schema": Missed.NEW_SCHEMA,
    "model": Missed.NEW_MODEL,
    "params": Missed.NEW_PARAMS,
    "input": Missed.NEW_INPUT,
    "extra": Missed.NEW_EXTRA,
}


def differences(now: Mapping[str, Json], before: Mapping[str, Json]) -> list[tuple[Missed, Json, Json]]:
    """Which fields of two key documents differ, with the earlier and the present value."""
    return [
        (reason, before.get(name), now.get(name))
        for name, reason in _REASONS.items()
        if now.get(name) != before.get(name)
    ]
