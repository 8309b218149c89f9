"""T-Eval: six abilities (plan, reason, retrieve …), each in JSON and in words.

Its data are on no package registry, so the user names their folder. A task is one question and no
tool runs. The benchmark's environment holds only the model for sentence embeddings.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec

from provegym.evals import journal, teval_scores
from provegym.evals.benchmark import Advance, BenchmarkRun, command, draw
from provegym.evals.environments import TEVAL, BenchmarkError
from provegym.evals.gateway import Answer, Gateway, Load, noop
from provegym.evals.journal import RESULTS, Journal, Result, Score
from provegym.evals.sentences import Sentences
from provegym.evals.teval_scores import FINISH, Embed
from provegym.lines import write_lines
from provegym.models.served import Refused
from provegym.trace import Json, Reply

PARTS = (
    *("instruct", "plan_json", "plan_str", "reason_str", "retrieve_str", "understand_str"),
    *("reason_retrieve_understand_json", "review_str"),
)
ABILITIES = ("instruct", "plan", "reason", "retrieve", "understand", "review")
FORMATS = ("json", "str")


@dataclass(frozen=True)
class TevalFolder:
    """The folder of T-Eval's files, and the name of the embedding model."""

    data: Path
    embedder: str = ""

    def tasks(self, run: BenchmarkRun) -> dict[str, Json]:
        """The tasks of a run, by `file/id`; at most `run.limit` of each file."""
        found: dict[str, Json] = {}
        for part in PARTS:
            ability = part.partition("_")[0]
            if not run.subset or ability in run.subset or part in run.subset:
                tasks = self._file(part)
                names = draw("teval", list(tasks), run.limit)
                found |= {f"{part}/{name}": tasks[name] for name in names}
        if not found:
            raise BenchmarkError(f"{self.data} has none of T-Eval's files: {', '.join(PARTS)}")
        return found

    def _file(self, part: str) -> dict[str, Json]:
        names = [f"{part}{end}" for end in ("_v2.json", ".json", "_v1.json")]
        files = [self.data / name for name in names if (self.data / name).exists()]
        if not files:
            return {}
        try:
            return msgspec.json.decode(files[0].read_bytes(), type=dict[str, Json])
        except msgspec.DecodeError as problem:
            raise BenchmarkError(f"{files[0]}: {problem}") from None

    @contextmanager
    def embed(self) -> Iterator[Embed | None]:
        """The embedding model, if one is named."""
        if not self.embedder:
            yield None
            return
        sentences = Sentences(self.embedder)
        try:
            yield sentences
        finally:
            sentences.close()


def evaluate(folder: TevalFolder, run: BenchmarkRun, load: Load, advance: Advance) -> Json:
    """Ask the questions that are not answered, score every answer and report."""
    settings = {**run.settings("teval", PARTS), "data": str(folder.data)}
    if folder.embedder:
        TEVAL.need()
    with Journal(run.out, settings, "answers.jsonl") as book:
        return _evaluate(folder, run, load, advance, book)


def _evaluate(
    folder: TevalFolder, run: BenchmarkRun, load: Load, advance: Advance, book: Journal
) -> Json:
    tasks = folder.tasks(run)
    left = book.left(tasks)
    if left:
        with Gateway(load()).open() as gateway:
            gateway.probe()
            for result in ask(gateway, {name: tasks[name] for name in left}, run.at_once):
                book.keep(result)
                advance(run.model, len(tasks) - len(book.left(tasks)), len(tasks))
    answers = {name: str(book.results[name].record) for name in tasks}
    with folder.embed() as embed:
        scored = list(score(answers, tasks, embed))
        floors = {each.id: each.score for each in score(dict.fromkeys(tasks, ""), tasks, embed)}
    write_lines(run.out / RESULTS, (msgspec.json.encode(each) + b"\n" for each in scored))
    told: Json = {"command": command(), "notes": list(notes(folder))}
    if folder.embedder:
        told |= {"sentences": f"compared by {folder.embedder}", "versions": TEVAL.versions()}
    return book.report(summary(scored, floors), **told)


