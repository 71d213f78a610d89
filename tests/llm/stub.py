"""An OpenAI-compatible server's stand-in that counts and fails as it is told: real HTTP, a process of its own.

`POST /v1/chat/completions` answers what fits the schema that the prompt or response_format asks for, with quotes of the
passage. `POST /rules` sets rules, a list of `{"fault", "content", "json", "match", "times", …}`: a rule's fault befalls
the first `times` calls of each prompt that holds `match`; the first rule that applies counts; `json` is the answer
where a schema is asked for. A rule `{"seed", "rate", "faults"}` gives that part of all calls one of the faults, the
same ones whenever it is run. A rule `{"items", "words"}` makes lists of so many items, of texts of up to so many words
of the passage. `GET /log` gives the calls, `GET /sizes` only (tokens of the prompt, max_tokens) of each.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOST = "127.0.0.1"
FENCE = re.compile(r"BOOK TEXT (\w+) BEGINS\n(.*?)\nBOOK TEXT \1 ENDS", re.DOTALL)
SCHEMA = re.compile(r"fits this JSON schema.*?\n(\{.*\})\s*$", re.DOTALL)
QUOTE = 80  # characters: without spaces six words may be a page, and an answer would be longer than max_tokens
TRY = re.compile(r"This is try \d of this passage\.")


@dataclass
class Reply:
    """An answer, and how it goes over the wire."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False  # half the body, then the connection ends


def _error(status: int, message: str, code: str | None = None, **headers: str) -> Reply:
    body = json.dumps({"error": {"message": message, "type": "stub", "code": code}}).encode()
    return Reply(status, body, headers)


