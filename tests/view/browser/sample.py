"""A folder with everything the page can show, made from the hand-made examples of the tests."""

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from math import exp
from pathlib import Path

import msgspec

from provegym.kernel import Change
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, Rollout, Turn, line, read, write
from provegym.train.run import summary, tallies
from worlds.admitted import write_worlds

DATA = Path(__file__).parents[2] / "data"
FEW = ("banking", "budget", "payments", "team_chat")
HOSTILE = ("<script>alert(1)</script>", "</script><img src=x onerror=alert(2)>", "W" * 5_000)
STEPS, SAMPLED, SHOWN = 24, 4, 10
PLANNED = 60
# One world under many names: more than the page shows at once.
DRAWN = [f"boat_hire_0_{number}" for number in range(30)]
replace = msgspec.structs.replace


def make_folder(folder: Path, servers: Sequence[str] = FEW, lines: int = 1_000) -> Path:
    """A corpus with drawn worlds, two policies over it, hostile text, a run, unreadable files."""
    chance = random.Random(7)
    (folder / "corpus").mkdir(parents=True)
    examples = list(read_examples(servers))
    write(folder / "corpus" / "train-00000.jsonl", examples)
    before = [play(one, _draw(chance, skill=0.35)) for one in examples]
    after = [play(one, _draw(chance, skill=0.85)) for one in examples]
    write(folder / "before.jsonl", before)
    write(folder / "after.jsonl", after)
    hostile = [make_hostile(examples[0], text) for text in HOSTILE]
    write(folder / "hostile.jsonl", [*hostile, make_strange(examples[0])])
    write_many(folder / "many.jsonl", before, lines)
    make_run(folder / "run", examples, chance)
    make_run(folder / "earlier", examples[SHOWN:] or examples, chance)
    write_worlds(folder / "corpus" / "worlds", *DRAWN)
    (folder / "foreign.jsonl").write_text('{"prompt": "hello", "completion": "world"}\n', "utf-8")
    whole = line(before[0])
    (folder / "cut.jsonl").write_bytes(whole + whole[: len(whole) // 2])
    write_last(folder / "before.jsonl", 1)
    write_last(folder / "after.jsonl", 2)
    return folder


def write_last(path: Path, seconds: int) -> None:
    """Make a file look as if it was written so many seconds after all others."""
    newest = max(file.stat().st_mtime for file in path.parent.rglob("*.jsonl"))
    os.utime(path, (newest + seconds, newest + seconds))


def read_examples(servers: Sequence[str]) -> Iterator[Example]:
    """The hand-made examples; some get a knob, so that there is something to filter by."""
    for server in servers:
        for at, example in enumerate(read(DATA / f"{server}.jsonl", Example)):
            yield replace(example, knobs=("distractors",)) if at % 3 == 1 else example


def play(example: Example, script: str) -> Rollout:
    """A rollout of one example by one script."""
    return replace(play_script(example, SCRIPTS[script]), policy=script)


def _draw(chance: random.Random, skill: float) -> str:
    """The better the policy, the more often it does what is right."""
    if chance.random() < skill:
        return "oracle"
    return chance.choice(("guesser", "shuffler", "spammer", "noop"))


def make_hostile(example: Example, text: str) -> Rollout:
    """A rollout with the same text wherever a user, a model or a tool may write."""
    rollout = play(example, "oracle")
    messages = tuple({**message, "content": text} for message in rollout.messages)
    change = Change(text, text, text, None, {text: text})
    calls = tuple(
        replace(call, tool=text, arguments={text: text}, result=text, diff=(change,))
        for call in rollout.calls
    )
    hostile = replace(example, id=text, turns=(Turn(text=text),), system=text, knobs=(text,))
    return replace(rollout, example=hostile, policy=text, messages=messages, calls=calls)


def make_strange(example: Example) -> Rollout:
    """A rollout whose messages are JSON, and no more than that."""
    messages: tuple[dict[str, object], ...] = (
        {"role": "narrator", "content": {"text": ["deep"]}},
        {"content": [{"type": "text", "text": "a part"}, 5, None]},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": {"a": 1}}}, {}]},
        {"role": "tool", "tool_call_id": 3, "content": None},
        {"__proto__": {"role": "user"}, "role": "user", "content": "strange to the end"},
    )
    return replace(play(example, "noop"), messages=messages, calls=())


def write_many(path: Path, rollouts: Iterable[Rollout], lines: int) -> None:
    """The same rollouts over and over."""
    texts = [line(rollout) for rollout in rollouts]
    with path.open("wb") as out:
        out.writelines(texts[at % len(texts)] for at in range(lines))


def make_run(folder: Path, examples: list[Example], chance: random.Random) -> None:
    """A run that gets better, and samples the same examples again and again."""
    (folder / "rollouts").mkdir(parents=True)
    (folder / "recipe.toml").write_text(f"[grpo]\nsteps = {PLANNED}\n", "utf-8")
    (folder / "versions.json").write_text('{"provegym": "0.1.0", "torch": "2.13.0"}', "utf-8")
    watched = examples[:SHOWN]
    for step in range(1, STEPS + 1):
        skill = 0.9 - 0.8 * exp(-step / 8)
        rollouts = [play(one, _draw(chance, skill)) for one in watched]
        with (folder / "metrics.jsonl").open("ab") as out:
            out.write(msgspec.json.encode(measure(step, rollouts, chance)) + b"\n")
        if step % SAMPLED == 0:
            write(folder / "rollouts" / f"step-{step:06}.jsonl", rollouts)


def measure(step: int, rollouts: list[Rollout], chance: random.Random) -> dict[str, object]:
    """A line of metrics as a run writes it."""
    return {
        "step": step,
        **summary(rollouts),
        **tallies(rollouts),
        "tokens_per_second": 3_600 + 250 * chance.random(),
        "loss": 0.08 * exp(-step / 12) + 0.01 * chance.random(),
        "kl": 0.002 * step**0.5,
        "entropy": 1.1 * exp(-step / 40),
        "grad_norm": 0.4 + 0.3 * chance.random(),
        "learning_rate": 1e-5 * (1 - step / PLANNED),
        "seconds": 19 + 2 * chance.random(),
    }
