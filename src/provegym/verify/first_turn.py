"""The first turn of an example as a task of its own, if it is still verified."""

import msgspec

from provegym.players.scripted import oracle
from provegym.rollout import play_script
from provegym.trace import Example, Path, Provenance
from provegym.verify import verify


def first_turn(example: Example) -> Example | None:
    """The example cut after its first user turn.

    None if that turn needs no call, or if the cut example does not pass verification.
    """
    paths: list[Path] = []
    for path in example.paths:
        short = Path(steps=tuple(step for step in path.steps if not step.turn))
        if short not in paths:
            paths.append(short)
    if not all(path.steps for path in paths):
        return None
    fields = {"id": f"{example.id}-1", "turns": example.turns[:1], "paths": tuple(paths)}
    made = {"provenance": Provenance(first_turn_of=example.id), "drift": ()}
    first = msgspec.structs.replace(example, **fields, **made)
    first = msgspec.structs.replace(first, outcome=play_script(first, oracle).outcome)
    return None if verify(first) else first
