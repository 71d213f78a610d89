"""Tiny random models of the llama and qwen3 shapes, made on the spot: gibberish out, for plumbing.

Run as `python -m tests.llm.tiny FOLDER SHAPE`: a process of its own, so that nothing that forks later has evaluated.
One token in 32 ends an answer, so that answers are short and have both endings.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SAMPLES = ("the-lamp-at-grey-skerry.txt", "青石渡.txt")
VOCABULARY = 600
ENDS = 32  # one token in so many ends an answer
TEMPLATE = (
    "{%- for message in messages -%}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor -%}"
    "{%- if add_generation_prompt -%}<|im_start|>assistant\n"
    "{%- if enable_thinking is defined and not enable_thinking -%}<think>\n\n</think>\n\n{%- endif -%}{%- endif -%}"
)
SHAPE = {
    "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096,
    "rope_theta": 10000.0, "tie_word_embeddings": False,
}  # fmt: skip


def tiny(folder: Path, shape: str) -> Path:
    """A model folder of that shape, made in a process of its own."""
    subprocess.run([sys.executable, "-m", "tests.llm.tiny", folder, shape], cwd=ROOT, check=True, timeout=120)
    return folder


def tokenizer_folder(folder: Path) -> Path:
    """The tokenizer and chat template of the tiny models, without weights."""
    folder.mkdir(parents=True, exist_ok=True)
    _tokenizer(folder)
    return folder


def _tokenizer(folder: Path) -> int:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[AddedToken(token, special=True) for token in special],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    made.train([str(ROOT / "samples" / name) for name in SAMPLES], trainer)
    made.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>",
        "chat_template": TEMPLATE, "model_max_length": 4096,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return int(made.get_vocab_size())


def _make(folder: Path, shape: str) -> None:
    import importlib

    import mlx.core as mx
    from mlx.utils import tree_flatten

    folder.mkdir(parents=True, exist_ok=True)
    size = _tokenizer(folder)
    config = SHAPE | {"model_type": shape, "vocab_size": size, "eos_token_id": list(range(2, size, ENDS))}
    (folder / "config.json").write_text(json.dumps(config))
    module = importlib.import_module(f"mlx_lm.models.{shape}")
    model = module.Model(module.ModelArgs.from_dict(config))
    mx.random.seed(11)
    weights = {name: mx.random.normal(value.shape) * 0.1 for name, value in tree_flatten(model.parameters())}
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})


if __name__ == "__main__":
    _make(Path(sys.argv[1]), sys.argv[2])
