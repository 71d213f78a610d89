"""Each guard is taken away, one at a time, and the test that stands for it must fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from octavo.web import access, cursors, guards
from octavo.web.api import uploads
from octavo.web.pages import plain, render
from octavo.web.state import Codes
from tests.integration.web import test_api, test_safety, test_views
from tests.integration.web.conftest import Site
from workers.faces import child, tokens
from workers.faces.tokens import Caller

# A laboratory for each guard: half a minute together.
pytestmark = pytest.mark.nightly

ANYBODY = Caller(id="anybody", name="anybody", scope="admin")


def without(target: Any, name: str, instead: Any) -> Any:
    return mock.patch.object(target, name, instead)


def plain_environment() -> Any:
    """The templates without escaping."""
    render._environment.cache_clear()
    made = render._environment()
    made.autoescape = False
    return made


class AnyCode(Codes):
    """Lets in whoever shows a code, as often as he likes."""

    def use(self, code: str) -> bool:
        return bool(code)


# (what is taken away, how, the test that stands for it, what else the test takes)
GUARDS: list[tuple[str, Callable[[], Any], Callable[..., None], dict[str, Any]]] = [
    (
        "the list of hosts",
        lambda: without(guards, "host_fault", lambda *_: None),
        test_safety.test_a_name_that_is_not_ours_is_refused_for_every_method,
        {},
    ),
    *(
        (
            f"the look at where a request comes from ({number})",
            lambda: without(guards, "origin_fault", lambda *_: None),
            test_safety.test_another_sites_page_can_not_use_a_browsers_session,
            {"headers": headers},
        )
        for number, headers in enumerate(test_safety.CROSS)
    ),
    (
        "the question who asks",
        lambda: without(access, "caller_of", lambda _: ANYBODY),
        test_safety.test_no_part_of_the_api_answers_without_a_token,
        {},
    ),
    (
        "the question who looks at a page",
        lambda: without(access, "caller_of", lambda _: ANYBODY),
        test_safety.test_no_page_is_shown_to_who_has_not_entered,
        {"path": "/jobs"},
    ),
    (
        "the difference of tokens and sessions",
        lambda: without(
            access, "find_caller", lambda database, secret, kind, configured=None: _either(database, secret)
        ),
        test_safety.test_a_session_is_no_token_and_a_token_is_no_session,
        {},
    ),
    (
        "scopes",
        lambda: without(Caller, "may", lambda *_: True),
        test_safety.test_reading_needs_read_acting_needs_run_and_tokens_need_admin,
        {},
    ),
    (
        "that a code is good once",
        lambda: without(Codes, "use", AnyCode.use),
        test_safety.test_a_launch_code_lets_one_browser_in_once_and_only_when_it_is_sent,
        {},
    ),
    (
        "hashes in place of secrets",
        lambda: without(tokens, "digest", lambda secret: secret.encode()),
        test_safety.test_secrets_are_stored_hashed_only,
        {},
    ),
    (
        "the policy of pages",
        lambda: without(guards, "HEADERS", {}),
        test_safety.test_every_answer_carries_the_policy,
        {},
    ),
    (
        "escapes of HTML",
        lambda: without(render, "_environment", plain_environment),
        test_safety.test_what_a_book_says_is_text_on_every_page,
        {},
    ),
    (
        "that controls are shown",
        lambda: without(plain, "_ODD", mock.Mock(search=lambda _: None)),
        test_safety.test_what_a_book_says_is_text_on_every_page,
        {},
    ),
    (
        "that controls are shown, in errors",
        lambda: without(plain, "_ODD", mock.Mock(search=lambda _: None)),
        test_safety.test_what_an_op_says_when_it_fails_is_text_too,
        {},
    ),
    *(
        (
            f"the look at paths: {path}",
            lambda: without(guards, "_odd_path", lambda _: None),
            test_safety.test_paths_that_could_be_read_in_two_ways_are_refused,
            {"path": path},
        )
        for path in test_safety.ODD
    ),
    (
        "plain names of uploads",
        lambda: without(uploads, "safe_name", lambda name: name),
        test_safety.test_an_uploads_name_is_one_part_of_a_path,
        {"name": "../../etc/passwd", "kept": "passwd"},
    ),
    (
        "the limit of what is sent",
        lambda: without(guards.Guard, "_limit", lambda *_: 1 << 40),
        test_safety.test_more_than_is_allowed_is_refused_before_and_while_it_comes,
        {},
    ),
    (
        "that a pipeline is no file",
        lambda: without(child, "builtin", _any_file),
        test_views.test_no_caller_names_a_file_of_this_machine_as_a_pipeline,
        {"name": "/etc/hostname"},
    ),
    (
        "that a cursor belongs to its list",
        lambda: without(cursors, "_list_of", lambda _: "any"),
        test_api.test_a_cursor_is_good_for_its_own_list_and_filters_only,
        {},
    ),
    (
        "that parameters are known",
        lambda: without(access, "only_known", lambda _: None),
        test_api.test_a_parameter_that_is_not_known_is_refused_and_the_known_ones_are_named,
        {},
    ),
]


def _either(database: Any, secret: str) -> Caller | None:
    return tokens.find_caller(database, secret, "token") or tokens.find_caller(database, secret, "session")


def _any_file(name: str) -> Any:
    from pipeline.spec import builtin_names, load

    return load(name if name in builtin_names() else "summary")


@pytest.mark.parametrize(("what", "take_away", "test", "given"), GUARDS, ids=[item[0] for item in GUARDS])
def test_without_its_guard_a_test_fails(
    request: pytest.FixtureRequest, what: str, take_away: Any, test: Callable[..., None], given: dict[str, Any]
) -> None:
    name = next(name for name in ("site", "novel_site") if name in test.__code__.co_varnames)
    site: Site = request.getfixturevalue(name)
    with take_away():
        try:
            test(**{name: site}, **given)
        except (Exception, pytest.fail.Exception):  # noqa: BLE001  # however it fails, it has noticed
            return
        finally:
            render._environment.cache_clear() if hasattr(render._environment, "cache_clear") else None
    pytest.fail(f"nothing noticed that {what} was gone")
