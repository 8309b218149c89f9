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
    if END in (tokenizer.chat_template or "") and END in tokenizer.get_vocab():
        # Transformers takes the token that starts a turn for the end of it in some of these files.
        tokenizer.eos_token = END
        tokenizer.pad_token = PAD if PAD in tokenizer.get_vocab() else END
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
