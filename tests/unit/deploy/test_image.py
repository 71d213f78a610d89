"""Dockerfile: the rules of this house."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
LINES = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", TEXT)).splitlines()
STEPS = [(line.split()[0], line.partition(" ")[2].strip()) for line in LINES if line.strip()]
LAST_STAGE = STEPS[max(at for at, (word, _) in enumerate(STEPS) if word == "FROM") :]


def test_there_are_two_stages_and_the_last_one_has_only_what_was_built() -> None:
    assert [word for word, _ in STEPS].count("FROM") == 2
    assert [rest.split()[0] for word, rest in LAST_STAGE if word == "COPY"] == ["--from=build"]
    assert not any("pip" in rest for word, rest in LAST_STAGE if word == "RUN")


def test_the_image_runs_as_an_ordinary_user_named_by_number() -> None:
    users = [rest for word, rest in LAST_STAGE if word == "USER"]
    assert len(users) == 1
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", users[0])
    assert [word for word, _ in LAST_STAGE].index("USER") < [word for word, _ in LAST_STAGE].index("ENTRYPOINT")


def test_the_entry_point_is_octavo_without_a_shell_so_that_signals_reach_it() -> None:
    assert ("ENTRYPOINT", '["octavo"]') in LAST_STAGE
    assert ("STOPSIGNAL", "SIGTERM") in LAST_STAGE


def test_the_project_wheel_is_installed_with_extras_that_there_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = re.search(r'"octavo\[([\w,]+)\]', TEXT)
    assert wanted
    assert set(wanted[1].split(",")) == {"postgres", "flower", "web"} <= set(project["optional-dependencies"])


def test_every_package_of_the_project_is_copied_and_let_through() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert ignored[0] == "*"
    for package in packages:
        assert ("COPY", f"{package} {package}") in STEPS
        assert f"!{package}" in ignored


def test_no_secret_and_no_settings_are_in_the_image() -> None:
    assert not re.search(r"(?i)password|secret|token|api_key", TEXT)
    assert "ADD " not in TEXT
