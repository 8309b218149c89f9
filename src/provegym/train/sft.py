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
from provegym.train.packed import collate
from provegym.train.precision import suit
from provegym.train.prompt_groups import PromptGroup, prompt_groups
from provegym.train.recipe import Recipe, Sft
from provegym.train.run import Run, TrainError
from provegym.train.saving import save_model

IGNORED = -100
LOADERS = 4


class SftRow(NamedTuple):
    """A tokenised transcript. A label is the token itself, or `IGNORED` outside the loss."""

    input_ids: list[int]
    labels: list[int]


class SftItem(NamedTuple):
    """Transcripts with a common prompt: the lengths of the prompt and of the rest of each."""

    input_ids: list[int]
    labels: list[int]
    seq_lengths: list[int]


def encode(example: Example, codec: Codec, most: int, tools: list[Json] | None = None) -> SftRow:
    """The tokens of an example's transcript, cut after the last reply that fits.

    Its prompt shows the tools of its toolbox, or others that are given.
    """
    messages, learn = transcript(example)
    tools = Toolbox.of(example).openai() if tools is None else tools
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
    return [row for group in grouped_rows(examples, codec, most, 1) for row in group]


def grouped_rows(
    examples: Iterable[Example], codec: Codec, most: int, share: int
) -> list[list[SftRow]]:
    """The same in groups of up to `share` transcripts, which show the same tools."""
    groups = list(prompt_groups(examples, share))
    made = []
    for found in spread(partial(_rows, codec=codec, most=most), groups):
        for problem in found:
            if isinstance(problem, str):
                say(f"left out: {problem}", file=sys.stderr)
        if kept := [row for row in found if isinstance(row, SftRow)]:
            made.append(kept)
    return made


def _rows(group: PromptGroup, codec: Codec, most: int) -> list[SftRow | str | None]:
    tools = group.tools()
    return [_row(example, codec, most, tools) for example in group.examples]


def _row(example: Example, codec: Codec, most: int, tools: list[Json]) -> SftRow | str | None:
    """The tokens of a transcript, None if it does not fit, or why it cannot be played."""
    try:
        row = encode(example, codec, most, tools)
    except TooLong:
        return None
    except Unplayable as problem:
        return str(problem)
    return row if any(label != IGNORED for label in row.labels) else None


def joined(group: Sequence[SftRow]) -> SftItem:
    """Transcripts with their common prompt once, before what follows it in each."""
    common = _common(group) if len(group) > 1 else 0
    ids, labels = list(group[0].input_ids[:common]), [IGNORED] * common
    for row in group:
        ids += row.input_ids[common:]
        labels += row.labels[common:]
    return SftItem(ids, labels, [common, *(len(row.labels) - common for row in group)])


def _common(group: Sequence[SftRow]) -> int:
    """How many tokens all transcripts begin with, less the one that predicts the first reply.

    Each transcript has that token itself, even if the users say the same.
    """
    most = -1 + min(row.labels.index(next(filter(IGNORED.__ne__, row.labels))) for row in group)
    heads = zip(*(row.input_ids[:most] for row in group), strict=True)
    return next((at for at, tokens in enumerate(heads) if len(set(tokens)) > 1), most)


def _fitting(data: Sequence[Sequence[SftRow]], examples: int, share: int) -> str:
    """How many transcripts fit, and what sharing prompts saves."""
    count = sum(map(len, data))
    told = f"{count} of {examples} transcripts fit"
    if share == 1:
        return told
    whole = sum(len(row.input_ids) for group in data for row in group)
    read = sum(len(joined(group).input_ids) for group in data)
    return f"{told}; they share {len(data)} prompts: {read:,} tokens instead of {whole:,}"


def train(
    recipe: Recipe, run: Run, examples: Mapping[str, Example], model: Any, tokenizer: Any
) -> None:
    """Train on transcripts with TRL's SFTTrainer, which uses our labels unchanged."""
    sft = recipe.sft
    if sft is None:
        raise TrainError("the recipe has no [sft] table; add one, or train its [grpo]")
    codec = Codec(tokenizer, recipe.limits.prompt)
    data = grouped_rows(examples.values(), codec, sft.max_tokens, sft.share)
    if not data:
        raise TrainError(
            f"none of {len(examples)} transcripts fits: raise limits.prompt (now"
            f" {recipe.limits.prompt}) or sft.max_tokens (now {sft.max_tokens})"
        )
    say(_fitting(data, len(examples), sft.share), file=sys.stderr)
    items = [joined(group) for group in data]
    # A padded batch takes transcripts as they are, and TRL would trust a third column.
    columns = SftItem._fields if sft.packed else SftRow._fields
    dataset = need("datasets").Dataset.from_dict(
        {name: [getattr(item, name) for item in items] for name in columns}
    )
    trainer = need("trl").SFTTrainer(
        model=suit(model, recipe, sft),
        args=arguments(recipe, run, model.device.type),
        train_dataset=dataset,
        processing_class=tokenizer,
        data_collator=collate if sft.packed else None,
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
