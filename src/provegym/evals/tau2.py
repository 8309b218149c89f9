"""τ²-bench (airline, retail, telecom) as reimplemented in the package `inspect-evals`.

Two models talk: the agent that is evaluated, and a model that plays the user (user simulator).
The scripts oracle and noop play both.
"""

import ast
import gzip
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from provegym.evals.environments import TAU2, BenchmarkError
from provegym.evals.gateway import PROBE, Answer, Gateway
from provegym.evals.journal import Means
from provegym.evals.sandbox import Sandbox
from provegym.models.served import Refused
from provegym.trace import Json, Reply, ToolCall

DOMAINS = ("airline", "retail", "telecom")
STOP = "###STOP###"


class Tau2:
    """τ²-bench in its virtual environment."""

    name = "tau2"
    environment = TAU2
    groups: tuple[str, ...] = DOMAINS
    notes: tuple[str, ...] = (
        "τ²-bench as inspect-evals carries it, one trial per task (pass^1): a reimplementation of"
        " the original, and the model that plays the user moves the score.",
    )

    @property
    def means(self) -> Means:
        """The mean of the three domains."""
        return {"average": dict.fromkeys(DOMAINS, 1)}

    @cached_property
    def data(self) -> Path:
        """The folder of its domains."""
        return self.environment.packages / "inspect_evals" / "tau2" / "data" / "domains"

    def entries(self, domain: str) -> list[Json]:
        """The tasks of a domain's base split."""
        folder = self.data / domain
        packed = folder / "tasks.json.gz"
        text = gzip.decompress(packed.read_bytes()) if packed.exists() else b""
        every = msgspec.json.decode(text or (folder / "tasks.json").read_bytes())
        base = set(msgspec.json.decode((folder / "split_tasks.json").read_bytes())["base"])
        return [task for task in every if task["id"] in base]

    def tasks(self) -> dict[str, str]:
        """The domain of every task, by `domain/id`."""
        return {f"{each}/{task['id']}": each for each in DOMAINS for task in self.entries(each)}

    def functions(self) -> list[Json]:
        """The tools of every domain, parsed from their source code without running it."""
        folder, found = self.data.parents[1], {}
        files = [folder / "common" / "tools.py"]
        files += [file for each in DOMAINS for file in (folder / each).glob("*tools.py")]
        for file in files:
            for node in ast.parse(file.read_text("utf-8")).body:
                if isinstance(node, ast.FunctionDef) and "tool" in map(
                    ast.unparse, node.decorator_list
                ):
                    found[node.name] = _function(node)
        return list(found.values())

    def play(self, gateway: Gateway, tasks: Sequence[str], at_once: int) -> Iterator[Json]:
        """Play tasks domain by domain; a script plays them one at a time, in order."""
        if isinstance(gateway.answer, TauScript):
            gateway.answer.expected, at_once = list(tasks), 1
        for domain in DOMAINS:
            names = [task.partition("/")[2] for task in tasks if task.startswith(f"{domain}/")]
            job = {"domain": domain, "concurrency": at_once}
            bench = Sandbox(self.environment, gateway, job, megabytes=16_384)
            for told in bench.play(names) if names else ():
                yield {**told, "id": f"{domain}/{told['id']}"}

    def script(self, name: str) -> Answer | None:
        """oracle makes the right calls, for agent and user; noop refuses every request."""
        if name not in ("oracle", "noop"):
            return None
        return TauScript(dict(self._parts()), calls=name == "oracle")

    def _parts(self) -> Iterator[tuple[str, "TauTask"]]:
        for domain in DOMAINS:
            for task in self.entries(domain):
                yield f"{domain}/{task['id']}", TauTask.of(task)


@dataclass(frozen=True)
class TauTask:
    """The right actions of a task by turn (user, agent), and texts that identify the task."""

    turns: tuple[tuple[tuple[Json, ...], tuple[Json, ...]], ...]
    tells: str
    clues: tuple[str, ...]

    @classmethod
    def of(cls, task: Json) -> "TauTask":
        """Read one entry of the benchmark's tasks."""
        right = task.get("evaluation_criteria") or {}
        turns: list[tuple[list[Json], list[Json]]] = [([], [])]
        for action in right.get("actions") or ():
            agent = action.get("requestor", "assistant") == "assistant"
            if not agent and turns[-1][1]:
                turns.append(([], []))
            turns[-1][agent].append(action)
        told = "; ".join(right.get("communicate_info") or ())
        scenario = task["user_scenario"]
        return cls(
            tuple((tuple(mine), tuple(yours)) for mine, yours in turns),
            f"Done: {told}." if told else "Done.",
            tuple(_texts(scenario)),
        )


