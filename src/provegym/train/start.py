"""The entry point of training: checks a recipe, loads data and model, trains, saves the adapter."""

import sys
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict
from rich.progress import Progress

from provegym.files import locked
from provegym.models.local import adapter_place, load
from provegym.models.optional import need
from provegym.models.sizes import find_sizes
from provegym.terminal import say
from provegym.train import sft, trl
from provegym.train.cost import assume, estimate, find_card
from provegym.train.cost_lines import brief, unknown
from provegym.train.data import load as load_examples
from provegym.train.recipe import Grpo, Lora, Model, Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.saving import model_folder

NO_VLLM = "vLLM is not installed here: pip install vllm==0.30.0, or --set grpo.use_vllm=false"


def start(recipe: Recipe, folder: Path, toml: str, resume: bool, bar: Progress) -> Run:
    """Train as a recipe says, or resume the run in a folder."""
    check_here(recipe)
    machine = need("accelerate").PartialState()
    with locked(folder) if machine.is_main_process else nullcontext():
        run = Run(folder, recipe, toml, resume, machine.is_main_process)
        if machine.is_main_process:
            say(tell_cost(recipe), file=sys.stderr, flush=True)
        with bar, machine.main_process_first():
            examples = load_examples(recipe.data, folder / "corpus", bar)
        need("transformers").set_seed(run.settings.seed)
        model, tokenizer = policy(recipe.model, machine.device)
        train = trl.train if recipe.grpo else sft.train
        train(recipe, run, {example.id: example for example in examples}, model, tokenizer)
        if machine.is_main_process:
            save_adapter(model, folder / "adapter")
            run.plot()
    return run


def tell_cost(recipe: Recipe) -> str:
    """What a run on this machine will take, in one line, before there are examples to measure."""
    sizes = find_sizes(recipe.model.name)
    if sizes is None:
        return f"memory and minutes of this run: {unknown(recipe.model.name)}"
    card = find_card()
    cost = estimate(recipe, sizes, trained_lora(recipe.model), assume(recipe), card)
    return brief(recipe, cost, card)


def check(recipe: Recipe) -> None:
    """Check a recipe before any work: its settings, and the packages that it needs."""
    if recipe.sft is None and recipe.grpo is None:
        raise TrainError("the recipe has neither [sft] nor [grpo]; add one to say how to train")
    for module in ("torch", "transformers", "trl", "peft", "datasets", "matplotlib"):
        need(module)
    for reporter in (recipe.grpo or recipe.sft or Sft()).report:
        if find_spec(reporter) is None:
            raise TrainError(
                f"{reporter} is not installed: pip install {reporter}, or take it out of report"
            )
    if recipe.grpo:
        _check_grpo(recipe.grpo, recipe.model.lora)
        _check_engines(recipe)
    _check_adapter(recipe)
    _check_positions(recipe)


def check_here(recipe: Recipe) -> None:
    """Check before a corpus is made that this machine has the adapter and vLLM."""
    adapter(recipe.model)
    if recipe.grpo and lacks_vllm(recipe.grpo):
        raise TrainError(NO_VLLM)


def lacks_vllm(grpo: Grpo) -> bool:
    """Whether a run needs vLLM and it is not installed."""
    return grpo.use_vllm and find_spec("vllm") is None


def adapter(model: Model) -> Path | None:
    """The folder of the adapter that a model starts from, if it starts from one."""
    if not model.adapter:
        return None
    folder = adapter_place(model.adapter)
    if not folder.exists():
        raise TrainError(f"model.adapter: there is no {folder}; train it first, or leave it out")
    return folder


def _check_grpo(grpo: Grpo, lora: Lora | None) -> None:
    if lora and lora.dropout:
        raise TrainError(
            f"model.lora.dropout ({lora.dropout}) has no effect on [grpo], which learns without"
            " dropout; leave it out"
        )
    if grpo.branches and grpo.credit != "turn":
        raise TrainError(
            'grpo.branches leave a rollout where it went wrong, which only grpo.credit="turn"'
            " finds out; set it, or grpo.branches=0"
        )
    if grpo.branches == 1:
        raise TrainError("grpo.branches are compared with one another: set 2 or more, or 0")
    if grpo.branches and grpo.trunks < max(2, grpo.forks):
        raise TrainError(
            f"grpo.branches ({grpo.branches}) from each of grpo.forks ({grpo.forks}) leave"
            f" {max(0, grpo.trunks)} of grpo.rollouts ({grpo.rollouts}) to branch off; at least"
            f" {max(2, grpo.forks)} are needed: set fewer, or more rollouts"
        )
    # Checkpoints do not hold rollouts. One is also written after the last step.
    for name, value in (("save_every", grpo.save_every), ("steps", grpo.steps)):
        if value % grpo.iterations:
            raise TrainError(
                f"grpo.{name} ({value}) must be a multiple of grpo.iterations ({grpo.iterations}),"
                " because a checkpoint does not hold the rollouts of an unfinished iteration"
            )


