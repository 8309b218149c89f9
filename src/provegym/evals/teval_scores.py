"""T-Eval's scores of an answer, by ability and format, as its second version defines them.

They are written from the benchmark's definitions. One quirk that changes scores is kept: a plan
that can be parsed always counts at least one right step, and an empty plan counts none.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from provegym.trace import Json

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]
NAME_WEIGHT, ARGUMENTS_WEIGHT, ALIKE = 0.75, 0.25, 0.8
FINISH = "FinishAction"


def score(part: str, task: Json, answer: str, embed: Embed | None) -> dict[str, float]:
    """The scores of an answer to a task of a file, by ability and format.

    Plans and thoughts are compared by sentence embeddings; without `embed` they get no score.
    """
    if part == "instruct":
        return instruct(task, answer)
    if part.startswith("plan"):
        return {part: plan(task, answer, embed)} if embed else {}
    if part == "review_str":
        return {part: review(task, answer)}
    return dict(understanding(part, task, answer, embed))


def read(text: Any, opening: str = "", closing: str = "") -> Any:
    """Parse a JSON or Python literal, perhaps in a code fence; None if it is neither."""
    if not isinstance(text, str):
        return text
    if "```json" in text:
        text = text.partition("```json")[2].strip("`")
    if opening:
        text = text[max(text.find(opening), 0) : text.rfind(closing) + 1]
    for attempt in (ast.literal_eval, _decode, lambda told: _decode(told.replace("'", '"'))):
        try:
            return attempt(text.strip())
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return None


def _decode(text: str) -> Any:
    return msgspec.json.decode(text)


def instruct(task: Json, answer: str) -> dict[str, float]:
    """Half for the format, half for the action's name and arguments."""
    right, template = task["ground_truth"], task["template"]
    kind = "json" if task["meta_data"]["response_format"] == "json" else "str"
    found = _from_json(template, answer) if kind == "json" else _from_text(template, answer)
    group = f"instruct_{kind}"
    if found is None:
        return {group: 0.0}
    action, given = found
    equal = [action == right["action"]]
    equal += [given.get(name, "") == value for name, value in right["args"].items()]
    return {group: (1 + sum(equal) / len(equal)) / 2}


def _from_json(template: Json, answer: str) -> tuple[Any, Json] | None:
    value = read(answer)
    names = [template[name] for name in ("thought", "action", "args")]
    if not isinstance(value, dict) or not all(name in value for name in names):
        return None
    given = value[names[2]]
    return value[names[1]], given if isinstance(given, dict) else {}


def _from_text(template: Json, answer: str) -> tuple[str, Json] | None:
    parts = ("thought", "action", "args")
    pattern = "".join(
        re.escape(template[f"{name}_start"]) + "(.*?)" + re.escape(template[f"{name}_end"])
        for name in parts
    )
    ended = bool(template["args_end"])
    found = re.search(pattern if ended else pattern + r"\Z", answer, re.DOTALL)
    if found is None:
        return None
    given = read(found[3])
    return found[2].strip(), given if isinstance(given, dict) else {}


def plan(task: Json, answer: str, embed: Embed) -> float:
    """F1 score of the steps that match the right plan in the right order."""
    meta = task.get("meta") or task.get("meta_data") or {}
    kind = meta.get("prompt_type") or meta.get("response_format")
    given = _named(answer, meta["API_list"]) if kind == "str" else _steps(answer)
    right = _steps(task["ground_truth"])
    given, right = (s[:-1] if s and s[-1][0] == FINISH else s for s in (given, right))
    if not given or not right:
        return 0.0
    pairs = match(_likeness(given, right, embed))
    count = max(1, _rising([pairs[at] for at in sorted(pairs)]))
    recall, precision = count / len(right), count / len(given)
    return 2 * recall * precision / (recall + precision)


def _steps(plan: Any) -> list[tuple[str, str]]:
    """Name and arguments of each step of a JSON plan, by id; no steps if one is broken."""
    value = read(plan, "[", "]")
    try:
        steps = [(int(s["id"]), str(s["name"]), str(s["args"])) for s in value]
    except (TypeError, KeyError, ValueError):
        return []
    return [(name, given) for _, name, given in sorted(steps, key=lambda step: step[0])]


