"""How an op is put to a language model: a prompt, the schema of the answer, and what becomes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.ops.values import Json, OpOutput

Params = Mapping[str, Json]


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What an op is asked about: a chunk's text (or a part of it), or the outputs of children in reading order."""

    text: str = ""
    children: Sequence[Json] = ()  # of a map after a map: the one output it comes after
    params: Params = field(default_factory=dict)
    attempt: int = 1


def plain_text(answer: Json, _material: Material) -> OpOutput:
    """The answer as it is."""
    return OpOutput(value=answer)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """An op as a language model is asked.

    `prompt` is a Jinja template; it sees `text` (fenced), the parameters by name, and what `sees` adds. `schema` is the
    JSON schema of the answer, or makes it from the parameters; None: the answer is plain text. `finish` makes the
    output of a valid answer, with spans, and raises CallError for one that is no result all the same. `join` puts the
    outputs of a split input together, their spans already moved; None: such an input can not be split. `through` makes
    of an answer over parts of the children one over the children: each part is (number of its first child, its answer),
    None where it is that one child itself. None: children that are too long together can not be taken in parts.
    `version` belongs to `finish` and `join`: their change changes outputs, as that of the prompt does.
    """

    prompt: str
    schema: Json | Callable[[Params], Json] = None
    finish: Callable[[Json, Material], OpOutput] = plain_text
    join: Callable[[Sequence[OpOutput]], OpOutput] | None = None
    through: Callable[[OpOutput, Sequence[tuple[int, Json]]], OpOutput] | None = None
    sees: Callable[[Material], Mapping[str, Json]] | None = None
    own_prompt: bool = False  # the pipeline's step brings prompt and schema
    version: int | str = 1

    def schema_for(self, params: Params) -> Json:
        """The schema for a step's parameters."""
        return self.schema(params) if callable(self.schema) else self.schema
