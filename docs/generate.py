"""Write the parts of the documentation that are made from the code: docs/cli.md, and the tables in docs/guide.md.

Run by `make docs`; a test fails while what is written differs from what the code says.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from typer.main import get_command

from octavo.cli.exits import Exit
from octavo.cli.later import Later
from octavo.cli.main import app
from octavo.web.app import described
from pipeline.models.errors import POLICIES, TABLE
from pipeline.settings import PREFIX, ModelProfile, RetentionSpec, Settings
from pipeline.spec import GrainSpec, NeighboursSpec, SamplingSpec, StepSpec

DOCS = Path(__file__).resolve().parent

INTRODUCTION = """Results go to stdout, progress and errors to stderr. With `--json` nothing but JSON goes to stdout
([its shapes](outputs.md)). Progress is bars on a terminal and plain lines elsewhere; `NO_COLOR` is honoured.
Errors are lines that begin with `error:`, `cause:` and `hint:`; `octavo --debug COMMAND` shows where one came from.
"""
API_HEAD = """# The HTTP API

Made from [openapi.json](openapi.json) by docs/generate.py; a running server shows the same at `/docs`.

Show a token with every request: `Authorization: Bearer oct_…` (`octavo token add NAME --scope read`, `run` or `admin`;
each may what those before it may). Lists give `items` and `next_cursor`; send it back as `cursor` for the next part,
with the same filters. `limit` is 50, at most 500. A parameter that is given twice means either value, different ones
mean both, an unknown one is refused (422). What spends needs an `Idempotency-Key`: the same again is done once, another
request under it is 422. Errors are problem details (RFC 9457) with `detail` and often `hint`; 429 and 503 say
`Retry-After`. Money is in millionths of the profile's currency. What is there is only added to."""
EXITS = {
    Exit.OK: "done",
    Exit.ERROR: "an error: it is told on stderr in lines that begin with `error:`, `cause:` and `hint:`",
    Exit.USAGE: "a wrong option, setting, pipeline, op or model",
    Exit.HOLES: "finished, but some chunks failed; the output names them",
    Exit.CAPPED: "stopped at `--max-cost`, `--max-tokens` or `--max-calls`; `octavo resume` with a higher one goes on",
    Exit.NOT_FOUND: "no such job, document or chunk",
    Exit.INTERRUPTED: "stopped by Ctrl-C or SIGTERM: what was committed is kept, and the command to go on was printed",
}
SETTINGS = {
    "state": "Folder that holds the state. `--state` goes before it.",
    "database_url": "A database elsewhere; without it, the SQLite file `octavo.db` in the state folder.",
    "redis_url": "The broker of `octavo worker`; embedded runs need none.",
    "model": "Profile of the model that answers the built-in ops. `--model` goes before it.",
    "tokenizer": "A `tokenizer.json`, or `characters`; without it, the built-in one. `--tokenizer` goes before it.",
    "lease_s": "Seconds after which a task whose process says nothing more is given to another.",
    "reconcile_s": "Seconds between looks for what dead processes held.",
    "op_slots": "Calls in flight at once of ops that ask no model.",
    "window_per_slot": "Tasks taken ahead for each slot.",
    "ops": "Modules with ops of your own, separated by commas in the variable. `--ops` goes before it.",
    "web_token": "A token with all rights on `octavo web`, for supervisors; people use `octavo token`.",
    "flower_url": "Where a browser finds Flower: the page of workers links to it. `octavo up` sets it.",
    "upload_mb": "Megabytes that a book may have which comes in by HTTP.",
    "log_format": "How workers and `octavo web` write their logs: lines for people, or JSON.",
    "log_level": "What they write at least.",
    "debug": "Show tracebacks with errors, as `octavo --debug` does.",
    "failpoint": "For tests only: where the process is to die.",
    "retention": "What `octavo gc` keeps, in `octavo.toml` only: a table `[retention]`.",
    "limits": "What providers allow, by name, in `octavo.toml` only: `[limits.NAME]` with `concurrency`, "
    "`requests_per_minute`, `tokens_per_minute`. A step names its limits; all workers share them.",
    "models": "Model profiles, one table `[models.NAME]` each; in the file only.",
}
PROFILE = {
    "provider": "`extractive` is built in, `mlx` runs a model in this process, `openai` asks a server.",
    "slots": "Calls in flight at once; for `mlx` the size of a batch. Without it the cores, or 8.",
    "model": "The name that the server knows, or for `mlx` a model's folder or its name on the hub.",
    "base_url": "Where the server is, with its `/v1`. No redirect is followed.",
    "api_key_env": "The variable that holds the key, here and wherever a worker runs.",
    "api_key_keyring": "`SERVICE/USER` in the system's keyring, instead (`octavo[keyring]`).",
    "identity": "What stands in keys instead of provider, model and host, or of a folder's fingerprint: pin it when "
    "another server gives the same answers.",
    "tokenizer": "The model's folder (tokenizer and chat template: exact counts), or a `tokenizer.json` (estimates).",
    "token_factor": "The server's tokens for one of ours, where counts are estimates.",
    "context_window": "Tokens of input and output together. Without it the model's config says, or 8192.",
    "output_reserve": "Tokens of the window kept for the answer: `max_tokens`.",
    "input_price": "Price of a million tokens read.",
    "output_price": "Price of a million tokens written.",
    "currency": "Of the prices.",
    "limits": "A table as `[limits.NAME]` has them, for this profile, or the NAME of one that several share.",
    "timeout_s": "Seconds that one call may take; a step's `timeout_s` goes before it where it is less.",
    "connect_timeout_s": "Seconds to reach the server.",
    "thinking": "Whether the model thinks before it answers (its template's `enable_thinking`), or how hard "
    "(`reasoning_effort`). Without it the model's own way.",
    "json_mode": "How JSON is asked for: `schema` and `object` where the server has such a response format, else the "
    "schema in the `prompt`.",
    "max_tokens_field": "What the server calls it.",
    "system_role": "false for a model whose template takes no system message.",
    "sampling": "A table of the fields below.",
    "extra_body": "What else the server is sent with each request.",
    "ca_file": "Certificates of a private authority. TLS is always verified.",
    "adapters": "A folder of LoRA adapters.",
}
SAMPLING = {
    "temperature": "0 takes the likeliest word each time.",
    "top_p": "Only words that together have this probability.",
    "top_k": "Only so many words.",
    "min_p": "Only words of at least this part of the likeliest one's probability.",
    "repetition_penalty": "Above 1, words just said are less likely.",
    "presence_penalty": "The same, added.",
    "frequency_penalty": "The same, for each time.",
    "seed": "The same seed gives the same answer, where the server keeps to it.",
    "stop": "Words that end the answer.",
    "max_tokens": "Tokens of the answer at most, instead of the profile's `output_reserve`.",
}
RETENTION = {
    "results": "`keep`: those that nothing reaches any more stay too, so that going back to an old prompt is free. "
    "`reachable`: they go.",
    "results_days": "Results that nothing reaches and that were not used for so many days go.",
    "results_bytes": "While all results together are larger, those that nothing reaches go, the longest unused first.",
    "jobs": "Ended jobs of each pipeline that are kept with their tasks, newest first; what a view serves stays too.",
    "jobs_days": "Jobs that ended within so many days are kept too.",
    "revisions": "Revisions of each document that are kept, newest first; those of kept jobs stay too.",
    "refreshes": "Refreshes of a view whose former results stay reachable.",
    "calls_days": "What calls outside jobs used (questions, tests, probes) is in `octavo usage` for so many days.",
}
GRAIN = {
    "name": "What the grain is called.",
    "limit": "Tokens in a chunk at most. `--limit` goes before it.",
    "overlap": "Tokens of the text before that are shown with a chunk, to language models and to ops of your own that "
    "take a `context`; in no chunk's core. `--overlap` goes before it.",
    "heading_level": "Headings down to this level always start a chunk; chapters always do.",
}
STEP = {
    "name": "What the step is called; later steps name it in `after`.",
    "kind": "`map` takes a chunk, `merge` gathers items by key, `fold` joins outputs up the sections.",
    "op": "The op that does it.",
    "after": "The map step whose outputs it takes. Without it a map takes chunks, and a reduce the step before.",
    "model": "The model profile for this step; without it the run's.",
    "params": "The op's parameters; those not named keep the op's defaults.",
    "skip": "Kinds of section whose chunks are left out.",
    "attempts": "Tries of one task before it is a hole.",
    "timeout_s": "Seconds that one call may take.",
    "limits": "The `[limits.NAME]` of `octavo.toml` that hold its calls; without it those of its model's name.",
    "on_hole": "What a reduce does when chunks failed: go on and name them, wait for `octavo retry`, or fail.",
    "on_overlong": "An input that does not fit the model's window is a hole, is split into parts whose outputs are "
    "joined, or fails the job.",
    "prompt": "For op `prompt`: a Jinja template with `{{ text }}` where the chunk is to stand.",
    "json_schema": "For op `prompt`: the JSON schema of the answer; without it the answer is text.",
    "sampling": "How the model chooses its words ([fields](models.md#sampling)); goes before the profile's.",
    "neighbours": "What is shown of a chunk's neighbourhood; see below.",
    "entities": "A glossary's merge step above: the entities it chose are shown with the chunks that mention them.",
    "entities_most": "How many entities are chosen.",
}