def _function(node: ast.FunctionDef) -> Json:
    """A tool's schema, from the inner function of the factory that makes the tool."""
    inner = next(each for each in node.body if isinstance(each, ast.AsyncFunctionDef))
    kinds = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
    shown = {}
    for argument in inner.args.args:
        told = ast.unparse(argument.annotation) if argument.annotation else ""
        kind = kinds.get(told, "array" if told.startswith("list") else "string")
        shown[argument.arg] = {"type": kind}
    about = (ast.get_docstring(inner) or "").partition("\n\n")[0]
    return {"name": node.name, "description": about, "parameters": {"properties": shown}}


def _texts(value: Any) -> Iterator[str]:
    """Every line of every text in a scenario, as the user's prompt shows it."""
    if isinstance(value, str):
        yield from (line.strip() for line in value.splitlines() if line.strip())
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)


@dataclass
class TauScript:
    """A script that plays agent and user; the user's first words name the task for both.

    Several tasks may have the same scenario and differ only in the world. So tasks are played in a
    known order, and a new conversation is the next expected task that fits its prompt.
    """

    parts: Mapping[str, TauTask]
    calls: bool
    expected: list[str] = field(default_factory=list)

    async def __call__(self, body: Json) -> Reply:
        """The next message of the agent or of the user."""
        return self._user(body) if body["model"] == "user" else self._agent(body)

    def _user(self, body: Json) -> Reply:
        messages = body["messages"]
        said = [str(m["content"]) for m in messages if m["role"] == "assistant"]
        key = _task(said[0])[0] if said else self._begin(str(messages[0]["content"]))
        # The first message only asks the user to begin; the others are the agent's.
        turn = sum(message["role"] == "user" for message in messages) - 1
        if turn >= len(self.parts[key].turns) or (turn and not self.calls):
            return Reply(text=STOP)
        words = f"task={key} turn={turn}="
        action = self._next(self.parts[key].turns[turn][0], body)
        return Reply(text=words, calls=action.calls if action else ())

    def _begin(self, prompt: str) -> str:
        """The next expected task whose scenario the prompt shows."""
        key = max(self.expected or self.parts, key=lambda name: _fit(self.parts[name], prompt))
        if key in self.expected:
            self.expected.remove(key)
        return key

    def _agent(self, body: Json) -> Reply:
        asked = next(m["content"] for m in reversed(body["messages"]) if m["role"] == "user")
        key, turn = _task(str(asked))
        if not self.calls or key not in self.parts:
            return Reply(text="I cannot help with that.")
        action = self._next(self.parts[key].turns[turn][1], body)
        return action or Reply(text=self.parts[key].tells)

    def _next(self, actions: Sequence[Json], body: Json) -> Reply | None:
        """The first action that was not called since the other side last spoke."""
        messages = body["messages"]
        last = max(at for at, m in enumerate(messages) if m["role"] == "user")
        made = sum(len(m.get("tool_calls") or ()) for m in messages[last:])
        if not self.calls or made >= len(actions):
            return None
        action = actions[made]
        shown = [tool["function"]["name"] for tool in body.get("tools") or ()]
        names = [n for n in shown if n == action["name"] or n.endswith(f"_{action['name']}")]
        arguments = msgspec.json.encode(action["arguments"]).decode()
        return Reply(calls=(ToolCall(name=(names or [action["name"]])[0], arguments=arguments),))


def _task(words: str) -> tuple[str, int]:
    """The task and the turn that the scripted user's message names."""
    key, _, turn = words.removeprefix("task=").removesuffix("=").rpartition(" turn=")
    return key, int(turn) if turn.isdigit() else 0


def _fit(part: TauTask, prompt: str) -> float:
    """How well a prompt matches a task: share of its lines found, then their number."""
    found = sum(clue in prompt for clue in part.clues)
    return found / max(len(part.clues), 1) + found / 1000


@dataclass(frozen=True)
class AgentAndUser:
    """Answers for agent and user, each by a model of its own.

    A conversation that is too long for either model ends at once. Otherwise the agent's requests
    would be refused again and again, until the user has said a hundred messages.
    """

    agent: Answer
    user: Answer
    refusals: set[str] = field(default_factory=set)

    async def __call__(self, body: Json) -> Reply:
        """Ask the agent or the user, by the model's name; a probe asks both."""
        if body is PROBE:
            await self.user(body)
        return await (self._user if body["model"] == "user" else self._agent)(body)

    async def _agent(self, body: Json) -> Reply:
        try:
            return await self.agent(body)
        except Refused as problem:
            self.refusals.add(str(problem))
            raise

    async def _user(self, body: Json) -> Reply:
        heard = str(body["messages"][-1]["content"])
        if any(refusal in heard for refusal in self.refusals):
            return Reply(text=STOP)
        try:
            return await self.user(body)
        except Refused:
            return Reply(text=STOP)


def user_needed() -> BenchmarkError:
    """The error if no model plays the user."""
    return BenchmarkError(
        "τ² needs a model that plays the user: --user URL --user-model NAME"
        " (the paper's is Qwen3-VL-235B-A22B-Instruct)"
    )
