"""GGUF files in the place of a model: the weights that they hold, and how turns are marked."""

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("gguf")

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from provegym.models import local
from provegym.models.codec import Codec
from provegym.models.optional import NotInstalled
from provegym.models.sizes import find_sizes
from provegym.trace import Json, ToolCall
from provegym.train.recipe import Model, Recipe
from provegym.train.verl.overrides import has_base

HEADS, SHARED, WIDTH, LAYERS = 4, 2, 64, 2
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
PIECES = [
    "\u2581",
    "H",
    "i",
    "e",
    "l",
    "o",
    "ll",
    "He",
    "Hell",
    "Hello",
    "\u2581Hello",
    "<",
    "|",
    ">",
]
SYSTEM, ASK = "Be brief.", "Hello"
TOOLS: list[Json] = [{"type": "function", "function": {"name": "list_rooms", "parameters": {}}}]
CALL: Json = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"type": "function", "function": {"name": "list_rooms", "arguments": '{"city": "Rome"}'}}
    ],
}


@pytest.fixture(scope="module")
def truth() -> LlamaForCausalLM:
    """A model of random weights that 8 bits can hold."""
    from gguf import GGMLQuantizationType, quants

    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=3 + len(BYTES) + len(PIECES),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=SHARED,
        max_position_embeddings=512,
        initializer_range=0.2,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).eval()
    for weights in model.parameters():
        if weights.ndim == 2:
            packed = quants.quantize(weights.detach().numpy(), GGMLQuantizationType.Q8_0)
            whole = quants.dequantize(packed, GGMLQuantizationType.Q8_0)
            weights.data = torch.from_numpy(whole).clone()
    return model


@pytest.fixture
def file(truth: LlamaForCausalLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The model as a GGUF file in 8 bits; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "small.gguf"
    write(path, truth)
    return path


def write(path: Path, model: LlamaForCausalLM) -> None:
    """Write a GGUF file as llama.cpp's converter does."""
    from gguf import GGMLQuantizationType, GGUFWriter, quants

    writer = GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(SHARED)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(model.config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(model.config.vocab_size)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(["<unk>", "<s>", "</s>", *BYTES, *PIECES])
    writer.add_token_scores([0.0] * 259 + [-float(at) for at in range(len(PIECES))])
    writer.add_token_types([2, 3, 3, *[6] * 256, *[1] * len(PIECES)])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    for name, weights in model.state_dict().items():
        values = weights.numpy()
        if ".q_proj" in name or ".k_proj" in name:
            values = _interleaved(values, HEADS if ".q_proj" in name else SHARED)
        if values.ndim == 2:
            packed = quants.quantize(values, GGMLQuantizationType.Q8_0)
            writer.add_tensor(_renamed(name), packed, raw_dtype=GGMLQuantizationType.Q8_0)
        else:
            writer.add_tensor(_renamed(name), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(values: Any, heads: int) -> Any:
    """Rows in llama.cpp's order, which turns neighbouring pairs; transformers turns halves."""
    rows = values.reshape(heads, 2, values.shape[0] // heads // 2, values.shape[1])
    return rows.swapaxes(1, 2).reshape(values.shape).copy()


NAMES = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
    "model.layers": "blk",
    "self_attn.o_proj": "attn_output",
    "self_attn.": "attn_",
    "mlp.": "ffn_",
    "_proj": "",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def _renamed(name: str) -> str:
    for ours, theirs in NAMES.items():
        name = name.replace(ours, theirs)
    return name


def test_the_weights_of_a_file_are_the_model(file: Path, truth: LlamaForCausalLM) -> None:
    model, _ = local.load(file, None, "cpu")
    ids = torch.tensor([[1, *range(40, 80)]])
    with torch.no_grad():
        seen, right = (each(ids).logits.log_softmax(-1) for each in (model, truth))
    assert (seen - right).abs().max() < 0.1  # bfloat16 rounds the weights
    assert seen.std() > 1
    for name, weights in truth.state_dict().items():
        assert torch.equal(model.state_dict()[name], weights.bfloat16().float()), name


def test_a_file_is_read_once_until_it_changes(file: Path, truth: LlamaForCausalLM) -> None:
    folder = Path(local.source(file))
    made = (folder / "config.json").stat().st_mtime_ns
    assert local.source(str(file)) == str(folder)
    assert (folder / "config.json").stat().st_mtime_ns == made
    assert folder.name == "small"
    write(file, truth)
    assert local.source(file) != str(folder)


def test_sizes_of_a_file_are_known(file: Path, truth: LlamaForCausalLM) -> None:
    sizes = find_sizes(str(file))
    assert sizes is not None
    assert sizes.parameters == sum(weights.numel() for weights in truth.parameters())


def test_turns_are_marked_as_in_zephyr_and_end_with_the_models_own_token(file: Path) -> None:
    tokenizer = local.load_tokenizer(file)
    codec = Codec(tokenizer, 2_000)
    context = tokenizer.decode(codec.open(SYSTEM, ASK, TOOLS))
    assert context.startswith(f"<s><|system|>\n{SYSTEM}\n\nTools you can call")
    assert context.endswith(f"</tool_call></s>\n<|user|>\n{ASK}</s>\n<|assistant|>\n")
    assert "<|im_" not in context
    assert codec.end == tokenizer.eos_token_id == 2
    heard = codec.after([{"role": "tool", "content": "[]"}])
    assert tokenizer.decode([2, *heard]) == (
        "</s>\n<|tool|>\n<tool_response>\n[]\n</tool_response></s>\n<|assistant|>\n"
    )
    said = codec.reply(codec.say(CALL))
    assert said.calls == (ToolCall(name="list_rooms", arguments='{"city":"Rome"}'),)


def test_a_reply_has_the_tokens_that_the_whole_conversation_has(file: Path) -> None:
    """This tokenizer adds a space where a text starts, and a reply is not the start of one."""
    tokenizer = local.load_tokenizer(file)
    codec = Codec(tokenizer, 2_000)
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": "Hello"},
    ]
    whole = codec._tokenise(codec._render(messages, reply=False))
    pieces = [*codec.open(SYSTEM, ASK, []), *codec.say(messages[-1])]
    assert pieces == list(whole[: len(pieces)])


def test_a_broken_file_is_said_in_a_sentence(file: Path) -> None:
    part = file.with_name("part.gguf")
    part.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(NotInstalled, match=r"^cannot read the model .*part\.gguf into .* joined"):
        local.load(part, None, "cpu")
    with pytest.raises(NotInstalled, match=r"^cannot read the model .*no\.gguf"):
        local.load_tokenizer(file.with_name("no.gguf"))
    assert find_sizes(str(part)) is None


def test_verl_gets_the_folder_of_a_file() -> None:
    assert has_base(Recipe(model=Model(name="small.gguf")))
    assert not has_base(Recipe(model=Model(name="some/model")))
