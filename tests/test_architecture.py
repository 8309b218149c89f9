"""The house rules that reading the source can check; none has a list of exceptions."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "provegym"
LAYERS = (
    {"kernel", "files", "templates"},
    {"servers", "trace"},
    {"language", "toolbox", "rewards", "hosts", "fuzz", "workers"},
    {"search", "models"},
    {"rollout", "players"},
    {"verify", "graph"},
    {"conversation"},
    {"corpus", "teacher"},
    {"train", "evals", "view", "adapters"},
    {"cli", "config", "play", "demo", "quickstart", "bench", "__main__", "__init__"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
FILES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))
WORLDS = [path for path in FILES if path.parts[0] in ("kernel", "servers")]
# A world must not know the time, the machine or the network it runs on.
OUTSIDE = {
    *("os", "sys", "time", "uuid", "secrets", "socket", "ssl", "http", "urllib", "requests"),
    *("httpx", "asyncio", "threading", "multiprocessing", "subprocess", "tempfile", "platform"),
    *("getpass", "locale", "mcp", "anyio", "uvicorn", "starlette"),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef
every_file = pytest.mark.parametrize("path", FILES, ids=str)
every_world_file = pytest.mark.parametrize("path", WORLDS, ids=str)


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a source file."""
    return ast.parse((SOURCE / path).read_text("utf-8"))


def room(path: Path) -> str:
    """The package or module right under the root that a file belongs to."""
    return path.with_suffix("").parts[0]


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """What a file imports, absolutely: ("provegym", "kernel", "state", "Table")."""
    package = ("provegym", *path.parent.parts)
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = tuple(node.module.split(".")) if node.module else ()
            yield from ((*base, *module, alias.name) for alias in node.names)


def rooms_used(path: Path) -> set[str]:
    """The other rooms a file imports from; plain names of the root package are none."""
    inside = (parts[1] for parts in imports(path) if parts[0] == "provegym" and len(parts) > 1)
    return {used for used in inside if used in LEVEL and used != room(path)}


def functions(path: Path) -> list[Function]:
    """Every function of a file, methods and nested ones too."""
    return [node for node in ast.walk(tree(path)) if isinstance(node, Function)]


def decorators(node: Function) -> set[str]:
    """The decorators of a function as written, without their arguments."""
    return {ast.unparse(mark).partition("(")[0] for mark in node.decorator_list}


def is_tool(node: Function) -> bool:
    """Whether its parameters are not ours: a tool's are the model's, a command's the user's."""
    return bool(decorators(node) & {"server.read", "server.write", "app.command"})


@every_file
def test_belongs_to_a_layer(path: Path) -> None:
    assert room(path) in LEVEL


@every_file
def test_imports_point_left(path: Path) -> None:
    mine = LEVEL.get(room(path), len(LAYERS))
    above = {used for used in rooms_used(path) if LEVEL[used] > mine}
    assert above == set()


def test_rooms_do_not_import_each_other_in_circles() -> None:
    uses: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        uses[room(path)] |= rooms_used(path)
    while leaves := [name for name, used in uses.items() if not used & uses.keys()]:
        for name in leaves:
            del uses[name]
    assert dict(uses) == {}


@every_file
def test_no_server_imports_another(path: Path) -> None:
    if path.parts[0] != "servers":
        return
    folders = {folder.name for folder in (SOURCE / "servers").iterdir() if folder.is_dir()}
    mine = path.parts[1]
    used = {parts[2] for parts in imports(path) if parts[:2] == ("provegym", "servers")}
    assert used & (folders - {mine}) == set()


@every_file
def test_module_is_short_and_says_what_it_is(path: Path) -> None:
    assert len((SOURCE / path).read_text("utf-8").splitlines()) <= 400
    assert ast.get_docstring(tree(path))


@every_file
def test_functions_are_short(path: Path) -> None:
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions(path)}
    assert {name: lines for name, lines in lengths.items() if lines > 50} == {}


@every_file
def test_functions_have_few_parameters(path: Path) -> None:
    crowded = {
        node.name: count
        for node in functions(path)
        if not is_tool(node) and (count := parameters(node)) > 5
    }
    assert crowded == {}


def parameters(node: Function) -> int:
    """How many parameters a function has, besides self or cls."""
    taken = node.args
    named = [*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg]
    names = [argument.arg for argument in named if argument]
    return len(names) - (names[:1] in (["self"], ["cls"]))


@every_file
def test_what_is_public_is_documented(path: Path) -> None:
    assert [node.name for node in public(tree(path)) if not ast.get_docstring(node)] == []


def public(node: ast.Module | ast.ClassDef) -> Iterator[Function | ast.ClassDef]:
    """Public functions, classes and methods; overloads have no body to document."""
    for part in node.body:
        if isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
            yield part
            yield from public(part)
        elif isinstance(part, Function) and "overload" not in decorators(part):
            yield from () if part.name.startswith("_") else (part,)


@every_file
def test_names_say_something(path: Path) -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
    assert vague.isdisjoint(path.with_suffix("").parts)


@every_file
def test_nothing_is_caught_that_is_not_understood(path: Path) -> None:
    if path == Path("rollout.py"):
        return
    caught = [node.type for node in ast.walk(tree(path)) if isinstance(node, ast.ExceptHandler)]
    names = {"" if kind is None else ast.unparse(kind) for kind in caught}
    assert not [name for name in names if not name or "BaseException" in name or _broad(name)]


def _broad(name: str) -> bool:
    return "Exception" in name.strip("()").replace(" ", "").split(",")


@every_file
def test_no_guards_against_our_own_objects(path: Path) -> None:
    called = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
    guards = [ast.unparse(c) for c in called if ast.unparse(c.func) == "hasattr"]
    guards += [
        ast.unparse(c) for c in called if ast.unparse(c.func) == "getattr" and len(c.args) > 2
    ]
    assert guards == []


@every_world_file
def test_worlds_import_nothing_from_outside(path: Path) -> None:
    assert {parts[0] for parts in imports(path)} & OUTSIDE == set()
    random = {parts for parts in imports(path) if parts[0] == "random"}
    assert random <= {("random", "Random")}


@every_world_file
def test_worlds_ask_neither_clock_nor_chance(path: Path) -> None:
    forbidden = [ast.unparse(node) for node in ast.walk(tree(path)) if _leaves_the_seed(node)]
    assert forbidden == []


def _leaves_the_seed(node: ast.AST) -> bool:
    """A call whose result differs from run to run."""
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    holder, _, method = called.rpartition(".")
    if method in ("now", "utcnow", "today") and holder.rpartition(".")[2] in ("datetime", "date"):
        return True
    return called == "hash" or (method == "Random" and not node.args)


@every_world_file
def test_worlds_do_not_iterate_over_sets(path: Path) -> None:
    loops = [
        node.iter
        for node in ast.walk(tree(path))
        if isinstance(node, ast.For | ast.comprehension) and _is_set(node.iter)
    ]
    assert [ast.unparse(loop) for loop in loops] == []


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("set", "frozenset")
    return isinstance(node, ast.Set | ast.SetComp)
