"""`octavo models`: the profiles there are, and whether they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from octavo.cli import console, options
from octavo.cli.exits import Exit
from pipeline.errors import OctavoError, UsageError
from pipeline.ops.values import Json
from pipeline.retry import CallError
from pipeline.settings import ModelProfile
from workers.runtime import Runtime

if TYPE_CHECKING:
    from pipeline.models.llm.chat import ChatModel  # prompts and schemas take a while to load

models_app = typer.Typer(help="Model profiles of octavo.toml.", no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="NAME", help="A profile's name.")]


@models_app.command("list")
def show_models(as_json: options.AsJson = False, state: options.State = None) -> None:
    """The profiles, and what each would be known by in keys."""
    with options.runtime(state) as runtime:
        rows = [_row(runtime, name, profile) for name, profile in sorted(runtime.settings.models.items())]
    if as_json:
        console.print_json(rows)
        return
    columns = ("name", "provider", "model", "server", "window", "slots", "identity")
    console.table(columns, [[row[name] for name in columns] for row in rows])
    for row in rows:
        if row["error"]:
            console.note(f"{row['name']}: {row['error']}")


def _row(runtime: Runtime, name: str, profile: ModelProfile) -> dict[str, Json]:
    row: dict[str, Json] = {
        "name": name,
        "provider": profile.provider,
        "model": profile.model,
        "server": profile.base_url,
        "slots": profile.calls_at_once,
        "window": None,
        "identity": None,
        "error": None,
    }
    try:
        model = runtime.model(name)
    except OctavoError as error:
        return row | {"error": error.message}
    window = None if profile.provider == "extractive" else _chat(runtime, name).profile.window
    return row | {"identity": model.identity, "window": window}


@models_app.command("test")
def ask_model(name: Name, as_json: options.AsJson = False, state: options.State = None) -> None:
    """Ask a model one short question, and say how it answered."""
    from workers.models.probe import try_out

    with options.runtime(state) as runtime:
        model = _chat(runtime, name)
        try:
            answer, seconds = try_out(model, runtime.direct("test", name))
        except CallError as error:
            if as_json:
                console.print_json({"name": name, "ok": False, "error": error.code, "says": error.message})
                raise typer.Exit(Exit.ERROR) from error
            raise OctavoError(f"{error.code}: {error.message}", hint=error.hint) from error
    row = {
        "name": name,
        "ok": True,
        "seconds": round(seconds, 3),
        "finish": answer.finish,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "answer": answer.content[:200],
    }
    if as_json:
        console.print_json(row)
    else:
        rate = (answer.tokens_out or 0) / seconds if seconds else 0
        console.note(f"{name} answers in {seconds:.2f} s, {rate:.0f} tokens/s: {answer.content[:200]!r}")


@models_app.command("probe")
def probe_model(name: Name, as_json: options.AsJson = False, state: options.State = None) -> None:
    """Find out what a server does: tokens, JSON, seeds, logprobs, thinking, window; with lines for its profile."""
    from workers.models.openai_engine import OpenAIEngine
    from workers.models.probe import Probe, counted

    with options.runtime(state) as runtime:
        model = _chat(runtime, name)
        if not isinstance(model.engine, OpenAIEngine):
            raise UsageError(
                f"Model {name!r} is in this process: there is no server to probe", hint="octavo models test"
            )
        probe = Probe(model, counted(model, model.engine.raw, runtime.direct("probe", name, console.note)))
        try:
            listed: list[str] = model.engine.models()
        except CallError as error:
            listed = []
            console.note(f"the server lists no models ({error.code})")
        try:
            found = probe.run()
        except CallError as error:
            raise OctavoError(f"{error.code}: {error.message}", hint=error.hint) from error
    if as_json:
        rows = [{"probe": item.name, "says": item.says, "advice": item.advice or None} for item in found]
        console.print_json({"name": name, "models": listed, "calls": probe.calls, "found": rows})
        return
    console.table(("probe", "what it says", "for the profile"), [[i.name, i.says, i.advice] for i in found])
    if listed:
        console.note(f"the server has: {', '.join(listed[:20])}")


def _chat(runtime: Runtime, name: str) -> ChatModel:
    from pipeline.models.llm.chat import ChatModel

    model = runtime.model(name)
    if not isinstance(model, ChatModel):
        raise UsageError(f"Model {name!r} is built in: it always answers")
    return model
