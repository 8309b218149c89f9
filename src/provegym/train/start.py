"""From a recipe to a trained model: examples, weights, the trainer, and what is kept."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.progress import Progress

from provegym.policies.local import load, need
from provegym.train import sft, trl
from provegym.train.data import load as load_examples
from provegym.train.recipe import Model, Recipe, Sft
from provegym.train.run import Run, TrainError


def start(recipe: Recipe, folder: Path, toml: str, resume: bool, bar: Progress) -> Run:
    """Train by a recipe in a folder, or go on with what is there."""
    machine = need("accelerate").PartialState()
    run = Run(folder, recipe, toml, resume, machine.is_main_process)
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


def check(recipe: Recipe) -> None:
    """Find out before any work whether a recipe says how to train, and whether it can be done."""
    if recipe.sft is None and recipe.grpo is None:
        raise TrainError("the recipe has neither [sft] nor [grpo]; add one to say how to train")
    for module in ("torch", "transformers", "trl", "peft", "datasets", "matplotlib"):
        need(module)
    for reporter in (recipe.grpo or recipe.sft or Sft()).report:
        if find_spec(reporter) is None:
            raise TrainError(
                f"{reporter} is not installed: pip install {reporter}, or take it out of report"
            )


def policy(settings: Model, device: Any) -> tuple[Any, Any]:
    """The model and tokenizer of a recipe, ready to be trained: a new adapter if it has none."""
    adapter = Path(settings.adapter) if settings.adapter else None
    if adapter and not adapter.exists():
        raise TrainError(f"model.adapter: there is no {adapter}; train it first, or leave it out")
    model, tokenizer = load(settings.name, adapter, device)
    if adapter is None and (lora := settings.lora):
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
    """Write the adapter, where a model has one, in 16 bits: it travels, its base does not."""
    peft, torch = need("peft"), need("torch")
    if not isinstance(model, peft.PeftModel):
        return
    weights = peft.get_peft_model_state_dict(model, adapter_name=trl.ADAPTER)
    folder.mkdir(parents=True, exist_ok=True)
    small = {
        name: value.detach().to("cpu", torch.bfloat16).contiguous()
        for name, value in weights.items()
    }
    need("safetensors.torch").save_file(small, folder / "adapter_model.safetensors")
    model.peft_config[trl.ADAPTER].save_pretrained(folder)
