"""Plays BFCL tasks inside BFCL's environment, with its own handler, worlds and checkers.

The benchmark's code is unchanged. BFCL keeps worlds in global variables by model name and task. So
each task gets a model name of its own, and its worlds are deleted when it is done. BFCL evaluates
model output as Python, so builtins that reach files, code or the process are hidden from it.
"""

import builtins
import copy
import importlib
import json
import os
import pathlib
import sys
import time
import types
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

# Modules that the checker imports: the list of models, with the handlers of other vendors, and
# table drawing. They would need two gigabytes of packages, so stand-ins take their place.
UNUSED = ("bfcl_eval.constants.model_config", "numpy", "pandas")
OUT_OF_SIGHT = {
    *("open", "eval", "exec", "compile", "__import__", "input", "breakpoint", "help", "exit"),
    *("quit", "globals", "locals", "vars", "getattr", "setattr", "delattr", "memoryview"),
    *("copyright", "credits", "license", "__loader__", "__spec__", "__build_class__", "__debug__"),
}


def play(job: dict[str, Any], emit: Callable[[dict[str, Any]], None]) -> None:
    """Play every task of a job, some at a time, and emit the result of each."""
    os.environ.update({"OPENAI_API_KEY": job["key"], "OPENAI_BASE_URL": job["url"]})
    os.environ["BFCL_PROJECT_ROOT"] = os.getcwd()
    multi_turn = Third if job["edition"] == "v3" else Bench
    made = multi_turn if job["tasks"][0].startswith("multi_turn_") else SingleTurn
    bench = made(job["run"], sorted({category(name) for name in job["tasks"]}))
    with ThreadPoolExecutor(job["concurrency"]) as pool:
        coming = {pool.submit(bench.play, name, emit): name for name in job["tasks"]}
        for done in as_completed(coming):
            problem = done.exception()
            if problem is None:
                emit(done.result())
            else:
                emit({"id": coming[done], "valid": False, "error": why(problem), "result": []})


def category(name: str) -> str:
    """The category of a task, from its id."""
    return name.rpartition("_")[0]


def tokens(counts: Any) -> int:
    """The sum of a number, or of lists of numbers."""
    return sum(map(tokens, counts)) if isinstance(counts, list) else int(counts)


def why(problem: BaseException) -> str:
    """The error that stopped a task; a refused request is named `prompt too long`."""
    refused = isinstance(problem, importlib.import_module("openai").BadRequestError)
    told = f"{type(problem).__name__}: {problem}"[:500]
    return f"prompt too long\n{told}" if refused else told


