"""Two models on the same tasks, side by side: their tokens stream into two columns.

Each model has a thread of its own with one core, because a single conversation does not use more.
Without a terminal, the conversations are printed when both are done.
"""

import gc
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from rich.live import Live
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from provegym.evals.measure import has_gold, measure
from provegym.lines import recording
from provegym.models.codec import Codec
from provegym.models.local import load, load_tokenizer, shipped
from provegym.models.optional import need
from provegym.models.sampler import Continuation, Sampler
from provegym.players.local import Limits, Local
from provegym.quickstart.folder import Figures, QuickstartFolder
from provegym.quickstart.models import BASE, TRAINED, held, hushed
from provegym.quickstart.plan import device
from provegym.quickstart.tour import said
from provegym.rewards import BEST, paid
from provegym.rewards.explain import NONE_DUE
from provegym.rewards.success import PARTS, is_answer_due, verdict_of
from provegym.trace import Example, Rollout, line, read

TITLES = {BASE: "base model", TRAINED: "with the shipped adapter"}
# Lines of a column, characters of a tool's result, frames per second.
TALL, RESULT, FRAMES = 14, 120, 6
MESSAGE = re.compile(r"<\|im_start\|>(\w+)\n")
MARKS = re.compile(r"</?tool_(?:call|response)>|<\|im_end\|>")

Hear = Callable[[list[int], list[int]], None]


class StreamingSampler(Sampler):
    """A greedy sampler of one conversation; reports its context and the tokens sampled so far."""

    def __init__(self, model: Any, tokenizer: Any, hear: Hear) -> None:
        super().__init__(model, tokenizer, 0.0, 0)
        self.hear = hear

    def _draw(self, rows: Sequence[Continuation], logits: Any, count: int) -> Any:
        tokens = super()._draw(rows, logits, count)
        self.hear(rows[0].context, rows[0].sampled.ids)
        return tokens


class StreamedModel:
    """One of the two models, its conversation so far, and its rollout when it is done.

    It has a tokenizer of its own for the screen, because a tokenizer is not made for two threads.
    """

    def __init__(self, name: str, limits: Limits, adapter: Path | None) -> None:
        model, tokenizer = load("embedded", adapter, device())
        model = model.merge_and_unload() if adapter else model
        sampler = StreamingSampler(model, tokenizer, self.hear)
        codec = Codec(tokenizer, limits.prompt)
        self.name, self.screen = name, load_tokenizer("embedded")
        self.player = Local(name, sampler.generate, codec, limits, 1)
        self.prompt, self.ids = 0, [0]
        self.rollout: Rollout | None = None

    def play(self, example: Example) -> Rollout:
        """Play a task in this thread, with one core."""
        need("torch").set_num_threads(1)  # of this thread
        self.prompt, self.ids, self.rollout = 0, [], None
        [self.rollout] = self.player([example])
        return self.rollout

    def hear(self, context: list[int], sampled: list[int]) -> None:
        """Note the tokens after the prompt, which is the context of the first reply."""
        self.prompt = self.prompt or len(context)
        self.ids = [*context[self.prompt :], *sampled]

    def column(self) -> Text:
        """What the model has said so far, and what came back."""
        if self.rollout:
            return Text("\n").join((*conversation(self.rollout), ticks(self.rollout)))
        lines = list(streamed(self.screen.decode(self.ids)))[-TALL:]
        return Text("\n").join(lines) if lines else Text("reads the tools …", "dim")


