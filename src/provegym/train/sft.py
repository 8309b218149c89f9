"""Supervised fine-tuning (SFT) on transcripts: the warm-up before GRPO, and the paper's baseline.

A transcript is tokenised in the same way as a rollout: the prompt, each reply, and the tool results
and user turns in between. The loss mask covers only the replies that a model should learn.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from provegym.corpus.transcript import transcript
from provegym.models.codec import Codec, TooLong
from provegym.models.optional import need
from provegym.players.gold import Unplayable
from provegym.terminal import say
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json
from provegym.train.data import spread
from provegym.train.precision import suit
from provegym.train.recipe import Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.saving import save_model

IGNORED = -100
LOADERS = 4


class SftRow(NamedTuple):
    """A tokenised transcript. A label is the token itself, or `IGNORED` outside the loss."""

    input_ids: list[int]
    labels: list[int]


def encode(example: Example, codec: Codec, most: int) -> SftRow:
    """The tokens of an example's transcript, cut after the last reply that fits."""
    messages, learn = transcript(example)
    tools = Toolbox.of(example).openai()
    row = SftRow(codec.open(messages[0]["content"], messages[1]["content"], tools), [])
    row.labels.extend([IGNORED] * len(row.input_ids))
    whole = 0
    for right, part in _parts(messages[2:], learn[2:]):
        own = part[0]["role"] == "assistant"
        ids = codec.say(part[0]) if own else codec.after(part)
        row.input_ids.extend(ids)
        row.labels.extend(ids if right else [IGNORED] * len(ids))
        if len(row.input_ids) > most:
            break
        whole = len(row.input_ids) if own else whole
    return SftRow(row.input_ids[:whole], row.labels[:whole])


def _parts(messages: Sequence[Json], learn: Sequence[bool]) -> Iterable[tuple[bool, list[Json]]]:
    """The assistant's replies one by one; the messages between two replies as one part."""
    pairs = zip(messages, learn, strict=True)
    for own, run in groupby(pairs, key=lambda pair: pair[0]["role"] == "assistant"):
        if own:
            yield from ((right, [message]) for message, right in run)
        else:
            yield False, [message for message, _ in run]


def rows(examples: Iterable[Example], codec: Codec, most: int) -> list[SftRow]:
    """The tokenised transcripts that fit and have at least one token in the loss.

    An example whose reference calls do not run is left out and named on stderr.
    """
    found = list(spread(partial(_row, codec=codec, most=most), list(examples)))
    for problem in found:
        if isinstance(problem, str):
            say(f"left out: {problem}", file=sys.stderr)
    return [row for row in found if isinstance(row, SftRow)]


def _row(example: Example, codec: Codec, most: int) -> SftRow | str | None:
    """The tokens of a transcript, None if it does not fit, or why it cannot be played."""
    try:
        row = encode(example, codec, most)
    except TooLong:
        return None
    except Unplayable as problem:
        return str(problem)
    return row if any(label != IGNORED for label in row.labels) else None


def train(
    recipe: Recipe, run: Run, examples: Mapping[str, Example], model: Any, tokenizer: Any
) -> None:
    """Train on transcripts with TRL's SFTTrainer, which uses our labels unchanged."""
    sft = recipe.sft
    if sft is None:
        raise TrainError("the recipe has no [sft] table; add one, or train its [grpo]")
    data = rows(examples.values(), Codec(tokenizer, recipe.limits.prompt), sft.max_tokens)
    if not data:
        raise TrainError(
            f"none of {len(examples)} transcripts fits: raise limits.prompt (now"
            f" {recipe.limits.prompt}) or sft.max_tokens (now {sft.max_tokens})"
        )
    say(f"{len(data)} of {len(examples)} transcripts fit", file=sys.stderr)
    dataset = need("datasets").Dataset.from_dict(
        {"input_ids": [row.input_ids for row in data], "labels": [row.labels for row in data]}
    )
    trainer = need("trl").SFTTrainer(
        model=suit(model, recipe, sft),
        args=arguments(recipe, run, model.device.type),
        train_dataset=dataset,
        processing_class=tokenizer,
        callbacks=[run.watch()],
    )
    if model.device.type == "cpu":
        score_learnt(trainer.model)
    # The run prints its own line per step.
    trainer.remove_callback(need("transformers").PrinterCallback)
    last = run.last()
    with run.guard():
        trainer.train(resume_from_checkpoint=str(last) if last else None)
    save_model(trainer, run.folder / "model")


def score_learnt(model: Any) -> None:
    """Give TRL's fused LM head the labelled positions alone.

    On a GPU it skips the others itself. On a CPU it multiplies every position by the vocabulary,
    which takes a third of the time of a step.
    """
    base = model.get_base_model() if isinstance(model, need("peft").PeftModel) else model
    fused = base.forward

    def forward(*args: Any, fused_lm_head: bool = False, labels: Any = None, **kwargs: Any) -> Any:
        if not fused_lm_head:
            return fused(*args, labels=labels, **kwargs)
        targets = labels[:, 1:]
        mask = targets != IGNORED

        def cut(module: Any, given: Any, output: Any) -> None:
            output.last_hidden_state = output.last_hidden_state[:, :-1][mask][None]

        hook = base.base_model.register_forward_hook(cut)
        try:
            own = targets[mask][None]
            scored = fused(*args, fused_lm_head=True, shift_labels=own, **kwargs)
        finally:
            hook.remove()
        for name in ("log_probs", "entropy", "is_top1"):
            values = scored[name]
            scored[name] = values.new_zeros(mask.shape).masked_scatter(mask, values)
        scored.label_mask = mask
        return scored

    base.forward = forward


def arguments(recipe: Recipe, run: Run, device: str) -> Any:
    """The SFTConfig of TRL for a recipe."""
    sft = recipe.sft or Sft()
    args = need("trl").SFTConfig(
        **pace(run, device),
        num_train_epochs=sft.epochs,
        # Grouping by length saves padding. Packed sequences have none, so their order is random.
        train_sampling_strategy="random" if sft.packed else "group_by_length",
        padding_free=sft.packed,
        dataset_kwargs={"skip_prepare_dataset": True},
        max_length=None,
        # Worker processes collate batches, so that the GPU does not wait for them.
        dataloader_num_workers=LOADERS if device == "cuda" else 0,
    )
    args.gradient_accumulation_steps = passes(sft, args.world_size)
    return args


def pace(run: Run, device: str) -> Json:
    """The settings that both of TRL's trainers take: optimiser, schedule, logs, checkpoints."""
    settings = run.settings
    return {
        "output_dir": str(run.checkpoints),
        "learning_rate": settings.lr,
        "lr_scheduler_type": settings.scheduler,
        "warmup_steps": settings.warmup,
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "per_device_train_batch_size": settings.batch,
        "gradient_checkpointing": settings.checkpointing,
        "bf16": run.recipe.model.is_narrow(device),
        "use_cpu": device == "cpu",
        "seed": settings.seed,
        "data_seed": settings.seed,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "disable_tqdm": True,
        "report_to": list(settings.report),
        "save_strategy": "steps",
        "save_steps": settings.save_every,
        "save_total_limit": settings.keep,
    }


def passes(sft: Sft, processes: int) -> int:
    """The gradient accumulation steps of each process per update."""
    count, over = divmod(sft.together, sft.batch * processes)
    if over:
        raise TrainError(
            f"sft.together ({sft.together}) must be a multiple of sft.batch ({sft.batch}) times"
            f" {processes} processes; lower sft.batch, or start fewer"
        )
    return count
