"""Any OpenAI-compatible server, through the `openai` SDK: its retries off, no redirect followed, TLS verified."""

from __future__ import annotations

import logging
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2  # what the SDK speaks HTTP with
import openai
from pydantic import SecretStr

from pipeline.errors import SettingsError
from pipeline.models.errors import fault
from pipeline.models.llm.engine import Ask, Completion
from pipeline.ops.values import Json
from pipeline.settings import ModelProfile
from workers import wire
from workers.models import openai_errors

HIDDEN = "[key]"
_PLAIN = (
    "temperature",
    "top_p",
    "seed",
    "presence_penalty",
    "frequency_penalty",
    "stop",
)  # fields of the protocol itself

# The SDK and its HTTP client tell of requests at DEBUG and INFO: whatever they tell, no header of ours is in it.
for _name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)

# What the SDK would tell each server about this machine: nobody's business, and a tenth of the work of a call.
_UNTOLD: Any = {
    f"X-Stainless-{name}": openai.omit
    for name in ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version")
}


class OpenAIEngine:
    """Chat completions of one profile. Its connections are made anew after a fork."""

    on_wire = True

    def __init__(self, profile: ModelProfile, key: SecretStr | None) -> None:
        self._profile = profile
        self._key = key
        self._lock = threading.Lock()
        self._pid = 0
        self._made: openai.OpenAI | None = None

    @property
    def client(self) -> openai.OpenAI:
        """The SDK's client of this process."""
        if self._made is None or self._pid != os.getpid():
            with self._lock:
                if self._made is None or self._pid != os.getpid():
                    self._made, self._pid = self._make(), os.getpid()
        return self._made

    def _make(self) -> openai.OpenAI:
        profile = self._profile
        http = openai.DefaultHttpxClient(
            follow_redirects=False,  # a redirect could carry the key, and the book, to another host
            verify=_trusted(profile),
            timeout=_timeout(profile, profile.timeout_s),
            # Hooks, not a transport of our own: with one the client would look at no proxy of the environment.
            event_hooks={"request": [lambda _request: wire.enter()], "response": [_read]},
        )
        client = openai.OpenAI(
            base_url=profile.base_url,
            api_key=self._key.get_secret_value() if self._key else "none",
            max_retries=0,  # the engine decides about retries, in rows
            default_headers=_UNTOLD,
            http_client=http,
        )
        # The SDK takes these from the environment for whatever server: they are for one only.
        client.organization = client.project = None
        return client

    def complete(self, ask: Ask) -> Completion:
        """One chat completion. Raises CallError."""
        return _completion(self._created(self._body(ask), ask.timeout_s))

    def raw(self, text: str, *, max_tokens: int, **body: Json) -> dict[str, Any]:
        """The whole answer to one message, with what else the request is to hold. Raises CallError."""
        messages = [{"role": "user", "content": text}]
        plain = {"model": self._profile.model, "messages": messages, self._profile.max_tokens_field: max_tokens}
        found = self._created(plain | body, self._profile.timeout_s)
        return found if isinstance(found, dict) else {}

    def _created(self, body: dict[str, Any], timeout_s: float) -> Any:
        with self._named():
            # Not `chat.completions.create`: it walks the types of every field of a body that is plain JSON already.
            answer = self.client.post(
                "/chat/completions",
                cast_to=httpx2.Response,
                body=body,
                options={"timeout": _timeout(self._profile, timeout_s)},
            )
            return answer.json()

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Whatever the SDK and its HTTP library raise, as an error of the table."""
        try:
            yield
        except wire.NotNowError:
            raise  # nothing was sent
        except openai.OpenAIError as error:
            # From nothing: the SDK's error holds the request, and the request the key.
            raise openai_errors.named(error, self.without_key(openai_errors.words_of(error))) from None
        except ValueError as error:
            raise fault("bad_response", f"The server's answer is not JSON: {type(error).__name__}") from None
        except Exception as error:  # noqa: BLE001  # what the HTTP library raises for a body that breaks off
            text = self.without_key(f"{type(error).__name__}: {error}")
            raise fault("connection", f"The server broke off: {text}") from None
        finally:
            wire.leave()

    def _body(self, ask: Ask) -> dict[str, Any]:
        profile = self._profile
        more: dict[str, Any] = dict(profile.extra_body)
        more |= {name: value for name, value in ask.sampling.items() if name not in _PLAIN}
        body: dict[str, Any] = {
            "model": profile.model,
            "messages": [{"role": message.role, "content": message.content} for message in ask.messages],
            profile.max_tokens_field: ask.max_tokens,
            **{name: value for name, value in ask.sampling.items() if name in _PLAIN},
        }
        if isinstance(profile.thinking, bool):
            more["chat_template_kwargs"] = {"enable_thinking": profile.thinking} | more.get("chat_template_kwargs", {})
        elif profile.thinking is not None:
            body["reasoning_effort"] = profile.thinking
        form = _form(profile.json_mode, ask)
        return body | ({"response_format": form} if form else {}) | more

    def models(self) -> list[str]:
        """What the server says it has. Raises CallError."""
        with self._named():
            return [item.id for item in self.client.models.list()]

    def without_key(self, text: str) -> str:
        """A text that no longer holds the key, if it did: servers repeat it in their errors."""
        secret = self._key.get_secret_value() if self._key else ""
        return text.replace(secret, HIDDEN) if secret else text

    def close(self) -> None:
        """Close the connections."""
        if self._made is not None and self._pid == os.getpid():
            self._made.close()


def _read(response: httpx2.Response) -> None:
    """Read the whole answer: the call is on the wire until then, and no longer."""
    response.read()
    wire.leave()


def _timeout(profile: ModelProfile, whole_s: float) -> openai.Timeout:
    return openai.Timeout(whole_s, connect=min(whole_s, profile.connect_timeout_s))


def _trusted(profile: ModelProfile) -> bool | ssl.SSLContext:
    if profile.ca_file is None:
        return True
    try:
        return ssl.create_default_context(cafile=str(profile.ca_file))
    except (OSError, ssl.SSLError) as error:
        raise SettingsError(f"ca_file {profile.ca_file} is no file of certificates", cause=str(error)) from error


def _form(mode: str, ask: Ask) -> dict[str, Json] | None:
    if ask.schema is None or mode == "prompt":
        return None
    if mode == "object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": ask.name, "schema": ask.schema, "strict": True}}


def _completion(body: Any) -> Completion:
    """What stands in a chat completion. Raises CallError for a body that is none."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content") or ""
        if isinstance(content, list):  # parts, as some servers give them
            content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
        usage = body.get("usage") or {}
        return Completion(
            content=str(content),
            finish=str(choice.get("finish_reason") or "stop"),
            thoughts=str(message.get("reasoning_content") or message.get("reasoning") or ""),
            refusal=str(message.get("refusal") or ""),
            tokens_in=_count(usage, "prompt_tokens"),
            tokens_out=_count(usage, "completion_tokens"),
        )
    except (LookupError, TypeError, AttributeError) as error:
        raise fault("bad_response", f"The server's answer has no choices[0].message: {type(error).__name__}") from None


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    found = usage.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
