"""Reads a GGUF file, the format of llama.cpp, into a folder that transformers, TRL and vLLM load.

Quantised weights become bfloat16. The folder is written into the user's cache on first use.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from provegym.files import cache_folder
from provegym.models.optional import need

# The tokens of ChatML that end a turn and that fill a batch.
END, PAD = "<|im_end|>", "<|endoftext|>"
# What a configuration says of the file that it was read from.
OF_THE_FILE = {"quantization_config", "_pre_quantization_dtype", "_model_name_or_path"}


def written(folder: Path, write: Callable[[Path], None]) -> Path:
    """A model's folder in the cache. If it is not there, `write` fills it; it appears whole."""
    if not (folder / "config.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as scratch:
            fresh = Path(scratch) / folder.name
            fresh.mkdir()
            write(fresh)
            with suppress(OSError):  # another process was faster
                fresh.rename(folder)
    return folder


def unpacked(file: Path) -> Path:
    """The folder of the model in a GGUF file. A file that was changed gets a new folder."""
    found = file.resolve().stat()
    told = f"{file.resolve()} {found.st_size} {found.st_mtime_ns}"
    mark = sha256(told.encode()).hexdigest()[:16]
    return written(cache_folder() / "gguf" / mark / file.stem, lambda to: convert(file, to))


def convert(file: Path, folder: Path) -> None:
    """Write the weights of a GGUF file as bfloat16, and its tokenizer."""
    torch, transformers = need("torch"), need("transformers")
    need("gguf")
    gguf = {"pretrained_model_name_or_path": file.parent, "gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(**gguf)
    _mark_ends(tokenizer, file)
    with _quiet():
        auto = transformers.AutoModelForCausalLM
        read = auto.from_pretrained(**gguf, dtype=torch.bfloat16)
    # A model read from GGUF cannot be saved, so a new model takes its weights.
    settings = read.config.to_dict()
    kept = {name: value for name, value in settings.items() if name not in OF_THE_FILE}
    with torch.device("meta"):
        model = auto.from_config(type(read.config)(**kept), dtype=torch.bfloat16)
    model.load_state_dict(read.state_dict(), assign=True)
    model.tie_weights()
    for config in (model.config, model.generation_config):
        config.eos_token_id = tokenizer.eos_token_id
        config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _mark_ends(tokenizer: Any, file: Path) -> None:
    """Set the tokens that start and end a text or a turn, and that fill a batch.

    They are read from the file, because transformers 5.17 takes the first for the last.
    """
    fields = need("gguf").GGUFReader(file).fields
    start, end = (fields.get(f"tokenizer.ggml.{which}_token_id") for which in ("bos", "eos"))
    if start:
        tokenizer.bos_token = tokenizer.convert_ids_to_tokens(int(start.contents()))
    if end:
        tokenizer.eos_token = tokenizer.convert_ids_to_tokens(int(end.contents()))
    known = tokenizer.get_vocab()
    if END in known and END in (tokenizer.chat_template or ""):
        tokenizer.eos_token = END
    tokenizer.pad_token = PAD if PAD in known else tokenizer.eos_token


@contextmanager
def _quiet() -> Iterator[None]:
    """Without a warning of transformers that weights in 16 bits are slow as long as quantised."""
    logging: Any = need("transformers").utils.logging
    level = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
