"""The migration that commands look for is the newest there is."""

from __future__ import annotations

from db import migrate, version


def test_the_version_that_commands_look_for_is_the_newest_migration() -> None:
    assert migrate.head() == version.HEAD
