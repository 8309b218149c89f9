"""Plain and aliased players side by side, for the tests of aliases."""

from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from random import Random

import msgspec

from provegym import servers
from provegym.aliases import ALIAS_STYLES, AliasedView, draw
from provegym.aliases.styles import settled
from provegym.fuzz import Fuzzer
from provegym.rollout import Player
from provegym.toolbox import Toolbox, under
from provegym.trace import Alias, Example, Json, ToolCall, Turn, read

DATA = Path(__file__).parents[1] / "data"
ODD_VALUES = (None, "zz", 5, [], {"a": 1}, "acc_1", "~~x", 'it\'s | "odd"\n')


@cache
def examples() -> list[Example]:
    """The examples made by hand, over all servers."""
    return [each for file in sorted(DATA.glob("*.jsonl")) for each in read(file, Example)]


def bare_example(server: str, seed: int = 1) -> Example:
    """An example with nothing to do."""
    return Example(
        id=f"bare-{server}",
        kind="multi_turn",
        server=server,
        server_version=servers.load(server).version,
        seed=seed,
        digest="",
        system="",
        turns=(Turn(text="Hello."),),
    )


def style(seed: int = 5, **fields: str) -> Alias:
    """An alias with these styles, the others as plain as can be."""
    given = {name: styles[0] for name, styles in ALIAS_STYLES.items()} | fields
    return settled(Alias(seed=seed, **given))  # type: ignore[arg-type]


def every_style() -> list[Alias]:
    """Aliases in which each pair of tool form, vocabulary and argument form occurs."""
    names = ("tools", "words", "names")
    pairs = product(*(ALIAS_STYLES[name] for name in names))
    rest = ("enums", "ids", "results", "descriptions")
    found = []
    for at, chosen in enumerate(pairs):
        more = {name: ALIAS_STYLES[name][at % len(ALIAS_STYLES[name])] for name in rest}
        found.append(style(at, **dict(zip(names, chosen, strict=True)), **more))
    return found


def view(server: str, alias: Alias) -> AliasedView:
    """The view of one server under an alias."""
    found = Toolbox.of(under(bare_example(server), alias)).view
    assert isinstance(found, AliasedView)
    return found


def opened(example: Example) -> Player:
    """A player that has heard the first turn."""
    player = Player(example)
    player.open()
    player.hear(0)
    return player


def fuzzed_calls(server: str, player: Player, key: str, count: int) -> Iterator[ToolCall]:
    """Calls on a live world, a fifth of them broken: unknown, missing or odd arguments."""
    known = servers.load(server)
    chance, fuzzer = Random(key), Fuzzer(known, key)
    fuzzer.look(player.session.state(known))
    for _ in range(count):
        tool = chance.choice(list(known.tools.values()))
        needed = tool.input_schema["required"]
        given: Json = {
            name: fuzzer.value(name, part)
            for name, part in tool.input_schema["properties"].items()
            if name in needed or chance.random() < 0.3
        }
        broken = chance.random()
        if broken < 0.05:
            given["foo_bar"] = 1
        elif given and broken < 0.12:
            del given[chance.choice(list(given))]
        elif given and broken < 0.2:
            given[chance.choice(list(given))] = chance.choice(ODD_VALUES)
        yield ToolCall(name=tool.name, arguments=msgspec.json.encode(given).decode())


def drawn(server: str, seed: int) -> Example:
    """An aliased example with nothing to do, in a drawn style."""
    return under(bare_example(server, seed), draw(1_000 * seed + len(server)))
