"""The errors of model calls by name: what is tried again, after what wait, and what it counts against.

One table for the code and for docs/models.md, which is made from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.retry import CallError, ErrorClass, Usage


@dataclass(frozen=True, slots=True)
class Named:
    """One error of the table."""

    kind: ErrorClass
    meaning: str
    provider_down: bool = False  # tells the governor that the provider does not answer: the circuit may open


TABLE: dict[str, Named] = {
    "rate_limited": Named(ErrorClass.RATE_LIMITED, "429: too many requests or tokens"),
    "overloaded": Named(ErrorClass.TRANSIENT, "503, 529: the server has no capacity just now", provider_down=True),
    "server_error": Named(ErrorClass.TRANSIENT, "any other 5xx", provider_down=True),
    "timeout": Named(ErrorClass.TRANSIENT, "no whole answer within the profile's or step's time", provider_down=True),
    "connection": Named(
        ErrorClass.TRANSIENT, "no connection, or it broke off before the answer was whole", provider_down=True
    ),
    "bad_response": Named(ErrorClass.TRANSIENT, "a body that is no answer of the protocol: half JSON, a page of HTML"),
    "model_crashed": Named(ErrorClass.TRANSIENT, "the model in process failed: out of memory, a fault of its library"),
    "auth": Named(ErrorClass.STOP, "401, 403: the key is missing, wrong, or not allowed to do this"),
    "quota": Named(ErrorClass.STOP, "429 or 402: the account has no credit left"),
    "not_found": Named(ErrorClass.STOP, "404: no such model, or no such path under base_url"),
    "redirected": Named(ErrorClass.STOP, "3xx: followed nowhere, so that the key goes to no other host"),
    "tls": Named(ErrorClass.STOP, "the server's certificate can not be verified"),
    "context_length": Named(ErrorClass.OVERLONG, "the server says that the input does not fit its window"),
    "overlong": Named(ErrorClass.OVERLONG, "counted before the call: the input does not fit the window"),
    "over_limit": Named(ErrorClass.OVERLONG, "one call needs more tokens than the limit per minute can give"),
    "content_filter": Named(ErrorClass.PERMANENT, "the provider's filter withheld the answer or refused the input"),
    "bad_prompt": Named(ErrorClass.PERMANENT, "the prompt's template fails on this chunk"),
    "model_settings": Named(ErrorClass.STOP, "the profile, its key or its model's files are not as they must be"),
    "bad_request": Named(ErrorClass.PERMANENT, "400, 422: the server does not take the request as it is"),
    "invalid_output": Named(ErrorClass.INVALID_OUTPUT, "no JSON, JSON cut off, or JSON that the schema does not allow"),
    "truncated": Named(ErrorClass.INVALID_OUTPUT, "finish_reason is length: the answer reached max_tokens"),
    "empty": Named(ErrorClass.INVALID_OUTPUT, "an answer without a word in it"),
    "refused": Named(ErrorClass.INVALID_OUTPUT, "the model says that it will not answer"),
    "thinking_only": Named(ErrorClass.INVALID_OUTPUT, "thoughts, and no answer after them"),
    "glossary_missed": Named(ErrorClass.INVALID_OUTPUT, "a translation that leaves out a word of its glossary"),
}

DOWN_CODES = frozenset(code for code, named in TABLE.items() if named.provider_down) | {"provider_down"}


@dataclass(frozen=True, slots=True)
class Policy:
    """What is done about a class of errors, in words."""

    again: str
    wait: str
    counts: str


POLICIES: dict[ErrorClass, Policy] = {
    ErrorClass.RATE_LIMITED: Policy(
        "up to the step's `attempts`",
        "what Retry-After or the reset headers say, at least a growing random wait; meanwhile no call of this profile",
        "attempts, the job's retry budget",
    ),
    ErrorClass.TRANSIENT: Policy(
        "up to the step's `attempts`",
        "0 to 0.5 s, doubled with each try up to 60 s, at random",
        "attempts, the retry budget; nothing while the circuit of a provider that is down is open",
    ),
    ErrorClass.INVALID_OUTPUT: Policy(
        "up to the step's `attempts`, with a prompt of the same length",
        "none",
        "attempts, the retry budget; the tokens are counted and paid",
    ),
    ErrorClass.OVERLONG: Policy("no", "none", "a hole; with `on_overlong` split it is cut, with fail the job ends"),
    ErrorClass.PERMANENT: Policy("no", "none", "a hole"),
    ErrorClass.STOP: Policy("when a person resumes the job", "the job pauses and says why", "nothing"),
}


def fault(
    code: str,
    message: str,
    *,
    retry_after_ms: int | None = None,
    hint: str | None = None,
    used: Usage | None = None,
) -> CallError:
    """The error of that name."""
    return CallError(TABLE[code].kind, code, message, retry_after_ms=retry_after_ms, hint=hint, used=used)