def play(desk: QuickstartFolder, bar: Progress) -> tuple[str, Figures]:
    """Play the tasks with the base model and with the shipped adapter, at the same time."""
    bar.stop()
    known = {name: {each.example.id for each in held(desk.rollouts(name))} for name in TITLES}
    left = [
        example
        for example in read(desk.tasks, Example)
        if not all(example.id in ids for ids in known.values())
    ]
    voices: list[StreamedModel] = []
    if left:
        desk.console.print("  [dim]loading both models …[/dim]")
        with hushed(desk.log):
            limits = desk.plan.short.play
            voices = [StreamedModel(BASE, limits, None), StreamedModel(TRAINED, limits, shipped())]
    for example in left:
        desk.console.print(f"\n  [bold cyan]user[/bold cyan]  {escape(example.turns[0].text)}")
        play_both(desk, [each for each in voices if example.id not in known[each.name]], example)
    voices.clear()
    gc.collect()  # a model and its sampler refer to each other, and GRPO needs the memory
    played = {name: list(read(desk.rollouts(name), Rollout)) for name in TITLES}
    scores = {
        name: {key: value.mean for key, value in measure(rollouts).items()}
        for name, rollouts in played.items()
    }
    return summary(played), {"scores": scores}


def play_both(desk: QuickstartFolder, voices: Sequence[StreamedModel], example: Example) -> None:
    """Play a task with each model, show it, and append the rollouts to the models' files."""
    screen = desk.console
    show = partial(columns, voices)
    with one_core_each(), ThreadPoolExecutor(len(voices)) as threads, hushed(desk.log):
        playing = [threads.submit(voice.play, example) for voice in voices]
        if screen.is_terminal:
            with Live(
                console=screen,
                get_renderable=show,
                refresh_per_second=FRAMES,
                redirect_stdout=False,
                redirect_stderr=False,
            ):
                rollouts = [each.result() for each in playing]
        else:
            rollouts = [each.result() for each in playing]
    for voice, rollout in zip(voices, rollouts, strict=True):
        with recording(desk.rollouts(voice.name)) as append:
            append(line(rollout))
        if not screen.is_terminal:
            screen.print(f"  {TITLES[voice.name]}", highlight=False)
            for told in (*conversation(rollout), ticks(rollout)):
                screen.print(Text("    ") + told, highlight=False, soft_wrap=True)


@contextmanager
def one_core_each() -> Iterator[None]:
    """Give torch its cores back afterwards: new threads take over the last number that was set."""
    torch = need("torch")
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)


def columns(voices: Sequence[StreamedModel]) -> Table:
    """The conversations of the models, as columns."""
    table = Table(expand=True, show_lines=False)
    for voice in voices:
        table.add_column(TITLES[voice.name], ratio=1, overflow="fold")
    table.add_row(*(voice.column() for voice in voices))
    return table


def streamed(text: str) -> Iterator[Text]:
    """The lines of a conversation that is being sampled; results of tools are cut."""
    first, *rest = MESSAGE.split(text)
    for role, content in (("assistant", first), *zip(rest[::2], rest[1::2], strict=True)):
        for each in MARKS.sub("", content).strip().splitlines():
            if each:
                yield Text(each[:RESULT], "dim") if role == "tool" else Text(each)


def conversation(rollout: Rollout) -> Iterator[Text]:
    """The lines of a finished conversation, after the user's request."""
    for message in rollout.messages[2:]:
        yield from map(Text.from_markup, said(message))


def ticks(rollout: Rollout) -> Text:
    """What of success is right, and the reward; no tick for an answer that nobody asked for."""
    verdict, made = verdict_of(rollout), Text()
    for part in PARTS:
        right = getattr(verdict, part)
        if part == "answer" and right and not is_answer_due(rollout.example):
            made.append(f"{NONE_DUE}  ", "dim")
        else:
            made.append(f"{'✓' if right else '✗'} {part}  ", "green" if right else "red")
    most = BEST if has_gold(rollout.example) else 1.0
    return made.append(f"reward {paid(rollout):.2f} of {most:.2f}", "bold")


def summary(played: dict[str, list[Rollout]]) -> str:
    """What each model was paid, and how many tasks it succeeded at."""
    told = []
    for name, rollouts in played.items():
        found = measure(rollouts)
        good = round(found["success"].mean * len(rollouts))
        told.append(
            f"{TITLES[name]}: reward {found['reward'].mean:.2f}, {good} of {len(rollouts)} tasks"
            " succeed"
        )
    return f"{'; '.join(told)}. These tasks are short and few; docs/results.md has 400 of all kinds"
