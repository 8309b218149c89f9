"""The launcher for verl: writes data, agent file and model to the run's folder, starts verl."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import msgspec
from msgspec.structs import asdict
from rich.progress import Progress

from provegym.corpus.exports import write_rows
from provegym.files import locked, write_atomically
from provegym.models.codec import Codec
from provegym.models.local import load, load_tokenizer
from provegym.train.data import load as load_examples
from provegym.train.recipe import Recipe
from provegym.train.run import TrainError
from provegym.train.saving import model_folder
from provegym.train.start import adapter
from provegym.train.trl import choose
from provegym.train.verl.overrides import MODEL, RunFiles, has_base, overrides

MAIN = ("-m", "verl.trainer.main_ppo")
SPOKEN = "0.9."
TOO_NEW = (5, 11)
# TRL 1.13 removed a class that verl imports if there is a TRL.
TRL_TOO_NEW = (1, 13)
# Packages that verl imports when it trains, but does not declare as dependencies.
NEEDED = {"vllm": "vllm", "transfer_queue": "TransferQueue"}
# verl packs sequences into one row. Only flash-attn reads such a row without a mask of all pairs.
WITHOUT_FLASH = (
    f"+{MODEL}.override_config.attn_implementation=sdpa",
    f"{MODEL}.use_remove_padding=false",
)


def command(recipe: Recipe, place: RunFiles) -> list[str]:
    """The command line that starts verl, after the Python executable."""
    attention = () if find_spec("flash_attn") else WITHOUT_FLASH
    return [*MAIN, *overrides(recipe, place), *attention]


def start(recipe: Recipe, place: RunFiles, toml: str, bar: Progress) -> None:
    """Train with verl as a recipe says, or resume the run."""
    line = command(recipe, place)
    check_installed()
    with locked(place.folder):
        if not (place.resume and place.agent.exists()):  # it is written last
            prepare(recipe, place, toml, bar)
        logs = {"TENSORBOARD_DIR": str(place.folder / "tensorboard")}
        ended = subprocess.run([sys.executable, *line], env={**os.environ, **logs}, check=False)
    if ended.returncode:
        raise TrainError(f"verl stopped with status {ended.returncode}; see its output above")


def check_installed() -> None:
    """Check before any work that verl and its packages are installed in supported versions."""
    try:
        found = version("verl")
    except PackageNotFoundError:
        raise TrainError(
            "verl is not installed: pip install 'verl[vllm,fsdp]==0.9.1', in an environment of its"
            " own with Python 3.12 or older"
        ) from None
    if not found.startswith(SPOKEN):
        raise TrainError(f"verl {found} is not supported, only {SPOKEN}x: pip install verl==0.9.1")
    held = version("transformers")
    if _numbers(held) >= TOO_NEW:
        raise TrainError(
            f"transformers {held} is too new for verl {found}: pip install 'transformers<5.11'"
        )
    for module, package in NEEDED.items():
        if find_spec(module) is None:
            raise TrainError(f"{module} is missing, which verl needs: pip install {package}")
    if find_spec("trl") and _numbers(version("trl")) >= TRL_TOO_NEW:
        raise TrainError(
            f"trl {version('trl')} is too new for verl {found}, which needs none: pip uninstall trl"
        )


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    return tuple(map(int, version.split(".")[:2]))


def prepare(recipe: Recipe, place: RunFiles, toml: str, bar: Progress) -> None:
    """Write the files that verl reads: examples, the agent file and, if needed, the model."""
    if place.agent.exists():
        raise TrainError(
            f"{place.folder} holds a run; continue it with --resume, or name another --out"
        )
    place.folder.mkdir(parents=True, exist_ok=True)
    if has_base(recipe):
        save_base(recipe, place)
    tokenizer = load_tokenizer(place.base if has_base(recipe) else recipe.model.name)
    with bar:
        examples = load_examples(recipe.data, place.folder / "corpus", bar)
    by_id = {example.id: example for example in examples}
    ids = choose(recipe, Codec(tokenizer, recipe.limits.prompt), by_id)
    for _ in write_rows((by_id[each] for each in ids), place.data, "verl"):
        pass
    write_atomically(place.folder / "recipe.toml", toml)
    write_atomically(place.agent, agent_file(recipe))


def agent_file(recipe: Recipe) -> bytes:
    """The agent file: our loop with a recipe's limits and reward, as JSON (valid YAML)."""
    loop = {
        "name": "provegym",
        "_target_": "provegym.train.verl.agent_loop.Loop",
        "limits": asdict(recipe.limits),
        "reward": recipe.reward,
    }
    return msgspec.json.format(msgspec.json.encode([loop])) + b"\n"


def save_base(recipe: Recipe, place: RunFiles) -> None:
    """Write the base model to a folder, with its adapter merged, if it has one."""
    held = adapter(recipe.model)
    model, tokenizer = load(recipe.model.name, held, "cpu")
    if held:
        model = model.merge_and_unload()
    with model_folder(place.base) as part:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
