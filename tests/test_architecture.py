"""The house rules that reading the source can check: one test per rule, over all files.

A failure lists every offender with its file and line. What ruff can check, ruff checks: missing
docstrings (`D1`), naive times (`DTZ`); see pyproject.toml.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "provegym"
LAYERS = (
    {"kernel", "errors", "files", "templates", "callable_module", "packages", "recipes"}
    | {"inflection", "lines", "temporary", "terminal"},
    {"servers", "trace"},
    {
        "aliases",
        "language",
        "toolbox",
        "rewards",
        "hosts",
        "fuzz",
        "workers",
        "worlds",
        "worker_group",
        "pool_watch",
    },
    {"search", "models"},
    {"rollout", "players"},
    {"verify", "graph"},
    {"conversation"},
    {"corpus", "teacher", "admission"},
    {"train", "evals", "view", "adapters"},
    {"cli", "config", "play", "demo", "quickstart", "starter", "bench", "api"}
    | {"__main__", "__init__"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
WORLDS = [path for path in FILES if path.parts[0] in ("kernel", "servers", "worlds")]
MODULE_LINES, FUNCTION_LINES, POSITIONAL = 400, 50, 5
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
ROOTS = {"Exception", "BaseException", "BaseExceptionGroup"}
# How many handlers of a file may catch everything: a policy's crash ends its own rollout, a model
# that fails while sampling is reported to everybody who waits for it, an engine that fails reports
# why to the trainer's process, and a process that scores rollouts to its engine.
CATCH_ALL = {
    "rollout.py": 1,
    "models/served.py": 1,
    "train/engines.py": 1,
    "train/scoring_pool.py": 1,
}
# A world must not know the time, the machine or the network it runs on.
OUTSIDE = {
    *("os", "sys", "time", "uuid", "secrets", "socket", "ssl", "http", "urllib", "requests"),
    *("httpx", "asyncio", "threading", "multiprocessing", "subprocess", "tempfile", "platform"),
    *("getpass", "locale", "mcp", "anyio", "uvicorn", "starlette"),
}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def none_of(offenders: list[str]) -> None:
    """Fail and list all offenders, each on a line of its own."""
    assert not offenders, "\n".join(("", *offenders))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Every node of a file's syntax tree."""
    return list(ast.walk(ast.parse((SOURCE / path).read_text("utf-8"))))


def functions(path: Path) -> list[Function]:
    """Every function of a file, methods and nested ones too."""
    return [node for node in nodes(path) if isinstance(node, Function)]


def room(path: Path) -> str:
    """The package or module right under the root that a file belongs to."""
    return path.with_suffix("").parts[0]


def imports(path: Path) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The line and the absolute name of each import: ("provegym", "kernel", "state", "Table")."""
    package = ("provegym", *path.parent.parts)
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = tuple(node.module.split(".")) if node.module else ()
            for alias in node.names:
                yield node.lineno, (*base, *module, alias.name)


def rooms_used(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the name of each other room a file imports from."""
    for line, parts in imports(path):
        used = parts[1] if parts[0] == "provegym" and len(parts) > 1 else ""
        if used in LEVEL and used != room(path):
            yield line, used


# Layers


def test_every_file_belongs_to_a_layer() -> None:
    none_of([str(path) for path in FILES if room(path) not in LEVEL])


def test_imports_point_left() -> None:
    above = [
        f"{path}:{line} imports {used}"
        for path in FILES
        for line, used in rooms_used(path)
        if LEVEL[used] > LEVEL.get(room(path), len(LAYERS))
    ]
    none_of(above)


@pytest.mark.parametrize("title", ["One example through synthesis", "One step of GRPO"])
def test_the_walks_in_contributing_never_step_back(title: str) -> None:
    """Each file of a walk is there, in the room of the one before it or in one to its left."""
    text = (SOURCE.parents[1] / "CONTRIBUTING.md").read_text("utf-8")
    walk = text[text.index(f"**{title}**") :].split("\n\n")[1]
    hops = [Path(name) for name in re.findall(r"^\d+\. `([\w/.]+)`", walk, re.MULTILINE)]
    assert len(hops) > 9
    none_of([str(hop) for hop in hops if not (SOURCE / hop).exists()])
    levels = [LEVEL[room(hop)] for hop in hops]
    assert levels == sorted(levels, reverse=True)


def test_rooms_do_not_import_each_other_in_circles() -> None:
    uses: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        uses[room(path)] |= {used for _, used in rooms_used(path)}
    while leaves := [name for name, used in uses.items() if not used & uses.keys()]:
        for name in leaves:
            del uses[name]
    assert dict(uses) == {}


def test_no_server_imports_another() -> None:
    folders = {folder.name for folder in (SOURCE / "servers").iterdir() if folder.is_dir()}
    others = [
        f"{path}:{line} imports {parts[2]}"
        for path in FILES
        if path.parts[0] == "servers"
        for line, parts in imports(path)
        if parts[:2] == ("provegym", "servers") and {*parts[2:3]} & (folders - {path.parts[1]})
    ]
    none_of(others)


