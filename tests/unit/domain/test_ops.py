"""Ops of users: decorators, versions, defaults, keyed merges, registry."""

from __future__ import annotations

import types
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo import OpOutput, Span, map_op, reduce_op
from pipeline.errors import PipelineError
from pipeline.ops import registry
from pipeline.ops.builtin import BUILTIN
from pipeline.ops.decorators import MARK, ops_of
from pipeline.ops.kinds import FoldOp, MapOp, MergeOp, kind_of
from pipeline.ops.registry import Registry


def op_of(function: object) -> MapOp | FoldOp | MergeOp:
    return getattr(function, MARK)


def test_a_function_stays_a_function_and_carries_its_op() -> None:
    @map_op()
    def shout(text: str, mark: str = "!") -> str:
        return text.upper() + mark

    assert shout("a") == "A!"
    op = op_of(shout)
    assert isinstance(op, MapOp)
    assert (op.name, dict(op.defaults), kind_of(op)) == ("shout", {"mark": "!"}, "map")
    assert op.run("a", {"mark": "?"}) == OpOutput(value="A?")


def test_an_op_may_give_spans_beside_its_value() -> None:
    found = OpOutput(value=["x"], spans=(Span(item=0, start=1, end=2),))

    @map_op(version=1)
    def spans(text: str) -> OpOutput:
        return found

    assert op_of(spans).run("text", {}) is found


def _made(source: str) -> MapOp:
    import linecache

    name = f"<made {source!r}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, object] = {"map_op": map_op}
    exec(compile(source, name, "exec"), space)
    return op_of(space["f"])


def test_the_version_of_an_op_is_the_hash_of_its_source_unless_it_says_one() -> None:
    plain = _made("@map_op()\ndef f(text):\n    return 1\n")
    assert plain.version == _made("@map_op()\ndef f(text):\n    return 1\n").version
    assert plain.version != _made("@map_op()\ndef f(text):\n    return 2\n").version
    assert _made("@map_op(version=3)\ndef f(text):\n    return 1\n").version == 3
    assert _made("@map_op(version='x')\ndef f(text):\n    return 2\n").version == "x"


def test_the_version_of_a_merge_changes_with_its_key_function_too() -> None:
    def first(item: str) -> str:
        return item

    def second(item: str) -> str:
        return item.casefold()

    def count(items: Sequence[str]) -> int:
        return len(items)

    versions = {
        op_of(reduce_op(key=key)(types.FunctionType(count.__code__, globals(), "count"))).version
        for key in (first, second)
    }
    assert len(versions) == 2


def test_an_op_whose_source_can_not_be_found_must_say_its_version() -> None:
    space: dict[str, object] = {}
    exec("def hidden(text): return 1", space)
    with pytest.raises(PipelineError, match="source of op 'hidden'") as caught:
        map_op()(space["hidden"])
    assert "version=" in (caught.value.hint or "")
    assert op_of(map_op(version=1)(space["hidden"])).version == 1


def test_a_setting_without_a_default_is_refused() -> None:
    with pytest.raises(PipelineError, match="'limit' of op 'f' needs a default"):

        @map_op(version=1)
        def f(text: str, limit: int) -> str:
            return text


def test_a_fold_takes_its_childrens_outputs_in_order() -> None:
    @reduce_op(version=1)
    def join(children: Sequence[str], mark: str = "-") -> str:
        return mark.join(children)

    op = op_of(join)
    assert isinstance(op, FoldOp)
    assert op.run(["a", "b"], {"mark": "+"}).value == "a+b"


def _tally() -> MergeOp:
    @reduce_op(version=1, key=lambda item: item["name"].casefold())
    def tally(items: Sequence[dict[str, object]], start: int = 0) -> list[object]:
        return [start, *[item["at"] for item in items]]

    op = op_of(tally)
    assert isinstance(op, MergeOp)
    return op


items = st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6)


@given(names=items, shards=st.integers(1, 9))
def test_a_merge_brings_the_items_of_each_key_together_in_reading_order(names: list[list[str]], shards: int) -> None:
    op = _tally()
    at = iter(range(10_000))
    outputs = [[{"name": name, "at": next(at)} for name in part] for part in names]
    parts = [op.partition(output, shards, {}) for output in outputs]
    assert all(0 <= shard < shards for part in parts for shard in part)
    values = [op.merge([part.get(shard, []) for part in parts], {"start": 7}) for shard in range(shards)]
    entries = {entry["key"]: entry for value in values for entry in value["entries"]}
    wanted: dict[str, list[int]] = {}
    for output in outputs:
        for item in output:
            wanted.setdefault(item["name"].casefold(), []).append(item["at"])
    assert {key: entry["value"][1:] for key, entry in entries.items()} == wanted
    assert sum(len(value["entries"]) for value in values) == len(wanted), "a key is in one shard only"
    assert op.resolve([op.summarize(value) for value in values], {})["entries"] == len(wanted)


@given(names=items)
def test_the_places_that_a_merge_cites_are_those_of_its_items(names: list[list[str]]) -> None:
    op = _tally()
    outputs = [[{"name": name, "at": 0} for name in part] for part in names]
    value = op.merge([op.partition(output, 1, {}).get(0, []) for output in outputs], {"start": 0})
    for entry in value["entries"]:
        assert [outputs[part][index]["name"].casefold() for part, index in entry["cites"]] == [entry["key"]] * entry[
            "count"
        ]


@pytest.mark.parametrize("output", ["text", 5, None, {"items": "no"}, {}, [{"nothing": 1}], [{"name": 5}], [7]])
def test_an_output_that_a_merge_can_not_take_is_named_with_the_op(output: object) -> None:
    with pytest.raises(PipelineError, match="'tally'"):
        _tally().partition(output, 4, {})


def test_an_object_with_a_list_called_items_is_taken_like_the_list() -> None:
    item = {"name": "A", "at": 1}
    assert _tally().partition({"items": [item]}, 4, {}) == _tally().partition([item], 4, {})


def test_the_registry_gives_ops_by_name_and_kind() -> None:
    found = Registry(BUILTIN)
    assert found.get("extract", "map") in BUILTIN
    with pytest.raises(PipelineError, match="no op 'extarct'") as caught:
        found.get("extarct", "map")
    assert "extract" in (caught.value.hint or "")
    with pytest.raises(PipelineError, match="is a map op, the step is a fold"):
        found.get("extract", "fold")
    with pytest.raises(PipelineError, match="Two ops are called 'extract'"):
        found.add(MapOp(name="extract", version=2))


def test_a_module_without_ops_and_one_that_can_not_be_imported_are_named(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    with pytest.raises(PipelineError, match="'json' has no ops"):
        registry.load(["json"])
    with pytest.raises(PipelineError, match="'no_such_module' can not be imported"):
        registry.load(["no_such_module"])


def test_the_ops_of_a_module_are_those_that_it_holds() -> None:
    module = types.ModuleType("mine")

    @map_op(version=1)
    def mine(text: str) -> str:
        return text

    module.mine = mine
    module.other = 5
    assert [op.name for op in ops_of(module)] == ["mine"]
