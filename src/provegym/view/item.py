"""One example or rollout in full: the right calls, the calls made, and the reward by component."""

import tomllib
from collections.abc import Sequence
from typing import Any

import msgspec

from provegym import servers
from provegym.kernel import Bug, Change, Session
from provegym.kernel.session import MAX_MINUTES
from provegym.rewards import COMPONENTS, HARDENED, PAPER, Scheme
from provegym.rewards.align import resolve
from provegym.rewards.equality import equal
from provegym.rewards.explain import explain
from provegym.rewards.success import is_answer_due
from provegym.toolbox import all_tools
from provegym.trace import (
    Call,
    Example,
    Json,
    Path,
    Ref,
    Reward,
    Rollout,
    Served,
    Step,
    Turn,
    literals,
)
from provegym.trace.bounds import wrong_with
from provegym.verify.replay import replay
from provegym.view.sources import Missing, Rows
from provegym.view.summary import is_sound, judged
from provegym.view.why import why_nothing
from provegym.worlds.spec import SpecError

MAX_STEPS, MAX_TURN = 64, 20_000
CLOSE = 1e-6
READ_EXAMPLE = msgspec.json.Decoder(Example).decode
READ_ROLLOUT = msgspec.json.Decoder(Rollout).decode


def show_item(source: Rows, at: int) -> Json:
    """A row of a source in full."""
    item = decode(source, at)
    try:
        told = (
            show_example(item)
            if isinstance(item, Example)
            else show_rollout(item, scheme_of(source, item.reward))
        )
    except RecursionError:
        raise Missing(f"{source.where(at)} is nested too deeply to be shown") from None
    return {"at": at, **told}


def decode(source: Rows, at: int) -> Example | Rollout:
    """The example or rollout of a row; Missing says why it cannot be decoded."""
    read = READ_EXAMPLE if source.row_kind == "examples" else READ_ROLLOUT
    try:
        return read(source.line(at))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Missing(
            f"{source.where(at)} cannot be shown in full; another version wrote it, or it has"
            f" changed since: {str(problem)[:200]}"
        ) from None


def scheme_of(source: Rows, reward: Reward | None) -> Scheme:
    """The reward scheme of a row: that of the recipe of its run.

    Without a run, it is the hardened one if the reward has its components, else the paper's.
    """
    if source.run is None:
        return HARDENED if reward and "progress" in reward.parts else PAPER
    try:
        recipe = tomllib.loads(source.run.text("recipe.toml"))
        return msgspec.convert(recipe.get("reward", {}), Scheme)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError):
        return PAPER


def show_example(example: Example) -> Json:
    """An example, with the calls of its first path played on its world."""
    path = example.paths[0] if example.paths else Path()
    gold, notes = show_gold(example, path)
    return {
        "kind": "example",
        "example": example,
        "rollout": None,
        "explain": (),
        "served": (),
        "parts": (),
        "total": None,
        "best": best(example, PAPER),
        "verdict": None,
        "answer_due": is_answer_due(example),
        "path": 0,
        "gold": gold,
        "why": why_nothing(example, path),
        "notes": notes,
    }


def show_rollout(rollout: Rollout, scheme: Scheme) -> Json:
    """A rollout beside the path it was scored on."""
    example, reward, notes = rollout.example, rollout.reward, []
    path, steps = 0, example.paths[0].steps if example.paths else ()
    if reward is not None and 0 <= reward.path < len(example.paths):
        path, steps = reward.path, example.paths[reward.path].steps
    if reward and not is_sound(len(example.paths), len(steps), len(rollout.calls), reward):
        notes.append("its reward speaks of steps or calls that are not there, and is left out")
        rollout, reward = msgspec.structs.replace(rollout, reward=None), None
    gold, more = show_gold(example, Path(steps=steps))
    plain = msgspec.to_builtins(rollout)
    plain.pop("example")
    return {
        "kind": "rollout",
        "example": example,
        "rollout": plain,
        "explain": tuple(explain(rollout)),
        "served": _serves(rollout, steps) if reward else (),
        "parts": _parts(reward, scheme) if reward else (),
        "total": reward.total if reward else None,
        "best": best(example, scheme),
        "verdict": judged(rollout),
        "answer_due": is_answer_due(example),
        "path": path,
        "gold": gold,
        "why": why_nothing(example, Path(steps=steps)),
        "notes": [*notes, *_other_weights(reward, scheme), *more],
    }


def best(example: Example, scheme: Scheme) -> float:
    """The highest reward an example can pay."""
    if not any(path.steps for path in example.paths):
        return 1.0
    return scheme.best


def _parts(reward: Reward, scheme: Scheme) -> list[Json]:
    told = []
    for name, value in reward.parts.items():
        weight = scheme.weight(name) if name in COMPONENTS else 0.0
        about = _first_sentence(COMPONENTS[name].__doc__) if name in COMPONENTS else ""
        paid = weight * value
        told.append({"name": name, "about": about, "value": value, "weight": weight, "paid": paid})
    return told


