"""Pipelines and settings as people write them: every fault names the place, the key and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import settings
from pipeline.errors import PipelineError, SettingsError
from pipeline.spec import GrainSpec, builtin_names, load, parse

GOOD = 'name = "p"\n[[step]]\nname = "m"\nkind = "map"\nop = "extract"\n'


def test_every_built_in_pipeline_can_be_read_and_has_its_own_name() -> None:
    assert builtin_names() == ["conflicts", "glossary", "outline", "summary"]
    for name in builtin_names():
        assert load(name).name == name
        assert load(name).description


FAULTS = [
    ("no TOML", "name = = 1", "line 1"),
    ("no steps", 'name = "p"\n', "step"),
    ("empty steps", 'name = "p"\nstep = []\n', "step"),
    ("no name", GOOD.replace('name = "p"\n', "", 1), "name"),
    ("a name with a space", GOOD.replace('"p"', '"a b"'), "name"),
    ("an unknown field", GOOD + "colour = 1\n", "colour"),
    ("an unknown field above", "colour = 1\n" + GOOD, "colour"),
    ("an unknown kind", GOOD.replace('"map"', '"mop"'), "'map', 'merge' or 'fold'"),
    ("an unknown policy", GOOD + 'on_hole = "panic"\n', "'wait', 'fail' or 'continue'"),
    ("an unknown kind of section", GOOD + 'skip = ["footer"]\n', "boilerplate"),
    ("no attempts", GOOD + "attempts = 0\n", "attempts"),
    ("too many attempts", GOOD + "attempts = 101\n", "attempts"),
    ("no time", GOOD + "timeout_s = 0\n", "timeout_s"),
    ("a limit of nothing", GOOD + "[grain]\nlimit = 0\n", "limit"),
    ("overlap above the limit", GOOD + "[grain]\nlimit = 5\noverlap = 5\n", "overlap 5 must be below limit 5"),
    ("two steps of one name", GOOD + GOOD.split("\n", 1)[1], "two steps are called 'm'"),
    ("after nothing", GOOD + 'after = "x"\n', "allowed: nothing yet"),
    ("after itself", GOOD + 'after = "m"\n', "allowed: nothing yet"),
    ("a reduce first", GOOD.replace('"map"', '"fold"'), "must come after a map"),
    (
        "a map after a reduce",
        GOOD
        + '[[step]]\nname = "f"\nkind = "fold"\nop = "x"\n[[step]]\nname = "n"\nkind = "map"\nop = "x"\nafter = "f"\n',
        "can come after a map only",
    ),
]


@pytest.mark.parametrize(("text", "says"), [item[1:] for item in FAULTS], ids=[item[0] for item in FAULTS])
def test_a_fault_of_a_pipeline_is_named_with_its_file_key_and_what_is_allowed(text: str, says: str) -> None:
    with pytest.raises(PipelineError) as caught:
        parse(text, "my.toml")
    assert caught.value.message.startswith("my.toml")
    assert says in caught.value.message
    assert "\n" not in caught.value.message


def test_a_reduce_takes_the_step_before_it_unless_it_names_another() -> None:
    text = GOOD + '[[step]]\nname = "n"\nkind = "map"\nop = "x"\n[[step]]\nname = "f"\nkind = "fold"\nop = "x"\n'
    assert parse(text, "t").source_of(2) == 1
    assert parse(text + 'after = "m"\n', "t").source_of(2) == 0
    assert parse(text, "t").source_of(1) is None


def test_a_pipelines_digest_is_that_of_what_it_says_and_not_of_how_it_is_written() -> None:
    assert parse("# a comment\n" + GOOD + "attempts = 4\n", "a").digest() == parse(GOOD, "b").digest()
    assert parse(GOOD + "attempts = 5\n", "a").digest() != parse(GOOD, "b").digest()


@pytest.mark.parametrize("name", ["nothing", "nothing.toml"])
def test_a_pipeline_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(PipelineError, match="nothing"):
        load(name)


def test_a_pipeline_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PipelineError, match="can not be read"):
        load(str(path))
    folder = tmp_path / "folder.toml"
    folder.mkdir()
    with pytest.raises(PipelineError, match="can not be read"):
        load(str(folder))


def test_a_grains_overlap_stays_below_its_limit() -> None:
    assert GrainSpec(limit=10, overlap=9).overlap == 9
    with pytest.raises(ValueError, match="must be below"):
        GrainSpec(limit=10, overlap=10)


# Settings


def test_what_is_set_nowhere_has_its_default(tmp_path: Path) -> None:
    found = settings.load({}, tmp_path, {})
    assert (found.state, found.model, found.lease_s) == (Path(".octavo"), "extractive", 30)
    assert found.url == "sqlite:///.octavo/octavo.db"


def test_an_option_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text('state = "from-file"\nlease_s = 7\nop_slots = 3\n')
    environ = {"OCTAVO_STATE": "from-environment", "OCTAVO_LEASE_S": "9"}
    found = settings.load(environ, tmp_path, {"state": Path("from-option"), "lease_s": None})
    assert (found.state, found.lease_s, found.op_slots) == (Path("from-option"), 9, 3)


def test_modules_of_ops_are_given_as_a_list_with_commas(tmp_path: Path) -> None:
    assert settings.load({"OCTAVO_OPS": "a,b"}, tmp_path, {}).ops == ("a", "b")


@pytest.mark.parametrize(
    ("environ", "toml", "says"),
    [
        ({"OCTAVO_LEASE_S": "soon"}, "", "lease_s"),
        ({"OCTAVO_OP_SLOTS": "0"}, "", "op_slots"),
        ({}, "colour = 1\n", "colour"),
        ({}, "[models.m]\nprovider = 'oracle'\n", "provider"),
        ({}, "state = \n", "octavo.toml"),
    ],
)
def test_a_fault_of_a_setting_is_named_with_its_key(
    tmp_path: Path, environ: dict[str, str], toml: str, says: str
) -> None:
    (tmp_path / "octavo.toml").write_text(toml)
    with pytest.raises(SettingsError, match=says) as caught:
        settings.load(environ, tmp_path, {})
    assert "\n" not in caught.value.message


def test_the_built_in_model_is_known_beside_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text("[models.mine]\nslots = 9\n")
    found = settings.load({}, tmp_path, {})
    assert set(found.models) == {"extractive", "mine"}
    assert found.models["mine"].slots == 9


def test_boilerplate_is_left_out_or_taken_whatever_the_pipeline_says() -> None:
    for name in builtin_names():
        spec = load(name)
        assert "boilerplate" in spec.step[0].skip
        assert spec.skipping_boilerplate(True) == spec
        kept = spec.skipping_boilerplate(False)
        assert "boilerplate" not in kept.step[0].skip
        assert "contents" in kept.step[0].skip
        assert set(kept.skipping_boilerplate(True).step[0].skip) == set(spec.step[0].skip)
        assert kept.step[1:] == spec.step[1:]