# Size


def test_modules_are_short() -> None:
    lines = {path: len((SOURCE / path).read_text("utf-8").splitlines()) for path in FILES}
    long = [f"{path}: {count} lines" for path, count in lines.items() if count > MODULE_LINES]
    none_of(long)


def test_functions_are_short() -> None:
    long = [
        f"{path}:{node.lineno} {node.name}: {lines} lines"
        for path in FILES
        for node in functions(path)
        if not is_kernel(node)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES
    ]
    none_of(long)


def test_functions_have_few_positional_parameters() -> None:
    crowded = [
        f"{path}:{node.lineno} {node.name}: {count} positional parameters"
        for path in FILES
        for node in functions(path)
        if not is_tool(node) and not is_kernel(node) and (count := positional(node)) > POSITIONAL
    ]
    none_of(crowded)


def positional(node: Function) -> int:
    """How many parameters a caller may give by position, besides self or cls."""
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def is_tool(node: Function) -> bool:
    """Whether its parameters are not ours: a tool's are the model's, a command's the user's."""
    return bool(decorators(node) & {"server.read", "server.write", "app.command"})


def is_kernel(node: Function) -> bool:
    """Whether it is a Triton kernel, which takes neither tuples nor other Python functions."""
    return "triton.jit" in decorators(node)


def decorators(node: Function) -> set[str]:
    """The names of a function's decorators."""
    return {ast.unparse(mark).partition("(")[0] for mark in node.decorator_list}


# Names


def test_module_names_say_something() -> None:
    none_of([str(path) for path in FILES if VAGUE & {*path.with_suffix("").parts}])


def test_a_class_name_means_one_thing() -> None:
    none_of(list(ambiguous().values()))


def ambiguous() -> dict[str, str]:
    """Public class names that stand for several classes, and where; servers have their own."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in FILES:
        if path.parts[0] == "servers" and len(path.parts) > 2:
            continue
        for node in nodes(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(f"{path}:{node.lineno}")
    return {
        name: f"{name}: {', '.join(where)}"
        for name, where in sorted(places.items())
        if len(where) > 1
    }


# Errors and guards


def test_nothing_is_caught_that_is_not_understood() -> None:
    """A handler of every exception raises again; two boundaries may keep one."""
    kept = [
        (path.as_posix(), node.lineno)
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler) and catches_everything(node) and not raises(node)
    ]
    count = Counter(file for file, _ in kept)
    none_of([f"{file}:{line}" for file, line in kept if count[file] > CATCH_ALL.get(file, 0)])


def catches_everything(node: ast.ExceptHandler) -> bool:
    """Whether a handler is bare or names one of the roots."""
    if node.type is None:
        return True
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return not ROOTS.isdisjoint(map(ast.unparse, kinds))


def raises(node: ast.ExceptHandler) -> bool:
    """Whether a handler ends by raising, or by `blame`, which never returns."""
    last = node.body[-1]
    return isinstance(last, ast.Raise) or ast.unparse(last).startswith("blame(")


def test_no_guards_against_our_own_objects() -> None:
    guards = [
        f"{path}:{node.lineno} {ast.unparse(node)}"
        for path in FILES
        for node in nodes(path)
        if isinstance(node, ast.Call) and is_guard(node)
    ]
    none_of(guards)


def is_guard(call: ast.Call) -> bool:
    """Whether a call is hasattr(…), or getattr(…) with a default."""
    name = ast.unparse(call.func)
    return name == "hasattr" or (name == "getattr" and len(call.args) > 2)


# Worlds


def test_worlds_import_nothing_from_outside() -> None:
    outside = [
        f"{path}:{line} imports {'.'.join(parts)}"
        for path in WORLDS
        for line, parts in imports(path)
        if parts[0] in OUTSIDE or (parts[0] == "random" and parts != ("random", "Random"))
    ]
    none_of(outside)


def test_worlds_ask_neither_clock_nor_chance() -> None:
    forbidden = [
        f"{path}:{node.lineno} {ast.unparse(node)}"
        for path in WORLDS
        for node in nodes(path)
        if isinstance(node, ast.Call) and leaves_the_seed(node)
    ]
    none_of(forbidden)


def leaves_the_seed(call: ast.Call) -> bool:
    """Whether the result of a call differs from run to run."""
    called = ast.unparse(call.func)
    holder, _, method = called.rpartition(".")
    if method in ("now", "utcnow", "today") and holder.rpartition(".")[2] in ("datetime", "date"):
        return True
    return called == "hash" or (method == "Random" and not call.args)


def test_worlds_do_not_iterate_over_sets() -> None:
    loops = [
        f"{path}:{node.iter.lineno} {ast.unparse(node.iter)}"
        for path in WORLDS
        for node in nodes(path)
        if isinstance(node, ast.For | ast.comprehension) and is_set(node.iter)
    ]
    none_of(loops)


def is_set(node: ast.expr) -> bool:
    """Whether an expression is plainly a set, whose order differs from run to run."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("set", "frozenset")
    return isinstance(node, ast.Set | ast.SetComp)
