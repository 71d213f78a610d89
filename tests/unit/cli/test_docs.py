"""The command line says what it does, and the documentation says the same."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from octavo.cli.exits import Exit
from pipeline.settings import Settings, load
from pipeline.spec import builtin_names, parse

PROJECT = Path(__file__).resolve().parents[3]
DOCS = PROJECT / "docs"


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("octavo_docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


generate = _generate()
COMMANDS: dict[str, Any] = dict(generate.commands())


def parameters() -> Iterator[tuple[str, Any]]:
    for name, command in COMMANDS.items():
        for parameter in command.params:
            yield f"{name} {parameter.name}", parameter


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_that_is_a_sentence(name: str) -> None:
    first = (COMMANDS[name].help or "").partition("\n")[0]
    assert first[:1].isupper()
    assert first.endswith(".")


@pytest.mark.parametrize(
    ("name", "parameter"), list(parameters()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_option_and_argument_has_help(name: str, parameter: Any) -> None:
    if parameter.name != "help":
        assert getattr(parameter, "help", None), name


READING = [
    "status",
    "jobs",
    "results",
    "chunks",
    "manifest",
    "explain",
    "doctor",
    "plan",
    "run",
    "resume",
    "ingest",
    "grain",
]


@pytest.mark.parametrize("name", READING)
def test_every_reading_command_has_json(name: str) -> None:
    assert "--json" in [option for parameter in COMMANDS[f"octavo {name}"].params for option in parameter.opts]


@pytest.mark.parametrize("name", list(generate.PAGES))
def test_the_pages_made_from_the_code_are_as_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == generate.PAGES[name](), "run make docs"


def test_every_exit_code_is_documented() -> None:
    assert set(generate.EXITS) == set(Exit)
    guide = (DOCS / "guide.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (\d+) \|", guide, re.MULTILINE) == [str(code.value) for code in Exit]


def test_the_pipeline_in_the_guide_is_one() -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (DOCS / "guide.md").read_text(encoding="utf-8"), re.DOTALL)
    assert [step.kind for step in parse(text, "guide").step] == ["map", "merge"]


def test_the_example_settings_are_settings(tmp_path: Path) -> None:
    plain = load({}, PROJECT, {})
    assert plain == Settings(models=plain.models)
    text = (PROJECT / "octavo.toml").read_text(encoding="utf-8")
    (tmp_path / "octavo.toml").write_text(re.sub(r"^# (?=\[|\w+ = )", "", text, flags=re.MULTILINE), encoding="utf-8")
    assert load({}, tmp_path, {}).ops == ("my_ops",)


def test_every_built_in_pipeline_and_op_is_in_the_guide() -> None:
    guide = (DOCS / "guide.md").read_text(encoding="utf-8")
    for name in builtin_names():
        assert f"`{name}`" in guide
    for op in ("summarize", "fold_summary", "outline", "extract", "glossary"):
        assert f"| `{op}` |" in guide


def _pages() -> list[Path]:
    return [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", _pages(), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", sorted((DOCS / "adr").glob("*.md")), ids=lambda page: page.name)
def test_a_decision_fits_one_page(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) < 66
