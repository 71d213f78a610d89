"""Keys: golden digests, and what does and does not change one (DESIGN §5)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import canonical, keys
from pipeline.errors import PipelineError
from pipeline.keys import Identity, KeyMaker, Missed
from pipeline.ops.builtin import BUILTIN
from pipeline.ops.kinds import FoldOp, MapOp, MergeOp, checked_params
from pipeline.ops.registry import Registry
from pipeline.ops.values import OpOutput
from pipeline.spec import load, parse
from workers.planning.partitions import Feed
from workers.planning.plan import StepPlan, plans_from, resolve

A, B = b"\x01" * 32, b"\x02" * 32

FULL = Identity(
    op="summarize",
    version=3,
    prompt="Summarize: {text}",
    schema={"type": "object", "required": ["text"]},
    model="provider/name@server",
    params={"temperature": 0.5, "top_p": 1.0, "seed": 7, "max_tokens": 256, "thinking": False},
)

GOLDEN = [
    (Identity(op="extract", version=1), [A], None, "d153d326ad28c761ba09e9540077a020130c8da7e34755c4f78b8ef61734e686"),
    (
        Identity(op="extract", version=1),
        [A, B],
        None,
        "fe0a1e82137a4ea6d0f082950c70fec684bf82c31c13655a937badf08afda7b3",
    ),
    (Identity(op="extract", version=1), [], None, "97c48c697c0310e5f4bdbb62cc77a6f86e1c5e5f86411d06bdbe058ce1fe62ee"),
    (FULL, [A], B, "2a8c17ec78f19bbe804fb68e337bb05494bf59ef11ad4dae82e349cbccafa3b9"),
    (
        Identity(op="мера 漢", version="abc", params={"é": None, "list": [1, 2.5, "x"]}),
        [B],
        None,
        "72816bd3a1e343eb8d6546a63f041f5c94e6d55c5f2bbcbd5cb689fe7c5f072d",
    ),
]


@pytest.mark.parametrize(("identity", "inputs", "extra", "digest"), GOLDEN)
def test_a_keys_digest_is_pinned(identity: Identity, inputs: list[bytes], extra: bytes | None, digest: str) -> None:
    assert KeyMaker(identity).key(inputs, extra).hex() == digest


def test_the_key_document_of_a_full_identity_is_pinned_field_by_field() -> None:
    assert keys.document(FULL, [A], B) == {
        "octavo": 1,
        "op": "summarize",
        "version": 3,
        "prompt": canonical.sha256(b"Summarize: {text}").hex(),
        "schema": canonical.sha256(b'{"required":["text"],"type":"object"}').hex(),
        "model": "provider/name@server",
        "params": {"temperature": 0.5, "top_p": 1.0, "seed": 7, "max_tokens": 256, "thinking": False},
        "input": ["01" * 32],
        "extra": "02" * 32,
    }


hashes = st.binary(min_size=32, max_size=32)
plain = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
identities = st.builds(
    Identity,
    op=st.text(min_size=1, max_size=12),
    version=st.integers(0, 999) | st.text(max_size=8),
    prompt=st.none() | st.text(max_size=12),
    schema=st.none() | st.dictionaries(st.text(max_size=4), plain, max_size=3),
    model=st.none() | st.text(max_size=12),
    params=st.dictionaries(st.text(max_size=6), plain | st.lists(plain, max_size=3), max_size=4),
)


@given(identity=identities, inputs=st.lists(hashes, max_size=4), extra=st.none() | hashes)
def test_a_key_is_the_digest_of_its_document(identity: Identity, inputs: list[bytes], extra: bytes | None) -> None:
    assert KeyMaker(identity).key(inputs, extra) == canonical.digest(keys.document(identity, inputs, extra))


CHANGES: list[tuple[str, Missed, Mapping[str, object]]] = [
    ("version", Missed.NEW_VERSION, {"version": 4}),
    ("version's kind", Missed.NEW_VERSION, {"version": "3"}),
    ("prompt", Missed.NEW_PROMPT, {"prompt": "Summarize : {text}"}),
    ("schema", Missed.NEW_SCHEMA, {"schema": {"type": "object"}}),
    ("model", Missed.NEW_MODEL, {"model": "provider/name@elsewhere"}),
    *(
        (name, Missed.NEW_PARAMS, {"params": dict(FULL.params) | {name: value}})
        for name, value in {
            "temperature": 0.6,
            "top_p": 0.9,
            "seed": 8,
            "max_tokens": 257,
            "thinking": True,
            "another": None,
        }.items()
    ),
]


@pytest.mark.parametrize(("what", "reason", "change"), CHANGES, ids=[item[0] for item in CHANGES])
def test_everything_that_could_change_an_output_changes_the_key_and_is_told_as_the_reason(
    what: str, reason: Missed, change: Mapping[str, object]
) -> None:
    changed = dataclasses.replace(FULL, **change)
    assert KeyMaker(changed).key([A], B) != KeyMaker(FULL).key([A], B)
    now, before = keys.document(changed, [A], B), keys.document(FULL, [A], B)
    assert [found[0] for found in keys.differences(now, before)] == [reason]


def test_the_input_its_order_and_the_context_change_the_key() -> None:
    maker = KeyMaker(FULL)
    found = [maker.key([A]), maker.key([B]), maker.key([A, B]), maker.key([B, A]), maker.key([A], B), maker.key([A, A])]
    assert len(set(found)) == len(found)
    before = keys.document(FULL, [A])
    assert keys.differences(keys.document(FULL, [B]), before)[0][0] is Missed.NEW_INPUT
    assert keys.differences(keys.document(FULL, [A], B), before)[0][0] is Missed.NEW_EXTRA


def test_an_op_of_another_name_has_other_keys() -> None:
    assert KeyMaker(dataclasses.replace(FULL, op="other")).key([A]) != KeyMaker(FULL).key([A])


# What the way to a key leaves out


class _Model:
    name, identity, slots, window = "toy", "toy/1", 1, 1000

    def answer(self, request: object) -> object:
        raise NotImplementedError

    def knows(self, op: object) -> bool:
        return True

    def sends(self, op: object, params: object, own: object) -> None:
        return None

    def measure(self, request: object) -> object:
        raise NotImplementedError

    def price(self, tokens_in: int, tokens_out: int) -> int:
        raise NotImplementedError


class _Models:
    def __init__(self, **more: object) -> None:
        self.found = _Model()
        for name, value in more.items():
            setattr(self.found, name, value)

    def model(self, name: str) -> _Model:
        return self.found

    def limited(self) -> list[str]:
        return ["api"]

    def limits_of(self, model: str) -> None:
        return None

    def allowance(self, limits: str | None) -> dict[str, int | None]:
        return {}


TOY = MapOp(name="toy", version=1, defaults={"share": 1.0, "count": 5, "word": "x", "flag": False})
OPS = Registry([*BUILTIN, TOY])


def step_key(lines: str, models: _Models | None = None, ops: Registry = OPS) -> bytes:
    """The key that a map step written so makes."""
    spec = parse(f'name = "p"\n[[step]]\nname = "s"\nkind = "map"\nop = "toy"\n{lines}', "test")
    (plan,) = plans_from(resolve(spec, ops, models or _Models(), "toy"), ops)
    return plan.keys().key([A])


@pytest.mark.parametrize(
    "lines",
    [
        "attempts = 9",
        "timeout_s = 1.5",
        'on_hole = "fail"',
        'skip = ["contents"]',
        'limits = "api"',
        "params = {share = 1}",
        "params = {}",
    ],
)
def test_what_can_not_change_an_output_is_in_no_key(lines: str) -> None:
    assert step_key(lines) == step_key("")


def test_the_name_of_a_step_of_a_pipeline_or_of_a_grain_is_in_no_key() -> None:
    head = 'name = "q"\ndescription = "d"\n[grain]\nname = "g"\nlimit = 7\n'
    spec = parse(head + '[[step]]\nname = "t"\nkind = "map"\nop = "toy"\n', "t")
    (plan,) = plans_from(resolve(spec, OPS, _Models(), "toy"), OPS)
    assert plan.keys().key([A]) == step_key("")


@pytest.mark.parametrize("more", [{"slots": 64}, {"window": 9}, {"name": "alias"}])
def test_how_a_model_is_reached_is_in_no_key_but_what_it_is_is(more: dict[str, object]) -> None:
    assert step_key("", _Models(**more)) == step_key("")
    assert step_key("", _Models(identity="toy/2")) != step_key("")


@pytest.mark.parametrize(
    "lines", ["params = {share = 0.5}", "params = {count = 6}", 'params = {word = "y"}', "params = {flag = true}"]
)
def test_every_parameter_is_in_the_key(lines: str) -> None:
    assert step_key(lines) != step_key("")


def test_the_version_of_an_op_is_in_the_key() -> None:
    assert step_key("", ops=Registry([dataclasses.replace(TOY, version=2)])) != step_key("")


def test_one_and_one_point_zero_make_one_key_for_a_float_and_are_kept_apart_for_whole_numbers() -> None:
    assert step_key("params = {share = 2}") == step_key("params = {share = 2.0}")
    with pytest.raises(PipelineError, match="'count' of op 'toy' must be int"):
        step_key("params = {count = 5.0}")
    with pytest.raises(PipelineError, match="must be int, not True"):
        step_key("params = {count = true}")


def test_a_parameter_that_the_op_does_not_know_is_refused_with_those_it_knows() -> None:
    with pytest.raises(PipelineError, match="no parameter 'cuont'") as caught:
        checked_params(TOY, {"cuont": 1})
    assert caught.value.hint == "allowed: count, flag, share, word"


def test_the_nodes_of_a_fold_differ_by_their_parameters_and_those_of_a_merge_by_their_kind() -> None:
    for name in ("summary", "glossary"):
        spec = load(name)
        plan = plans_from(resolve(spec, OPS, _Models(), "toy"), OPS)[1]
        if isinstance(plan.op, FoldOp):
            assert plan.keys(top=True).key([A]) != plan.keys().key([A])
        else:
            assert isinstance(plan.op, MergeOp)
            assert plan.keys(node="shard").key([A]) != plan.keys(node="judgement").key([A])


def test_a_folds_top_parameters_change_no_other_node() -> None:
    op = FoldOp(name="f", version=1, defaults={"n": 1, "top_n": 2}, run=lambda children, params: OpOutput(value=0))
    assert op.node_params({"n": 1, "top_n": 9}, top=False) == {"n": 1}
    assert op.node_params({"n": 1, "top_n": 9}, top=True) == {"n": 9}


MERGES = """name = "m"
[[step]]
name = "s"
kind = "map"
op = "toy"
[[step]]
name = "merge"
kind = "merge"
op = "{op}"
{lines}"""


def merge_plan(op: str, lines: str = "", models: _Models | None = None) -> StepPlan:
    """A merge step as it is planned."""
    return plans_from(resolve(parse(MERGES.format(op=op, lines=lines), "test"), OPS, models or _Models(), "toy"), OPS)[
        1
    ]


@pytest.mark.parametrize("op", ["glossary", "conflicts"])
@pytest.mark.parametrize("node", ["shard", "judgement"])
def test_options_that_nobody_set_are_in_no_key_of_a_merge(op: str, node: str) -> None:
    before = Identity(op=op, version=Registry().get(op, "merge").version, params={"node": node})
    assert merge_plan(op).keys(node=node).key([A]) == KeyMaker(before).key([A])
    default = merge_plan(op, "params = {fold_traditional = false}")
    assert default.keys(node=node).key([A]) == KeyMaker(before).key([A])
    folded = merge_plan(op, "params = {fold_traditional = true}")
    assert folded.keys(node=node).key([A]) != KeyMaker(before).key([A])
    assert Feed(folded.op, 8, folded.params).scheme != Feed(default.op, 8, default.params).scheme


def test_a_value_that_an_option_can_not_have_is_named_with_those_it_can() -> None:
    with pytest.raises(PipelineError, match="must be bool"):
        merge_plan("glossary", 'params = {fold_traditional = "yes"}')
