"""Canonical JSON: one value, one sequence of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import canonical
from pipeline.canonical import NotJsonError

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def shuffled(value: object) -> object:
    """The same value with its keys put in the other way round."""
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in reversed(list(value))}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


@given(json_values)
def test_the_order_of_keys_changes_nothing_and_reading_gives_the_value_back(value: object) -> None:
    data = canonical.dumps(value)
    assert canonical.dumps(shuffled(value)) == data
    assert canonical.loads(data) == value
    assert canonical.dumps(canonical.loads(data)) == data


def test_the_form_is_pinned() -> None:
    value = {"b": [1, 2.0, 1e300, -0.5, True, None], "a": 'é\0\n"漢\U0001d504', "": {"z": {}, "y": []}}
    assert canonical.dumps(value) == (
        '{"":{"y":[],"z":{}},"a":"é\\u0000\\n\\"漢\U0001d504","b":[1,2.0,1e+300,-0.5,true,null]}'.encode()
    )


def test_one_and_one_point_zero_are_different_values() -> None:
    assert canonical.dumps(1) != canonical.dumps(1.0)


@pytest.mark.parametrize(
    "value", [{1: 2}, object(), {"a": {1, 2}}, "\ud800", {"\udc00": 1}, 2**64, -(2**63) - 1, b"bytes"]
)
def test_what_json_can_not_write_is_refused_with_an_error_of_ours(value: object) -> None:
    with pytest.raises(NotJsonError, match="can not be written as JSON"):
        canonical.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), {"a": [float("nan")]}])
def test_a_number_that_json_does_not_have_is_refused_and_not_written_as_null(value: object) -> None:
    with pytest.raises(NotJsonError, match="NaN"):
        canonical.dumps(value)


def test_something_nested_too_deeply_is_refused() -> None:
    value: object = 1
    for _ in range(100_000):
        value = [value]
    with pytest.raises(NotJsonError):
        canonical.dumps(value)
    while isinstance(value, list):  # taken apart by hand: freeing it would recurse
        value = value.pop()


def test_a_digest_is_that_of_the_bytes() -> None:
    assert canonical.digest({"a": 1}).hex() == canonical.sha256(b'{"a":1}').hex()
    assert canonical.sha256(b"").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