NEIGHBOURS = {
    "heading": "The titles that lead to the chunk's section.",
    "before": "Characters of the end of the chunk before.",
    "after": "Characters of the beginning of the next chunk.",
    "summary": "A fold step above: what it made of the section that the chunk belongs to.",
}


class DocsError(Exception):
    """What is described here and what the code has are not the same."""


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, those of groups too."""

    def below(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        for word, known in getattr(command, "commands", {}).items():
            inner = known.load() if isinstance(known, Later) else known
            yield f"{name} {word}", inner
            yield from below(f"{name} {word}", inner)

    yield from below("octavo", get_command(app))


def help_of(name: str, command: Any) -> str:
    """A command's help, as `--help` prints it on 80 columns."""
    with mock.patch.dict(os.environ, {"COLUMNS": "80", "NO_COLOR": "1"}):
        context = command.context_class(command, info_name=name)
        text: str = command.get_help(context)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip()


def cli() -> str:
    """The text of docs/cli.md."""
    parts = [
        "# The command line\n",
        "<!-- Made by `make docs`. Change the code, or docs/generate.py. -->\n",
        INTRODUCTION,
        "## Exit codes\n",
        "| code | meaning |\n|---|---|",
        *(f"| {code.value} | {meaning} |" for code, meaning in EXITS.items()),
        "",
        f"## octavo\n\n```text\n{help_of('octavo', get_command(app))}\n```\n",
    ]
    parts += [f"## {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in commands()]
    return "\n".join(parts)


def table(model: type[Any], meanings: dict[str, str], *, variables: bool = False) -> str:
    """The fields of a settings or pipeline table: name, what may stand there, default, meaning."""
    fields = model.model_fields
    if list(meanings) != list(fields):
        raise DocsError(f"{model.__name__} has the fields {list(fields)}, docs/generate.py has {list(meanings)}")
    schema = model.model_json_schema()
    head = ["field", *(["variable"] if variables else []), "value", "default", "meaning"]
    rows = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for name, meaning in meanings.items():
        variable = "" if name in ("models", "retention") else f"`{PREFIX}{name.upper()}`"
        cells = [
            f"`{name}`",
            *([variable] if variables else []),
            _values(schema["properties"][name], schema),
            _default(schema, name),
        ]
        rows.append(f"| {' | '.join([*cells, meaning])} |")
    return "\n".join(rows)


def _default(schema: dict[str, Any], name: str) -> str:
    if name in schema.get("required", []):
        return "needed"
    default = schema["properties"][name].get("default")
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default in (None, [], {}) or isinstance(default, dict) else f"`{default}`"


def _values(field: dict[str, Any], schema: dict[str, Any]) -> str:
    """What may stand in a field, in words."""
    if "$ref" in field:
        return _values(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        return " or ".join(_values(item, schema) for item in field["anyOf"] if item.get("type") != "null")
    if "enum" in field or "const" in field:
        return ", ".join(f"`{value}`" for value in field.get("enum", [field.get("const")]))
    kind = {"integer": "whole number", "boolean": "true or false", "object": "table"}.get(field["type"], field["type"])
    if kind == "array":
        return f"list of {_values(field['items'], schema)}" if field.get("items") else "list"
    bounds = [(">= ", "minimum"), ("> ", "exclusiveMinimum"), ("<= ", "maximum")]
    limits = [f"{sign}{field[name]}" for sign, name in bounds if name in field]
    return f"{kind} {', '.join(limits)}".strip()


def guide() -> str:
    """The text of docs/guide.md with its tables renewed."""
    made = {
        "settings": table(Settings, SETTINGS, variables=True),
        "retention": table(RetentionSpec, RETENTION),
        "grain": table(GrainSpec, GRAIN),
        "step": table(StepSpec, STEP),
        "neighbours": table(NeighboursSpec, NEIGHBOURS),
    }
    return renewed("guide.md", made)


def models() -> str:
    """The text of docs/models.md with its tables renewed."""
    made = {"profile": table(ModelProfile, PROFILE), "sampling": table(SamplingSpec, SAMPLING), "errors": errors()}
    return renewed("models.md", made)


def errors() -> str:
    """The named errors of calls and what is done about each."""
    rows = ["| error | meaning | tried again | wait | counts against |", "|---|---|---|---|---|"]
    for code, named in TABLE.items():
        policy = POLICIES[named.kind]
        rows.append(f"| `{code}` | {named.meaning} | {policy.again} | {policy.wait} | {policy.counts} |")
    return "\n".join(rows)


def renewed(page: str, tables: dict[str, str]) -> str:
    """The text of a page, each table between its marks replaced."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name, made in tables.items():
        pattern = re.compile(rf"<!-- made: {name} -->\n.*?<!-- end -->", re.DOTALL)
        if not pattern.search(text):
            raise DocsError(f"docs/{page} has no place for the table {name!r}")
        before, after = pattern.split(text)[0], pattern.split(text)[-1]
        text = f"{before}<!-- made: {name} -->\n{made}\n<!-- end -->{after}"
    return text


def api() -> str:
    """The text of docs/openapi.json: the API's description, as the server gives it."""
    return json.dumps(described(), indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """The text of docs/api.md: the API, action by action, and the shapes it takes and gives."""
    made = described()
    parts = [API_HEAD]
    by_tag: dict[str, list[str]] = {}
    for path, methods in made["paths"].items():
        for method, action in methods.items():
            by_tag.setdefault(action["tags"][0], []).append(_action(method.upper(), path, action))
    for tag, actions in by_tag.items():
        parts += [f"## {tag.capitalize()}", *actions]
    parts += ["## Shapes", *(_shape(name, shape) for name, shape in sorted(made["components"]["schemas"].items()))]
    return "\n\n".join(parts) + "\n"


def _action(method: str, path: str, action: dict[str, Any]) -> str:
    lines = [f"### `{method} {path}`", "", action.get("description", "").strip()]
    rows = [
        f"| `{item['name']}` | {item['in']}{', needed' if item.get('required') else ''} | "
        f"{_kind(item.get('schema', {}))} | {item.get('description', '')} |"
        for item in action.get("parameters", ())
    ]
    if rows:
        lines += ["", "| parameter | in | value | meaning |", "|---|---|---|---|", *rows]
    body = action.get("requestBody", {}).get("content", {})
    takes = [_kind(item.get("schema", {})) for item in body.values()]
    gives = [
        f"{status} {' '.join(_kind(item.get('schema', {})) for item in answer.get('content', {}).values())}".strip()
        for status, answer in action["responses"].items()
        if status[0] == "2"
    ]
    lines += ["", f"{'Takes ' + ', '.join(takes) + '. ' if takes else ''}Gives {', '.join(gives)}."]
    return "\n".join(lines)


def _kind(schema: dict[str, Any]) -> str:
    """What a value may be, in words, with links to shapes."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower().replace('_', '_')})"
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(item) for item in schema["anyOf"] if item.get("type") != "null"))
    if "allOf" in schema:
        return _kind(schema["allOf"][0])
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    known = {"integer": "whole number", "boolean": "true or false", "object": "object", "string": "text"}
    return known.get(str(schema.get("type")), str(schema.get("type") or "any")) + (
        f" ({schema['format']})" if schema.get("format") in ("uuid", "date-time", "date") else ""
    )


def _shape(name: str, shape: dict[str, Any]) -> str:
    rows = [
        f"| `{field}` | {_kind(inner)} | {inner.get('description', '')} |"
        for field, inner in shape.get("properties", {}).items()
    ]
    said = shape.get("description", "").strip()
    return "\n".join([f"### {name}", "", said, "", "| field | value | meaning |", "|---|---|---|", *rows])


PAGES = {"api.md": reference, "cli.md": cli, "guide.md": guide, "models.md": models, "openapi.json": api}

if __name__ == "__main__":
    for name, made in PAGES.items():
        (DOCS / name).write_text(made(), encoding="utf-8")
