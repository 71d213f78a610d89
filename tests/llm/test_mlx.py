"""mlx-lm in process, with tiny random models: plumbing, determinism, batch = single, forks and threads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import SettingsError
from pipeline.models.llm.prompts import Message
from pipeline.models.llm.tokens import FolderCounter
from pipeline.settings import ModelProfile
from tests.acceptance.command import OCTAVO
from tests.llm.speak import MOST
from tests.llm.tiny import ROOT
from workers.models.folder import CACHE, fingerprint
from workers.models.make import make_model

CHAT = [Message("system", "You are terse."), Message("user", "Tell of 青石渡, <|im_end|> and of lamps.")]


def speak(folder: Path, way: str) -> list[dict[str, Any]]:
    """What a model says, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.llm.speak", folder, way], cwd=ROOT, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_the_same_request_has_the_same_answer_in_every_process_alone_and_in_a_batch(tiny_model: Path) -> None:
    first = speak(tiny_model, "single")
    assert speak(tiny_model, "together") == first
    assert {answer["finish"] for answer in first} == {"stop", "length"}
    for at, answer in enumerate(first):
        assert answer["tokens_in"] > 10
        assert (answer["tokens_out"] == MOST[at % len(MOST)]) == (answer["finish"] == "length")
    texts = [answer["content"] for answer in first]
    assert len(set(texts)) > 5  # seeds and temperatures are told apart


def test_a_process_that_forks_before_its_first_request_has_children_that_answer(tiny_llama: Path) -> None:
    assert speak(tiny_llama, "fork") == speak(tiny_llama, "single")[:4]


def test_tokens_are_those_of_the_models_own_library(tiny_llama: Path) -> None:
    code = (
        "import json, sys\nfrom transformers import AutoTokenizer\n"
        "made = AutoTokenizer.from_pretrained(sys.argv[1])\nasked = json.loads(sys.argv[2])\n"
        "print(json.dumps([made.apply_chat_template(asked['chat'], add_generation_prompt=True, tokenize=True,"
        " return_dict=False, **more) for more in asked['more']]))"
    )
    plain = [Message(message.role, message.content.replace("<|im_end|>", "")) for message in CHAT]
    ways: dict[bool | None, dict[str, bool]] = {
        None: {},
        True: {"enable_thinking": True},
        False: {"enable_thinking": False},
    }
    chat = [{"role": message.role, "content": message.content} for message in plain]
    asked = json.dumps({"chat": chat, "more": list(ways.values())})
    done = subprocess.run([sys.executable, "-c", code, tiny_llama, asked], capture_output=True, timeout=120, check=True)
    assert [FolderCounter(tiny_llama, thinking).encode(plain) for thinking in ways] == json.loads(done.stdout)


def test_a_turn_in_a_books_text_is_no_turn(tiny_llama: Path) -> None:
    counter = FolderCounter(tiny_llama)
    end = counter.encode([Message("user", "x")]).count(2)
    assert counter.encode([Message("user", "x <|im_end|> y")]).count(2) == end


def test_the_identity_of_a_folder_is_its_bytes(tiny_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_llama, folder)
    cache = tmp_path / CACHE
    first = fingerprint([folder], cache)
    assert fingerprint([tiny_llama], tmp_path / "other") == first == fingerprint([folder], cache)
    changed = {first}
    for name in ("model.safetensors", "tokenizer_config.json", "config.json", "tokenizer.json"):
        path = folder / name
        path.write_bytes(path.read_bytes() + b" ")
        changed.add(fingerprint([folder], cache))
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    changed.add(fingerprint([folder], cache))
    adapters = tmp_path / "adapters"
    adapters.mkdir()
    (adapters / "adapters.safetensors").write_bytes(b"1")
    changed.add(fingerprint([folder, adapters], cache))
    assert len(changed) == 7


def test_a_model_that_can_not_be_loaded_stops_the_job(tiny_llama: Path, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(tiny_llama, folder)
    (folder / "model.safetensors").unlink()
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.llm import speak\nfrom pipeline.retry import CallError\n"
        "try:\n    speak.single(speak.engine(Path(sys.argv[1])), 1)\n"
        "except CallError as error:\n    print(error.code, error.kind)"
    )
    done = subprocess.run([sys.executable, "-c", code, folder], cwd=ROOT, capture_output=True, timeout=120, check=True)
    assert done.stdout.decode().split() == ["model_settings", "stop"]


def test_a_model_that_is_not_there_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    profile = ModelProfile(provider="mlx", model=str(tmp_path / "nowhere"))
    with pytest.raises(SettingsError, match="no model folder"):
        make_model("m", profile, tmp_path)


def test_a_name_on_the_hub_that_can_not_be_fetched_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "octavo.toml").write_text('[models.far]\nprovider = "mlx"\nmodel = "nobody/nothing-of-the-kind"\n')
    done = subprocess.run(
        [OCTAVO, "models", "test", "far"],
        cwd=tmp_path,
        env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "OCTAVO_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error: "))
    assert "'nobody/nothing-of-the-kind' is in no folder here and could not be fetched" in line
