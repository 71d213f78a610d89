"""docker-compose.yml: the Compose specification's schema, real commands, and the rules of this house."""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from octavo.cli.main import app
from workers.supervise import flower

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")

yaml = pytest.importorskip("yaml", reason="PyYAML is a test dependency")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
LONG_RUNNING = [name for name in SERVICES if name not in ("migrate", "cli")]


def test_the_file_is_valid_by_the_schema_of_the_compose_specification() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="comes with check-jsonschema, a test dependency")
    # check-jsonschema carries the specification's own schema (Apache-2.0) and renews it with its releases.
    packaged = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(packaged.read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(COMPOSE)] == []
    assert list(validator.iter_errors({"services": {"worker": {"imagee": "x"}}})), "the schema must be able to refuse"


def parse(words: list[str]) -> None:
    """Parse a command line of `octavo` as the program would, and run nothing. Raises when it is not one."""
    group = get_command(app)
    context = group.make_context("octavo", list(words), allow_extra_args=True)
    while words:
        name, command, words = group.resolve_command(context, words)
        if hasattr(command, "resolve_command"):
            group, context = command, command.make_context(name, list(words), parent=context, allow_extra_args=True)
            continue
        command.make_context(name, list(words), parent=context)
        return


def with_defaults(word: str) -> str:
    """A word of the file as Compose reads it when nothing is set."""
    return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", word)


@pytest.mark.parametrize(
    "name", [name for name in OURS if "entrypoint" not in SERVICES[name] and "command" in SERVICES[name]]
)
def test_every_command_is_one_that_octavo_understands(name: str) -> None:
    parse([with_defaults(word) for word in SERVICES[name]["command"]])


def test_a_command_that_octavo_does_not_know_would_be_found() -> None:
    with pytest.raises(typer.TyperException):
        parse(["db", "upgrade", "--no-such-option"])
    with pytest.raises(typer.TyperException):
        parse(["no-such-command"])


def test_flower_runs_as_octavo_up_runs_it() -> None:
    assert SERVICES["flower"]["entrypoint"] == ["celery"]
    assert tuple(SERVICES["flower"]["command"]) == flower.arguments(address="0.0.0.0", port=5555)
    assert SERVICES["flower"]["environment"]["FLOWER_BASIC_AUTH"].startswith(f"{flower.USER}:${{FLOWER_PASSWORD:?")
    assert "UNAUTHENTICATED" not in TEXT


def test_nothing_is_published_but_the_pages_and_flower_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if service.get("ports")}
    assert list(published) == ["web", "flower"]
    assert all(port.startswith("127.0.0.1:") for ports in published.values() for port in ports)
    assert not any("network_mode" in service or "expose" in service for service in SERVICES.values())


def test_the_databases_can_not_be_reached_from_outside() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    assert SERVICES["postgres"]["networks"] == SERVICES["redis"]["networks"] == ["inside"]


def test_every_password_must_be_given_and_none_stands_in_the_file() -> None:
    passwords = re.findall(r"\$\{(\w*PASSWORD)([^}]*)\}", TEXT)
    assert {name for name, _ in passwords} == {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "FLOWER_PASSWORD"}
    assert all(rest.startswith(":?") for _, rest in passwords)
    assert re.findall(r"\$\{WEB_TOKEN([^}]*)\}", TEXT)[0].startswith(":?")
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name or "AUTH" in name or name.endswith("_URL"):
                assert "${" in value, name
        assert not any("PASSWORD:" in str(word) for word in service.get("command", []))


def test_the_example_environment_names_all_that_must_be_given() -> None:
    example = (ROOT / "deploy" / "env.example").read_text(encoding="utf-8")
    for name in set(re.findall(r"\$\{(\w+)", TEXT)) - {"OCTAVO_IMAGE_TAG"}:
        assert re.search(rf"^#?{name}=", example, re.MULTILINE), name
    assert not re.search(r"^\w*PASSWORD=.", example, re.MULTILINE), "an example password would be used"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_hardened_and_no_root(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    if name not in OURS:  # ours: the image's own user
        assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"])


@pytest.mark.parametrize("name", LONG_RUNNING)
def test_every_service_that_stays_has_a_health_check_and_is_restarted(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(service["healthcheck"])
    assert service["restart"] == "unless-stopped"


def test_what_works_waits_for_the_databases_and_the_migration() -> None:
    for name in ("worker", "web", "cli"):
        assert {needed: rule["condition"] for needed, rule in SERVICES[name]["depends_on"].items()} == {
            "postgres": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert SERVICES["migrate"]["restart"] == "no"


def test_data_that_must_last_is_in_named_volumes_and_images_are_pinned() -> None:
    assert set(COMPOSE["volumes"]) == {"postgres", "state"}
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]
    for name, service in SERVICES.items():
        tag = service["image"].rpartition(":")[2]
        assert tag != "latest", name
        assert name in OURS or re.match(r"\d", tag), name


def test_a_worker_gets_longer_to_stop_than_octavo_gives_it() -> None:
    from workers.supervise.stack import Options

    assert int(SERVICES["worker"]["stop_grace_period"].removesuffix("s")) > Options(state=ROOT).worker_stop_s