def _check_engines(recipe: Recipe) -> None:
    """Refuse settings of engines that do not fit together."""
    grpo = recipe.grpo or Grpo()
    if grpo.lag and not grpo.engines:
        raise TrainError("grpo.lag needs grpo.engines, which play while the trainer learns; set it")
    if grpo.engines and (recipe.model.lora or recipe.model.adapter):
        raise TrainError(
            "grpo.engines takes models whose weights are all trained; leave out model.lora and"
            " model.adapter, or set grpo.engines=0"
        )
    if grpo.engines and grpo.iterations > 1:
        raise TrainError("grpo.engines plays new rollouts for every step; set grpo.iterations=1")


def _check_adapter(recipe: Recipe) -> None:
    """Refuse a `model.lora` that differs from the adapter the run starts from."""
    lora, held = recipe.model.lora, held_lora(recipe.model)
    if lora is None or held is None:
        return
    ours, theirs = ({**asdict(each), "targets": sorted(each.targets)} for each in (lora, held))
    if recipe.grpo:
        # GRPO turns the adapter's dropout off.
        theirs["dropout"] = 0.0
    other = [
        f"{name} is {ours[name]}, not {theirs[name]}" for name in ours if ours[name] != theirs[name]
    ]
    if other:
        raise TrainError(
            f"model.lora differs from the adapter {recipe.model.adapter} ({'; '.join(other)});"
            " remove model.lora or model.adapter"
        )


def _check_positions(recipe: Recipe) -> None:
    """Refuse to stretch the positions of a model that is not saved with its configuration."""
    if recipe.model.positions and (recipe.grpo or trained_lora(recipe.model)):
        raise TrainError(
            "model.positions is for [sft] of all weights, which saves them in the model's folder;"
            " train that first, then start from runs/NAME/model without model.positions"
        )


def held_lora(model: Model) -> Lora | None:
    """The settings of the adapter that a model starts from; None if there is no LoRA adapter."""
    config = adapter_place(model.adapter) / "adapter_config.json"
    if not model.adapter or not config.exists():
        return None
    held = _read_config(config)
    if held.peft_type != "LORA":
        return None
    named = held.target_modules
    targets = (named,) if isinstance(named, str) else named
    return Lora(r=held.r, alpha=held.lora_alpha, dropout=held.lora_dropout, targets=targets)


class _AdapterConfig(msgspec.Struct):
    """What we read of PEFT's `adapter_config.json`."""

    peft_type: str
    r: int = 0
    lora_alpha: int = 0
    lora_dropout: float = 0.0
    target_modules: str | tuple[str, ...] = ()


def _read_config(config: Path) -> _AdapterConfig:
    try:
        return msgspec.json.decode(config.read_bytes(), type=_AdapterConfig)
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as problem:
        raise TrainError(
            f"{config} cannot be read: {problem}; train the adapter again, or take a good copy"
        ) from None


def trained_lora(model: Model) -> Lora | None:
    """The adapter that is trained, as far as it is known; None if all weights are trained."""
    return held_lora(model) or model.lora or (Lora() if model.adapter else None)


def policy(settings: Model, device: Any) -> tuple[Any, Any]:
    """The model and tokenizer of a recipe, with its LoRA adapter or a new one."""
    held = adapter(settings)
    model, tokenizer = load(settings.name, held, device, positions=settings.positions)
    if held is None and (lora := settings.lora):
        peft = need("peft")
        config = peft.LoraConfig(
            r=lora.r,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=list(lora.targets),
            task_type="CAUSAL_LM",
        )
        model = peft.get_peft_model(model, config)
    return model, tokenizer


def save_adapter(model: Any, folder: Path) -> None:
    """Write the LoRA adapter of a model, if it has one, in 16 bits and without the base."""
    peft, torch = need("peft"), need("torch")
    if not isinstance(model, peft.PeftModel):
        return
    weights = peft.get_peft_model_state_dict(model, adapter_name=trl.ADAPTER)
    small = {
        name: value.detach().to("cpu", torch.bfloat16).contiguous()
        for name, value in weights.items()
    }
    with model_folder(folder) as part:
        need("safetensors.torch").save_file(small, f"{part}/adapter_model.safetensors")
        model.peft_config[trl.ADAPTER].save_pretrained(part)
        _sort_targets(Path(part) / "adapter_config.json")


def _sort_targets(file: Path) -> None:
    """Sort the names of modules, which PEFT keeps in a set: equal runs write equal files."""
    held = msgspec.json.decode(file.read_bytes())
    if isinstance(held["target_modules"], list):
        held["target_modules"].sort()
    file.write_bytes(msgspec.json.format(msgspec.json.encode(held), indent=2) + b"\n")
