"""Random steps and calls, small enough to try every alignment."""

from typing import Any

from hypothesis import strategies as st

from provegym.trace import Alternative, Call, Checks, Edge, Ref, Step

TOOLS = ("look", "take", "give")
VALUES = st.sampled_from([1, 2, "a", " A ", True, None, [1], {"k": 1}])
ARGUMENTS = st.dictionaries(st.sampled_from(["x", "y"]), VALUES, max_size=2)


@st.composite
def steps(draw: st.DrawFn, most: int = 5) -> tuple[Step, ...]:
    """A path: every need points to an earlier step."""
    made: list[Step] = []
    turn = 0
    for at in range(draw(st.integers(1, most))):
        turn += draw(st.booleans()) if at else 0
        earlier = draw(st.sets(st.integers(0, at - 1), max_size=2)) if at else set()
        kinds = st.sampled_from(["explicit", "implicit"])
        arguments: dict[str, Any] = draw(ARGUMENTS)
        if at and draw(st.booleans()):
            origin = draw(st.integers(0, at - 1))
            arguments["x"] = Ref(source=(origin, "/id"), literal=draw(VALUES))
        others = draw(st.lists(st.sampled_from(TOOLS), max_size=1))
        made.append(
            Step(
                turn=turn,
                tool=draw(st.sampled_from(TOOLS)),
                arguments=arguments,
                needs=tuple(Edge(step=step, kind=draw(kinds)) for step in sorted(earlier)),
                alternatives=tuple(Alternative(tool=t, arguments={"y": 1}) for t in others),
            )
        )
    return tuple(made)


@st.composite
def calls(draw: st.DrawFn, most: int = 7) -> tuple[Call, ...]:
    """What a model did: turns and messages never run backwards."""
    made: list[Call] = []
    turn = message = 0
    for _ in range(draw(st.integers(0, most))):
        later = draw(st.booleans())
        message += later
        turn += later and draw(st.integers(0, 3)) == 0
        ran = draw(st.booleans())
        arguments = draw(st.one_of(ARGUMENTS, ARGUMENTS, st.none()))
        made.append(
            Call(
                turn=turn,
                message=message,
                tool=draw(st.sampled_from(TOOLS)),
                arguments=arguments,
                writes=draw(st.booleans()),
                checks=Checks(shown=draw(st.booleans()), fits=arguments is not None, ran=ran),
                result='{"id": 1}' if draw(st.booleans()) else '{"id": "a"}',
            )
        )
    return tuple(made)
