"""What goes to a server and what its errors are called; nothing is connected here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pipeline import settings
from pipeline.errors import SettingsError
from pipeline.models.errors import POLICIES, TABLE, fault
from pipeline.models.llm.engine import Ask
from pipeline.models.llm.prompts import Message
from pipeline.retry import ErrorClass, decide
from pipeline.settings import ModelProfile
from workers.models import openai_errors
from workers.models.make import identity_of
from workers.models.openai_engine import OpenAIEngine

URL = "http://127.0.0.1:9/v1"
SCHEMA = {"type": "object"}


def profile(**more: Any) -> ModelProfile:
    return ModelProfile.model_validate({"provider": "openai", "base_url": URL, "model": "m"} | more)


def body(made: ModelProfile, **ask: Any) -> dict[str, Any]:
    asked = Ask(**{"messages": [Message("user", "x")], "max_tokens": 9, "schema": SCHEMA} | ask)
    return OpenAIEngine(made, None)._body(asked)


def test_what_is_not_set_is_not_sent() -> None:
    assert body(profile()) == {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 9}


def test_each_setting_goes_where_servers_look_for_it() -> None:
    sent = body(
        profile(thinking=False, max_tokens_field="max_completion_tokens", extra_body={"cache": True}),
        sampling={"temperature": 0, "seed": 3, "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1, "stop": ["x"]},
    )
    assert (sent["temperature"], sent["seed"], sent["stop"], sent["max_completion_tokens"]) == (0, 3, ["x"], 9)
    others = {name: sent[name] for name in ("cache", "top_k", "min_p", "repetition_penalty", "chat_template_kwargs")}
    assert others == {
        "cache": True, "top_k": 5, "min_p": 0.1, "repetition_penalty": 1.1,
        "chat_template_kwargs": {"enable_thinking": False},
    }  # fmt: skip
    assert body(profile(thinking="low"))["reasoning_effort"] == "low"
    assert body(profile(json_mode="object"))["response_format"] == {"type": "json_object"}
    assert body(profile(json_mode="schema"))["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "response_format" not in body(profile(json_mode="schema"), schema=None)


@pytest.mark.parametrize(
    ("headers", "ms"),
    [
        ({"retry-after": "3"}, 3000),
        ({"retry-after-ms": "250", "retry-after": "3"}, 250),
        ({"retry-after": "nonsense"}, None),
        ({"retry-after": "-4"}, None),
        ({}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m30s"}, 90_000),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "20ms"}, 20),
        ({"x-ratelimit-remaining-tokens": "7", "x-ratelimit-reset-tokens": "6m0s"}, None),
        ({"retry-after": "9e30"}, None),
        ({"retry-after": "1e9"}, openai_errors.MOST_WAIT_MS),
    ],
)
def test_what_a_server_says_about_waiting_is_read(headers: dict[str, str], ms: int | None) -> None:
    assert openai_errors.retry_after(headers) == ms


def test_a_date_to_wait_for_is_read() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wait = openai_errors.retry_after({"retry-after": later})
    assert wait is not None
    assert 25_000 < wait <= 30_000


def test_every_error_has_a_policy_and_stopping_counts_against_nothing() -> None:
    for code, named in TABLE.items():
        assert POLICIES[named.kind]
        decision = decide(fault(code, "x"), attempt=1, attempts=2, now_ms=0, seed=b"")
        assert decision.again is (named.kind not in (ErrorClass.PERMANENT, ErrorClass.OVERLONG))
        assert decision.stop is (named.kind is ErrorClass.STOP)
    assert decide(fault("auth", "x"), attempt=9, attempts=2, now_ms=0, seed=b"").stop


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"base_url": "http://user:secret@host/v1"}, "holds a name or password"),
        ({"base_url": "ftp://host"}, "must begin with http"),
        ({"base_url": None}, "needs a base_url"),
        ({"base_url": "https://host/v1?key=secret"}, "query"),
        ({"model": None}, "needs a model"),
        ({"api_key": "sk-secret"}, "Extra inputs"),
        ({"api_key_env": "A", "api_key_keyring": "b/c"}, "one is enough"),
        ({"adapters": "x"}, "is for provider 'mlx'"),
    ],
)
def test_a_profile_that_can_not_be_right_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        profile(**wrong)


def test_a_settings_error_shows_no_value_of_a_profile(tmp_path: Path) -> None:
    for line in ('api_key = "sk-secret"', 'base_url = "http://u:sk-secret@host"'):
        (tmp_path / "octavo.toml").write_text(f'[models.m]\nprovider = "openai"\nmodel = "m"\n{line}\n')
        with pytest.raises(SettingsError) as raised:
            settings.load({}, tmp_path, {})
        assert "sk-secret" not in f"{raised.value.message} {raised.value.hint} {raised.value.cause}"


def test_a_key_is_looked_for_where_the_profile_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    with pytest.raises(SettingsError, match="NO_SUCH_KEY, which is not set"):
        settings.api_key("m", profile(api_key_env="NO_SUCH_KEY"))
    monkeypatch.setenv("NO_SUCH_KEY", " sk-1 \n")
    found = settings.api_key("m", profile(api_key_env="NO_SUCH_KEY"))
    assert found is not None
    assert found.get_secret_value() == "sk-1"
    assert "sk-1" not in repr(found)
    assert settings.api_key("m", profile()) is None


def test_a_key_can_come_from_the_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    import keyring
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service: str, username: str) -> str | None:
            return "sk-2" if (service, username) == ("octavo", "me") else None

        def set_password(self, service: str, username: str, password: str) -> None:
            raise NotImplementedError

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        found = settings.api_key("m", profile(api_key_keyring="octavo/me"))
        assert found is not None
        assert found.get_secret_value() == "sk-2"
        with pytest.raises(SettingsError, match="no key 'octavo/you'"):
            settings.api_key("m", profile(api_key_keyring="octavo/you"))
    finally:
        keyring.set_keyring(before)


def test_the_identity_of_a_server_is_its_model_and_host_or_what_is_pinned() -> None:
    plain = identity_of(profile())
    assert plain == "openai/m@127.0.0.1:9"
    assert identity_of(profile(timeout_s=3, slots=2, api_key_env="A", input_price=1)) == plain
    assert identity_of(profile(base_url="http://127.0.0.1:10/v1")) != plain
    assert identity_of(profile(model="n")) != plain
    assert identity_of(profile(extra_body={"a": 1})) not in (plain, identity_of(profile(extra_body={"a": 2})))
    assert (
        identity_of(profile(identity="ours"))
        == identity_of(profile(identity="ours", base_url="https://b/v1"))
        == "ours"
    )