def _named(answer: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """The steps of a plan in words: the first tool that each sentence names."""
    steps = []
    for sentence in answer.replace(". ", "\n").split("\n"):
        places = [(at, name) for name in names if (at := sentence.find(name)) >= 0]
        if places:
            steps.append((min(places, key=lambda place: place[0])[1], sentence))
    return steps


def _likeness(
    given: Sequence[tuple[str, str]], right: Sequence[tuple[str, str]], embed: Embed
) -> list[list[float]]:
    """Similarity of each given step to each right one; 0 if below the threshold."""
    names, arguments = (
        _cosines([step[at] for step in given], [step[at] for step in right], embed) for at in (0, 1)
    )
    both = [
        [NAME_WEIGHT * n + ARGUMENTS_WEIGHT * a for n, a in zip(*rows, strict=True)]
        for rows in zip(names, arguments, strict=True)
    ]
    return [[value if value > ALIKE else 0.0 for value in row] for row in both]


def _cosines(first: Sequence[str], second: Sequence[str], embed: Embed) -> list[list[float]]:
    vectors = [_unit(vector) for vector in embed([*first, *second])]
    ours, theirs = vectors[: len(first)], vectors[len(first) :]
    return [[max(0.0, _dot(one, other)) for other in theirs] for one in ours]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def _unit(vector: Sequence[float]) -> list[float]:
    length = sum(value * value for value in vector) ** 0.5 or 1.0
    return [value / length for value in vector]


def match(weights: Sequence[Sequence[float]]) -> dict[int, int]:
    """Maximum-weight bipartite matching of rows to columns; pairs of weight 0 are left out."""
    size = max(len(weights), len(weights[0]))
    cost = [[0.0] * size for _ in range(size)]
    for at, row in enumerate(weights):
        cost[at][: len(row)] = [-value for value in row]
    taken = _assign(cost)
    return {
        row: column
        for row, column in taken.items()
        if row < len(weights) and column < len(weights[0]) and weights[row][column]
    }


def _assign(cost: Sequence[Sequence[float]]) -> dict[int, int]:
    """Hungarian algorithm: the cheapest assignment of rows to columns of a square matrix."""
    size = len(cost)
    rows, columns = [0.0] * (size + 1), [0.0] * (size + 1)
    owner = [size] * (size + 1)
    for row in range(size):
        owner[size], at = row, size
        best, before, seen = [float("inf")] * size, [size] * size, set[int]()
        while owner[at] != size:
            seen.add(at)
            for column in set(range(size)) - seen:
                price = cost[owner[at]][column] - rows[owner[at]] - columns[column]
                if price < best[column]:
                    best[column], before[column] = price, at
            after = min((c for c in range(size) if c not in seen), key=lambda c: best[c])
            step = best[after]
            for column in seen:
                rows[owner[column]] += step
                columns[column] -= step
            best = [value if c in seen else value - step for c, value in enumerate(best)]
            at = after
        while at != size:
            owner[at] = owner[before[at]]
            at = before[at]
    return {owner[column]: column for column in range(size)}


def _rising(values: Sequence[int]) -> int:
    """The length of the longest increasing subsequence."""
    longest: list[int] = []
    for at, value in enumerate(values):
        shorter = [longest[i] for i in range(at) if values[i] < value]
        longest.append(1 + max(shorter, default=0))
    return max(longest, default=0)


def review(task: Json, answer: str) -> float:
    """1 if the letter after the first colon is the right one."""
    said = answer[answer.find(":") + 1 :].strip()
    return float(said[:1] == task["ground_truth"]["answer"])


def understanding(
    part: str, task: Json, answer: str, embed: Embed | None
) -> Iterator[tuple[str, float]]:
    """Scores of thought, name and arguments of the next action: all in JSON, one in words."""
    right = read(task["ground_truth"], "{", "}") or {}
    ability, _, kind = part.rpartition("_")
    found = read(answer, "{", "}") if kind == "json" else None
    broken = kind == "json" and not isinstance(found, dict)
    wanted = ("reason", "retrieve", "understand") if kind == "json" else (ability,)
    if "reason" in wanted and embed:
        said = str(found.get("thought", "")) if isinstance(found, dict) else answer
        thought = str(right.get("thought", ""))
        yield f"reason_{kind}", 0.0 if broken else _cosines([said], [thought], embed)[0][0]
    if "retrieve" in wanted:
        name = str(right.get("name", ""))
        same = found.get("name") == name if isinstance(found, dict) else _names(answer, name)
        yield f"retrieve_{kind}", float(same and not broken)
    if "understand" in wanted:
        given = found.get("args") if isinstance(found, dict) else answer
        yield f"understand_{kind}", 0.0 if broken else _arguments(right.get("args"), given, kind)


def _names(answer: str, name: str) -> bool:
    """Whether an answer in words names the right tool and no other."""
    every = re.findall(r"\w+\.\w+", answer) + re.findall(FINISH, answer)
    return name in answer and all(each == name for each in every)


def _arguments(right: Any, given: Any, kind: str) -> float:
    if kind == "str":
        return float(str(given).strip("'").strip('"') == str(right))
    right, given = (value if isinstance(value, dict) else {} for value in (right, given))
    if not right:
        return float(not given)
    equal = [name in given and str(given[name]) == str(right[name]) for name in right]
    return sum(equal) / len(equal)