class Stub:
    """What was called, and how to answer."""

    def __init__(self, counter: Callable[[list[dict[str, str]]], int]) -> None:
        self.count = counter
        self.rules: list[dict[str, Any]] = []
        self.log: list[dict[str, Any]] = []
        self.seen: Counter[str] = Counter()
        self.hit: Counter[tuple[int, str]] = Counter()
        self.now = self.most = 0

    async def handle(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """One request."""
        if path == "/rules":
            self.rules = json.loads(body)
            return Reply()
        if path == "/log":
            return Reply(body=json.dumps({"calls": self.log, "most": self.most}).encode())
        if path == "/sizes":
            sizes = [(call["tokens"], call["asked"]["max_tokens"]) for call in self.log]
            return Reply(body=json.dumps(sizes).encode())
        if path == "/reset":
            self.rules, self.log, self.most = [], [], 0
            self.seen.clear()
            self.hit.clear()
            return Reply()
        if path.endswith("/models") and any(rule.get("fault") == "no_list" for rule in self.rules):
            return Reply(body=b"")  # as mlx_lm.server does where nothing was ever fetched from a hub
        if path.endswith("/models"):
            return Reply(body=json.dumps({"object": "list", "data": [{"id": "stub-1", "object": "model"}]}).encode())
        if path.endswith("/chat/completions"):
            return await self._chat(headers, json.loads(body))
        return _error(404, "no such path")

    async def _chat(self, headers: dict[str, str], asked: dict[str, Any]) -> Reply:
        text = "\n".join(message["content"] for message in asked["messages"])
        key = hashlib.sha256(TRY.sub("", text).encode()).hexdigest()[:16]
        self.seen[key] += 1
        rule = self._rule(key, text)
        self.log.append(
            {
                "at": time.time(), "key": key, "number": self.seen[key], "size": len(text), "fault": rule.get("fault"),
                "tokens": self.count(asked["messages"]),
                "authorization": headers.get("authorization", ""), "headers": sorted(headers),
                "asked": {name: value for name, value in asked.items() if name != "messages"},
                "text": text if len(text) < 4000 else "",
            }
        )  # fmt: skip
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(float(rule.get("latency_s", 0)))
            return self._answer(rule, asked, text)
        finally:
            self.now -= 1

    def _rule(self, key: str, text: str) -> dict[str, Any]:
        for number, rule in enumerate(self.rules):
            if "seed" in rule:
                if fault := _drawn(rule, f"{rule['seed']} {key} {self.seen[key]}"):
                    return rule | {"fault": fault}
            elif rule.get("match", "") in text and self.hit[number, key] < rule.get("times", 1_000_000_000):
                self.hit[number, key] += 1
                return rule
        return {}

    def _answer(self, rule: dict[str, Any], asked: dict[str, Any], text: str) -> Reply:
        fault = rule.get("fault")
        secret = rule.get("says", "")
        if fault in REFUSALS:
            return REFUSALS[fault](rule, f"{fault} {secret}".strip())
        answer = rule["json"] if "json" in rule else _instance(_schema(asked, text), asked, text, rule)
        content = json.dumps(answer, ensure_ascii=False)
        if _schema(asked, text) is None:
            content = rule.get("content") or "Rendered: " + _passage(text)[:200]
        message: dict[str, Any] = {"role": "assistant", "content": content}
        finish = "stop"
        if fault in CONTENTS:
            finish = CONTENTS[fault](message) or "stop"
        tokens = self.count(asked["messages"])
        usage: dict[str, Any] = {
            "prompt_tokens": tokens,
            "completion_tokens": max(1, len(str(message["content"])) // 4),
        }
        if fault == "wrong_usage":
            usage = {"prompt_tokens": -7, "completion_tokens": 10**12}
        body = {
            "id": "stub", "object": "chat.completion", "created": 1, "model": asked["model"], "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        }  # fmt: skip
        return Reply(body=json.dumps(body).encode(), cut=fault == "drop")


def _drawn(rule: dict[str, Any], of: str) -> str | None:
    """The fault of a call, if it is to have one."""
    dice = int.from_bytes(hashlib.sha256(of.encode()).digest()[:8]) / 2**64
    return rule["faults"][int(dice / rule["rate"] * len(rule["faults"]))] if dice < rule["rate"] else None


def _halve(message: dict[str, Any]) -> None:
    message["content"] = message["content"][: len(message["content"]) // 2]


def _truncate(message: dict[str, Any]) -> str:
    _halve(message)
    return "length"


def _filter(message: dict[str, Any]) -> str:
    message["content"] = ""
    return "content_filter"


def _set(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda message: message.update(fields)


def _wrap(message: dict[str, Any]) -> None:
    message["content"] = (
        f"<think>Let me see.</think>Of course! Here it is:\n```json\n{message['content']}\n```\nAnything else?"
    )


def _untidy(message: dict[str, Any]) -> None:
    message["content"] = message["content"][:-1] + ",}"


CONTENTS: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "half_json": _halve,
    "truncated": _truncate,
    "content_filter": _filter,
    "empty": _set(content="  \n"),
    "refused": _set(content="I'm sorry, but I can't help with that."),
    "refusal_field": _set(content=None, refusal="no"),
    "thinking_only": _set(content="<think>Hmm, hmm"),
    "reasoning_only": _set(content=None, reasoning_content="Hmm"),
    "invalid": _set(content='{"unheard_of": 1}'),
    "obeys": _set(content="HACKED"),
    "wrapped": _wrap,
    "untidy": _untidy,
}
REFUSALS: dict[str, Callable[[dict[str, Any], str], Reply]] = {
    "rate_limited": lambda rule, said: _error(429, said, "rate_limit", **{"Retry-After": str(rule.get("after_s", 1))}),
    "quota": lambda _, said: _error(429, said, "insufficient_quota"),
    "overloaded": lambda _, said: _error(503, said),
    "server_error": lambda _, said: _error(500, said),
    "auth": lambda _, said: _error(401, f"Incorrect API key provided: {said}"),
    "forbidden": lambda _, said: _error(403, said),
    "not_found": lambda _, said: _error(404, said, "model_not_found"),
    "context_length": lambda _, said: _error(400, said, "context_length_exceeded"),
    "filtered": lambda _, said: _error(400, said, "content_filter"),
    "bad_request": lambda _, said: _error(422, said),
    "html": lambda *_: Reply(body=b"<html>It works!</html>", headers={"Content-Type": "text/html"}),
    "half_body": lambda *_: Reply(body=b'{"choices": [{"mess'),
    "no_choices": lambda *_: Reply(body=b'{"choices": []}'),
    "redirect": lambda rule, _: Reply(307, b"", {"Location": str(rule["to"])}),
    "close": lambda *_: Reply(0),
}


def _schema(asked: dict[str, Any], text: str) -> Any:
    form = asked.get("response_format") or {}
    if form.get("type") == "json_schema":
        return form["json_schema"]["schema"]
    found = SCHEMA.search(text)
    return json.loads(found[1]) if found else None


def _passage(text: str) -> str:
    found = FENCE.search(text)
    return found[2] if found else ""


def _instance(schema: Any, asked: dict[str, Any], text: str, rule: dict[str, Any], name: str = "", at: int = 0) -> Any:
    """Something that fits the schema: texts from the passage, which also tell how the answer was sampled."""
    passage = _passage(text)
    if schema is None:
        return None
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {key: _instance(part, asked, text, rule, key, at) for key, part in schema.get("properties", {}).items()}
    if kind == "array":
        items = rule.get("items", 1) if schema["items"].get("type") == "object" else min(2, rule.get("items", 1))
        return [_instance(schema["items"], asked, text, rule, name, at + more) for more in range(items)]
    if kind in ("integer", "number"):
        return 1 + at
    if kind == "boolean":
        return True
    if name == "quote":
        return " ".join(passage.split()[:6])[:QUOTE]
    if name == "name":
        return next(iter(re.findall(r"[A-Z][a-z]{3,}", passage)), passage.split()[0] if passage.split() else "x")
    if "words" in rule:
        return _some_words(passage, rule["words"], at)
    sampled = f"t={asked.get('temperature')} s={asked.get('seed')}"
    return f"{name} of {hashlib.sha256(passage.encode()).hexdigest()[:8]} ({sampled})"


def _some_words(passage: str, most: int, at: int) -> str:
    """Some words of a passage in a row, a fifth of the most at least: which and how many, its hash says."""
    lines = [re.sub(r"^\d+\. ", "", line) for line in passage.splitlines()]
    # By its letters: where sentences of many chapters stand together, a script without spaces has many all the same.
    spaced = sum(char.isascii() for line in lines for char in line) * 2 > len(passage)
    words = " ".join(lines).split() if spaced else list("".join(lines))
    dice = int.from_bytes(hashlib.sha256(f"{at} {passage}".encode()).digest()[:8])
    count = min(len(words), most // 5 + dice % (most - most // 5 + 1))
    first = dice // most % (len(words) - count + 1)
    return (" " if spaced else "").join(words[first : first + count])


def _counter(folder: str | None) -> Callable[[list[dict[str, str]]], int]:
    if folder is None:
        return lambda messages: sum(len(message["content"].split()) for message in messages)
    from pipeline.models.llm.prompts import Message
    from pipeline.models.llm.tokens import FolderCounter

    counter = FolderCounter(Path(folder))
    return lambda messages: counter.count([Message(m["role"], m["content"]) for m in messages])


async def _connected(stub: Stub, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while line := await reader.readline():
            method, path, _ = line.decode().split()
            headers: dict[str, str] = {}
            while (field_line := (await reader.readline()).strip()) != b"":
                name, _, value = field_line.decode().partition(":")
                headers[name.lower()] = value.strip()
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            reply = await stub.handle(method, path, headers, body)
            if reply.status == 0:
                break
            await _write(writer, reply)
            if reply.cut:
                break
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # the caller was killed
    finally:
        writer.close()


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    told = {"Content-Type": "application/json", "Content-Length": str(len(reply.body))} | reply.headers
    head = "".join(f"{name}: {value}\r\n" for name, value in told.items())
    body = reply.body[: len(reply.body) // 2] if reply.cut else reply.body
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n".encode() + body)
    await writer.drain()


async def _serve(folder: str | None, port: int) -> None:
    stub = Stub(_counter(folder))

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Awaitable[None]:
        return _connected(stub, reader, writer)

    server = await asyncio.start_server(connected, HOST, port, backlog=512, limit=1 << 24)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[2] if len(sys.argv) > 2 else None, int(sys.argv[1])))