class Bench:
    """The benchmark's data, its handler for OpenAI-compatible endpoints and its checker."""

    def __init__(self, run: str, categories: list[str]) -> None:
        # The handler shows dots in tool names as underscores. The checker asks the list of models
        # whether that is so; there it is so for every OpenAI model in function-calling mode.
        models: Any = defaultdict(lambda: types.SimpleNamespace(underscore_to_dot=True))
        for name in UNUSED:
            stand_in = types.ModuleType(name)
            stand_in.__dict__["MODEL_CONFIG_MAPPING"] = models
            sys.modules[name] = stand_in
        load = importlib.import_module
        self.run = run
        self.worlds = load("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils").__dict__
        self.checker = load("bfcl_eval.eval_checker.eval_runner")
        handlers = load("bfcl_eval.model_handler.api_inference.openai_completion")
        self.handler = self.make(handlers.OpenAICompletionsHandler)
        self.entries: dict[str, Any] = {}
        self.truths: dict[str, Any] = {}
        for each in categories:
            entries, truths = self.read(each)
            self.entries |= {entry["id"]: entry for entry in entries}
            self.truths |= {truth["id"]: truth["ground_truth"] for truth in truths}
        seen = {name: value for name, value in vars(builtins).items() if name not in OUT_OF_SIGHT}
        self.worlds["__builtins__"] = seen

    def make(self, handler: Any) -> Any:
        """BFCL's handler in function-calling mode."""
        return handler(self.run, 0.001, self.run, True)

    def read(self, kind: str) -> tuple[Any, Any]:
        """The tasks of a category, and their right calls."""
        data = importlib.import_module("bfcl_eval.utils")
        return data.load_dataset_entry(kind), data.load_ground_truth_entry(kind)

    def check(self, handler: Any, name: str, result: Any) -> dict[str, Any]:
        """BFCL's verdict on what a model did."""
        verdict: dict[str, Any] = self.checker._evaluate_single_multi_turn_entry(
            handler, name, result, self.truths[name], copy.deepcopy(self.entries[name]),
            handler.model_name_underline_replaced, category(name),
        )  # fmt: skip
        return verdict

    def play(self, name: str, emit: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Play a task with the model and check the result."""
        emit({"begin": name})
        handler, started = copy.copy(self.handler), time.monotonic()
        # The name tells the gateway which task this is, and BFCL which worlds belong to it.
        handler.model_name = f"{self.run}/{name}"
        handler.model_name_underline_replaced = f"{self.run}_{name}"
        try:
            result, told = handler.inference(copy.deepcopy(self.entries[name]), False, True)
            verdict = self.check(handler, name, result)
        finally:
            self._forget(handler.model_name_underline_replaced)
        error = verdict.get("error") or {}
        return {
            "id": name,
            "valid": verdict["valid"],
            "error": str(error.get("error_type", "")),
            "result": result,
            "seconds": round(time.monotonic() - started, 3),
            "tokens": tokens(told["output_token_count"]),
        }

    def _forget(self, name: str) -> None:
        """Delete the worlds of a task from BFCL's global variables."""
        for key in [key for key in list(self.worlds) if key.startswith(f"{name}_")]:
            del self.worlds[key]


class Third(Bench):
    """BFCL v3: the same worlds and loop, with other functions to read data and to check."""

    def make(self, handler: Any) -> Any:
        """BFCL's handler in function-calling mode."""
        made = handler(self.run, 0.001)
        made.is_fc_model = True
        return made

    def read(self, kind: str) -> tuple[Any, Any]:
        """The tasks of a category, and their right calls."""
        load = importlib.import_module
        where, file = load("bfcl_eval.constants.eval_config"), f"BFCL_v3_{kind}.json"
        read = load("bfcl_eval.utils").load_file
        entries = read(where.PROMPT_PATH / file)
        shown = load("bfcl_eval._llm_response_generation").process_multi_turn_test_case(entries)
        return shown, read(where.POSSIBLE_ANSWER_PATH / file)

    def check(self, handler: Any, name: str, result: Any) -> dict[str, Any]:
        """BFCL's verdict, which v3 writes to a file: a summary, then the failures."""
        world, kind = handler.model_name_underline_replaced, category(name)
        done, right = {"id": name, "result": result}, {"ground_truth": self.truths[name]}
        entry, folder = copy.deepcopy(self.entries[name]), pathlib.Path.cwd()
        share, _ = self.checker.multi_turn_runner(
            handler, [done], [entry], [right], world, kind, folder
        )
        told = (folder / world / f"BFCL_v3_{kind}_score.json").read_text().splitlines()
        failed = json.loads(told[1]) if len(told) > 1 else {}
        return {"valid": share == 1, "error": failed.get("error")}


class SingleTurn(Bench):
    """The single-turn categories: one request, whose calls are compared with the right ones."""

    def __init__(self, run: str, categories: list[str]) -> None:
        self.plain: dict[str, Any] = {}
        super().__init__(run, categories)

    def read(self, kind: str) -> tuple[Any, Any]:
        """The tasks of a category, and their right calls; relevance and irrelevance have none."""
        data = importlib.import_module("bfcl_eval.utils")
        # The model sees a hint on the language in each function; the checker reads the original.
        plain = data.load_dataset_entry(kind, include_language_specific_hint=False)
        self.plain |= {entry["id"]: entry for entry in plain}
        answered = not data.is_relevance_or_irrelevance(kind)
        truths = data.load_ground_truth_entry(kind) if answered else []
        return data.load_dataset_entry(kind), truths

    def check(self, handler: Any, name: str, result: Any) -> dict[str, Any]:
        """BFCL's verdict: whether there was a call, or whether the calls are right."""
        data, kind = importlib.import_module("bfcl_eval.utils"), category(name)
        model, entry = handler.model_name_underline_replaced, copy.deepcopy(self.plain[name])
        if data.is_relevance_or_irrelevance(kind):
            verdict = self.checker._evaluate_single_relevance_entry(
                handler, name, result, entry, model, kind
            )
        else:
            enums = importlib.import_module("bfcl_eval.constants.enums")
            language = "JAVA" if data.is_java(kind) else "PYTHON"
            language = "JAVASCRIPT" if data.is_js(kind) else language
            verdict = self.checker._evaluate_single_ast_entry(
                handler, name, result, self.truths[name], entry, model, kind,
                enums.Language[language], enums.ReturnFormat[language],
            )  # fmt: skip
        return {"valid": verdict["valid"], "error": verdict}