def ask(gateway: Gateway, tasks: Mapping[str, Json], at_once: int) -> Iterator[Result]:
    """Yield the answers in the order in which they come, at most `at_once` in flight."""
    waiting: dict[Future[Reply], str] = {}
    names = iter(tasks)
    while True:
        for name in islice(names, at_once - len(waiting)):
            waiting[gateway.ask({"model": name, "messages": tasks[name]["origin_prompt"]})] = name
        if not waiting:
            return
        done = next(as_completed(waiting))
        name, problem = waiting.pop(done), done.exception()
        gateway.check()
        said = "" if problem else done.result().text
        error = _why(problem) if problem else ""
        yield Result(id=name, group=name.partition("/")[0], record=said, error=error)


def _why(problem: BaseException) -> str:
    told = f"{type(problem).__name__}: {problem}"
    return f"prompt too long\n{told}" if isinstance(problem, Refused) else told


def score(
    answers: Mapping[str, str], tasks: Mapping[str, Json], embed: Embed | None
) -> Iterator[Result]:
    """One result for each ability that an answer is scored on."""
    for name, answer in answers.items():
        part = name.partition("/")[0]
        found = teval_scores.score(part, tasks[name], answer, embed)
        for group, value in found.items():
            yield Result(id=f"{name}/{group}", group=group, score=value)


def summary(results: Sequence[Result], floors: Mapping[str, float]) -> dict[str, Score]:
    """Each ability in each format, each ability, and the average of the abilities."""
    found = journal.scores(results, floors, (), {})
    wholes: dict[str, Score] = {}
    for ability in ABILITIES:
        formats = [name for form in FORMATS if (name := f"{ability}_{form}") in found]
        if len(formats) == (1 if ability == "review" else 2):
            wholes[ability] = journal.mean([found[name] for name in formats])
    if len(wholes) == len(ABILITIES):
        wholes["average"] = journal.mean(list(wholes.values()))
    return wholes | {name: found[name] for name in sorted(found)}


def notes(folder: TevalFolder) -> Iterator[str]:
    """Notes for the reader of the report."""
    yield "An ability is the mean of its two formats; never calls: an empty answer."
    if not folder.embedder:
        yield (
            "plan and reason have no score, and so there is no average: they compare sentences by"
            " a model, and none was given (--embedder; T-Eval's own is all-mpnet-base-v2)."
        )


def script(folder: TevalFolder, run: BenchmarkRun, name: str) -> Answer | None:
    """A script in place of a model: oracle knows the answers, noop refuses."""
    if name == "noop":
        return noop
    if name != "oracle":
        return None
    tasks = folder.tasks(run)

    async def oracle(body: Json) -> Reply:
        task = str(body["model"])
        return Reply(text=right(task.partition("/")[0], tasks[task]) if task in tasks else "Hello.")

    return oracle


def right(part: str, task: Json) -> str:
    """The right answer to a task, in the format it asks for."""
    truth = task["ground_truth"]
    if part == "instruct":
        return _instructed(task["template"], truth, task["meta_data"]["response_format"])
    if part == "plan_str":
        steps = [step for step in truth if step["name"] != FINISH]
        return "\n".join(f"Use {step['name']} with {step['args']}" for step in steps)
    if part == "review_str":
        return f"Answer: {truth['answer']}"
    if part.endswith("json"):
        return truth if isinstance(truth, str) else msgspec.json.encode(truth).decode()
    key = {"reason_str": "thought", "retrieve_str": "name", "understand_str": "args"}[part]
    return str((teval_scores.read(truth, "{", "}") or {}).get(key, ""))


def _instructed(template: Json, truth: Json, form: str) -> str:
    values = {"thought": "I know.", "action": truth["action"], "args": truth["args"]}
    if form == "json":
        named = {template[name]: value for name, value in values.items()}
        return msgspec.json.encode(named).decode()
    return "".join(
        f"{template[f'{name}_start']}{value}{template[f'{name}_end']}"
        for name, value in values.items()
    )
