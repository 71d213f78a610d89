"""Makes the model of a profile."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipeline import canonical, settings
from pipeline.errors import SettingsError
from pipeline.models.llm.chat import ChatModel, ChatProfile
from pipeline.models.llm.engine import Engine
from pipeline.models.llm.tokens import ChatCounter, EstimatedCounter, FolderCounter
from pipeline.models.protocol import Model
from pipeline.settings import ModelProfile
from workers.models import folder as folders

USUAL_WINDOW = 8192


class MissingExtraError(SettingsError):
    """A package that this provider needs is not installed."""


def make_model(name: str, profile: ModelProfile, state: Path) -> Model:
    """The model of a profile, ready for calls; nothing is connected or loaded yet. Raises SettingsError."""
    if profile.provider == "extractive":
        from pipeline.models.builtin import ExtractiveModel  # its word statistics take a while to load
        from workers.offload import OffloadedModel

        return OffloadedModel(ExtractiveModel(profile.calls_at_once))
    return _openai(name, profile) if profile.provider == "openai" else _mlx(name, profile, state)


def _openai(name: str, profile: ModelProfile) -> ChatModel:
    _need("openai", name, "openai")
    from workers.models.openai_engine import OpenAIEngine

    engine = OpenAIEngine(profile, settings.api_key(name, profile))
    window = profile.context_window or USUAL_WINDOW
    return _chat(name, profile, identity_of(profile), engine, counter_of(name, profile), window)


def identity_of(profile: ModelProfile) -> str:
    """What stands in keys for a server's model: provider, model and host, or what the profile pins; and what is sent
    beside every prompt, since it changes answers."""
    address = urlsplit(profile.base_url or "")
    port = f":{address.port}" if address.port else ""
    told = profile.identity or f"openai/{profile.model}@{address.hostname}{port}"
    return f"{told}+{canonical.digest(profile.extra_body).hex()[:16]}" if profile.extra_body else told


def _mlx(name: str, profile: ModelProfile, state: Path) -> ChatModel:
    _need("mlx_lm", name, "mlx")
    from workers.models.mlx_engine import MlxEngine

    folder = folders.find_model(profile.model or "", f"Model {name!r}")
    if isinstance(profile.thinking, str):
        raise SettingsError(f"Model {name!r}: thinking is true or false for a model in process")
    counter = FolderCounter(folder, profile.thinking)
    adapters = profile.adapters
    sources = [folder, *([adapters] if adapters else [])]
    identity = profile.identity or f"mlx/{folders.fingerprint(sources, state / folders.CACHE)}"
    engine = MlxEngine(folder, counter, adapters=adapters, batch=profile.calls_at_once)
    return _chat(name, profile, identity, engine, counter, profile.context_window or _window(folder))


def _chat(
    name: str, profile: ModelProfile, identity: str, engine: Engine, counter: ChatCounter, window: int
) -> ChatModel:
    if profile.output_reserve >= window:
        raise SettingsError(
            f"Model {name!r}: output_reserve {profile.output_reserve} leaves nothing of the window of {window}",
            hint="set context_window to what the model has, or output_reserve lower",
        )
    chat = ChatProfile(
        window=window,
        output_reserve=profile.output_reserve,
        sampling=profile.sampling.sent(),
        thinking=profile.thinking,
        json_mode=profile.json_mode if profile.provider == "openai" else "prompt",
        system_role=profile.system_role,
        input_price=profile.input_price,
        output_price=profile.output_price,
        timeout_s=profile.timeout_s,
    )
    return ChatModel(
        name=name, identity=identity, slots=profile.calls_at_once, engine=engine, counter=counter, profile=chat
    )


def counter_of(name: str, profile: ModelProfile) -> ChatCounter:
    """What counts for a server's model: its own tokenizer and template where the profile names their folder."""
    from pipeline.split.tokenizer import load_counter

    if profile.tokenizer is None:
        return EstimatedCounter(load_counter(None), profile.token_factor)
    path = Path(profile.tokenizer).expanduser()
    if path.is_dir():
        thinking = profile.thinking if isinstance(profile.thinking, bool) else None
        return FolderCounter(path, thinking)
    if not path.is_file():
        raise SettingsError(
            f"Model {name!r}: there is no tokenizer {profile.tokenizer!r}",
            hint="name the folder of the model (tokenizer.json, tokenizer_config.json), or a tokenizer.json",
        )
    return EstimatedCounter(load_counter(path), profile.token_factor)


def _window(folder: Path) -> int:
    """The window that a model's config tells."""
    try:
        config: dict[str, Any] = canonical.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError) as error:
        raise SettingsError(f"{folder} has no usable config.json: it is no model folder") from error
    return int(config.get("max_position_embeddings") or USUAL_WINDOW)


def _need(module: str, name: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise MissingExtraError(
            f"Model {name!r} needs the package {module}, which is not installed", hint=f"pip install 'octavo[{extra}]'"
        )