def _first_sentence(docstring: str | None) -> str:
    return (docstring or "").partition("\n")[0]


def _other_weights(reward: Reward | None, scheme: Scheme) -> list[str]:
    if reward is None or not reward.parts:
        return []
    paid = sum(part["paid"] for part in _parts(reward, scheme))
    if abs(paid - reward.total) < CLOSE:
        return []
    return [
        f"its parts come to {paid:.3f} by these weights; it was paid {reward.total:.3f} by others"
    ]


def _serves(rollout: Rollout, steps: Sequence[Step]) -> list[Json]:
    assert rollout.reward is not None
    served: list[int | None] = [None] * len(steps)
    for each in rollout.reward.served:
        served[each.step] = each.call
    return [
        {
            "call": each.call,
            "step": each.step,
            "in_order": each.in_order,
            "equal": each.equal,
            "how": _how(each, steps[each.step], rollout.calls, served),
        }
        for each in rollout.reward.served
    ]


def _how(
    served: Served, step: Step, calls: Sequence[Call], all_served: Sequence[int | None]
) -> str:
    """In words, how well a call serves a step."""
    call = calls[served.call]
    given = call.arguments or {}
    wrong = []
    for name, value in step.arguments.items():
        if is_plain(value, len(all_served)):
            known, gold = resolve(value, calls, all_served)
            if not known or name not in given or not equal(gold, given[name]):
                wrong.append(name)
    if served.equal == 1:
        same = "another call that yields the same" if wrong or call.tool != step.tool else "equal"
        told = same if step.arguments or call.tool != step.tool else "nothing to compare"
    else:
        told = f"argument {served.equal:.2f}: {', '.join(wrong)} differs"
    return told if served.in_order else f"{told}; not after what it needs"


def is_plain(value: Any, steps: int) -> bool:
    """Whether every reference in a right argument leads to a step that exists."""
    if isinstance(value, list):
        return all(is_plain(part, steps) for part in value)
    if isinstance(value, dict):
        return all(is_plain(part, steps) for part in value.values())
    return not isinstance(value, Ref) or 0 <= value.source[0] < steps


def show_gold(example: Example, path: Path) -> tuple[list[Json], list[str]]:
    """The right calls, played for results and diffs; and a note where they cannot be played."""
    reason = why_not_played(example, path)
    results: dict[int, tuple[str, Sequence[Change]]] = {}
    if path.steps and not reason:
        try:
            played = replay(example, path).played
        except Bug as problem:
            reason = f"playing the right calls met a bug: {problem}"
        else:
            results = {each.at: (each.outcome.text, each.changes) for each in played}
    gold = []
    for at, step in enumerate(path.steps):
        text, changes = results.get(at, ("", ()))
        told = {
            "step": at,
            "turn": step.turn,
            "tool": step.tool,
            "arguments": literals(step.arguments),
            "writes": step.writes,
            "answers": step.answers,
            "needs": step.needs,
            "evidence": step.evidence,
            "alternatives": step.alternatives,
            "result": text,
            "diff": changes,
        }
        gold.append(told)
    return gold, [reason] if reason and path.steps else []


def _in_bounds(turn: Turn) -> bool:
    return 0 <= turn.minutes <= MAX_MINUTES and len(turn.text) <= MAX_TURN


def why_not_played(example: Example, path: Path) -> str:
    """Why the right calls cannot be played here, or nothing."""
    name = example.server
    if not servers.is_known(name):
        made = f"was made on {name}, which is no server of ours" if name else "has no world"
        return f"it {made}; shown as recorded, without playing the right calls"
    try:
        version = servers.load(name).version
    except SpecError as problem:
        return f"its world cannot be built: {problem}; shown as recorded"
    if version != example.server_version:
        return (
            f"it was made on version {example.server_version} of {name}, and this is version"
            f" {version}; shown as recorded, without playing the right calls"
        )
    if unknown := [tool for tool in example.toolbox.distractors if tool not in all_tools()]:
        return f"it shows a tool that this version does not have, {unknown[0]}; shown as recorded"
    count = len(path.steps)
    values = [value for step in path.steps for value in step.arguments.values()]
    if max(count, len(example.turns)) > MAX_STEPS or not all(map(_in_bounds, example.turns)):
        return "it is longer than any example of ours; shown as recorded"
    if not all(is_plain(value, count) for value in values):
        return "its right calls refer to values that are not there; shown as recorded"
    if wrong := wrong_with(example):
        return f"it is no example that could be played ({wrong}); shown as recorded"
    # The digest is that of the example's own server; distractors bring others.
    if Session([servers.load(name)], example.seed).digest() != example.digest:
        return "its world is not the one that its seed gives here; shown as recorded"
    return ""
