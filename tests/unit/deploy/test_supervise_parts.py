"""The parts of the supervisor that need no process: policies, secrets, where programs are, what a stack is made of."""

from __future__ import annotations

import shlex
import stat
from pathlib import Path

import pytest

from pipeline.errors import StorageError
from workers.supervise import broker, flower, postgres, stack
from workers.supervise.folders import kept_secret, reachable, write_private
from workers.supervise.postgres import MissingProgramError, find_programs
from workers.supervise.service import Restart

GIVEN = {"database_url": "postgresql+psycopg://me:pw@db/x", "redis_url": "redis://:pw@broker:6379/0"}


@pytest.fixture(autouse=True)
def no_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports are not looked for: that would open a socket."""
    monkeypatch.setattr(stack, "free_ports", lambda count: list(range(40001, 40001 + count)))


def test_waits_double_up_to_a_bound_and_then_it_is_left_down() -> None:
    policy = Restart(first_s=0.5, most_s=3, deaths=6)
    assert [policy.wait_s(deaths) for deaths in range(1, 7)] == [0.5, 1, 2, 3, 3, None]


def test_a_secret_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    first = kept_secret(path)
    assert len(first) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kept_secret(path) == first


def test_a_secret_that_a_person_wrote_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    path.write_text("of-my-own\n")
    assert kept_secret(path) == "of-my-own"


@pytest.mark.parametrize("bad", ["", "two words", "a,b", 'quo"te', "back\\slash"])
def test_a_secret_that_could_be_misread_is_refused(tmp_path: Path, bad: str) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0o600)
    path.write_text(bad)
    with pytest.raises(StorageError, match="password file"):
        kept_secret(path)


def test_a_secret_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("known")
    path.chmod(0o644)
    with pytest.raises(StorageError, match="can be read by others"):
        kept_secret(path)


def test_a_private_file_is_private_even_where_an_open_one_was(tmp_path: Path) -> None:
    path = tmp_path / "up.env"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_folder_behind_a_closed_one_is_not_reachable(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    assert not reachable(closed / "state")


def test_programs_that_are_not_there_are_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "SYSTEM_FOLDERS", ())
    monkeypatch.setattr(postgres, "PACKAGE", "no_such_package")
    monkeypatch.setattr(broker, "PACKAGES", ())
    with pytest.raises(MissingProgramError, match="PostgreSQL is not on this machine"):
        find_programs("")
    with pytest.raises(MissingProgramError, match="PostgreSQL 9, which made the data here, is not"):
        find_programs("", wanted_major=9)
    with pytest.raises(MissingProgramError, match="Redis is not on this machine") as found:
        broker.find_server("")
    assert "octavo[local]" in str(found.value.hint)


def test_the_path_goes_before_the_packages(tmp_path: Path) -> None:
    program = tmp_path / "redis-server"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert broker.find_server(str(tmp_path)) == program


def test_servers_given_by_url_are_not_started(tmp_path: Path) -> None:
    made = stack.build(
        stack.Options(state=tmp_path, workers=3, slots=5, with_flower=False, with_web=False, **GIVEN), {}
    )
    assert [service.name for service in made.services] == ["migrate", "worker-1", "worker-2", "worker-3"]
    migrate, first, *_ = made.services
    assert migrate.argv[-2:] == ("db", "upgrade")
    assert migrate.once
    assert first.needs == ("migrate",)
    probed = [service.health.port for service in made.services[1:]]
    assert probed == [int(service.argv[-1]) for service in made.services[1:]]
    assert len(set(probed)) == 3
    assert first.argv[-5:-1] == ("worker", "--slots", "5", "--metrics-port")
    assert first.env == {
        "OCTAVO_STATE": str(tmp_path), "OCTAVO_DATABASE_URL": GIVEN["database_url"],
        "OCTAVO_REDIS_URL": GIVEN["redis_url"],
    }  # fmt: skip
    assert not any("pw@" in word for service in made.services for word in service.argv)


def test_a_stack_without_flower_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower, "installed", lambda: False)
    made = stack.build(stack.Options(state=tmp_path, with_web=False, **GIVEN), {})
    assert "octavo[flower]" in made.notes[0]
    assert flower.NAME not in [service.name for service in made.services]


def test_the_environment_file_is_shell_and_goes_when_the_stack_is_down(tmp_path: Path) -> None:
    state = tmp_path / "it's a folder"
    made = stack.build(stack.Options(state=state, with_flower=False, with_web=False, **GIVEN), {})
    made.write_files()
    lines = made.env_file.read_text().splitlines()
    assert [shlex.split(line)[:1] for line in lines] == [["export"]] * 3
    assert f"OCTAVO_STATE={state}" in shlex.split(lines[0])
    made.close()
    assert list(state.iterdir()) == []


def test_what_the_environment_says_to_flower_is_taken_away(tmp_path: Path) -> None:
    environ = {"FLOWER_UNAUTHENTICATED_API": "1", "FLOWER_ADDRESS": "0.0.0.0", "HOME": "/"}
    service = flower.service(tmp_path, broker_url="redis://:pw@x", port=1, needs=(), environ=environ)
    assert service.env == {
        "FLOWER_UNAUTHENTICATED_API": None, "FLOWER_ADDRESS": None, "CELERY_BROKER_URL": "redis://:pw@x",
    }  # fmt: skip
    assert {"--address=127.0.0.1", "--read_only=True", "--persistent=False"} <= set(service.argv)
    password = (tmp_path / "flower.password").read_text().strip()
    assert not any(password in word or "pw@" in word for word in service.argv)


@pytest.mark.parametrize("there", [True, False])
def test_workers_send_events_from_their_start_when_flower_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(flower, "installed", lambda: there)
    monkeypatch.setattr(stack, "check_port", lambda port, name: None)
    made = stack.build(stack.Options(state=tmp_path, with_web=False, **GIVEN), {})
    worker = next(service for service in made.services if stack.is_worker(service))
    assert ("--events" in worker.argv) is there


def test_the_pages_have_a_token_of_their_own_that_is_no_argument(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stack, "check_port", lambda port, name: None)
    made = stack.build(stack.Options(state=tmp_path, with_flower=False, web_port=8400, **GIVEN), {})
    web = next(service for service in made.services if service.name == "web")
    token = (tmp_path / "web.token").read_text().strip()
    assert web.env["OCTAVO_WEB_TOKEN"] == token
    assert not any(token in word for word in web.argv)
    assert (tmp_path / "web.token").stat().st_mode & 0o077 == 0
    monkeypatch.setattr("workers.supervise.pages.installed", lambda: False)
    without = stack.build(stack.Options(state=tmp_path, with_flower=False, **GIVEN), {})
    assert "octavo[web]" in without.notes[0]
    assert "web" not in [service.name for service in without.services]
