"""Why no verified example was found for a tool, in words that say what its server lacks."""

from collections import Counter

from provegym.admission.examples import LEFT_OUT
from provegym.corpus.candidates import NO_GOAL
from provegym.fuzz import Fuzzer
from provegym.fuzz.pool import snake
from provegym.kernel import AnyServer, Session
from provegym.language.things import survey
from provegym.servers import asks

TRIES = 60


def why_no_example(server: AnyServer, tool: str, dropped: Counter[str]) -> str:
    """The most frequent reason of synthesis; if no goal was found, what the server lacks."""
    reason, count = dropped.most_common(1)[0] if dropped else (NO_GOAL, 0)
    said = f"{count} candidates: {reason}" if count else reason
    lack = _lack(server, tool) if reason in (NO_GOAL, LEFT_OUT) else ""
    return f"{said}; {lack}" if lack else said


def _lack(server: AnyServer, tool: str) -> str:
    """What a tool lacks to be a goal that a user can ask for; empty if nothing was found."""
    if not asks(server.name).get("asks", {}).get(tool):
        return "[asks] has no way to ask for it"
    session = Session([server], 0)
    named = survey(session).named
    known = {snake(spec) for spec in server.state.tables.values()}
    for argument in server.tools[tool].input_schema["required"]:
        noun = argument.removesuffix("_id")
        if argument != noun and noun in known and not named.get(noun):
            return f"no {noun} has a name that people can say, and {argument} is required"
    return _never_works(server, tool, session)


def _never_works(server: AnyServer, tool: str, session: Session) -> str:
    """What the tool says to random calls, if none of them works or changes the world."""
    fuzzer = Fuzzer(server, f"lacks {tool}")
    fuzzer.look(session.state(server))
    spec, errors, idle = server.tools[tool], Counter[str](), 0
    for _ in range(TRIES):
        twin, arguments = session.fork(), fuzzer.arguments(spec)
        outcome = twin.call(tool, arguments)
        fuzzer.learn(spec, arguments, outcome)
        if not outcome.ok:
            errors[str(outcome.value["message"])] += 1
        elif spec.writes and not twin.changes(tool):
            idle += 1
        else:
            return (
                "calls of it work, but no request for one could be put into words and looked up:"
                " check that its ways of asking fit, and that reads show the ids it needs"
            )
    if idle:
        return f"{idle} of {TRIES} random calls worked, and none changed the world"
    return (
        f"none of {TRIES} random calls worked; most often it said {errors.most_common(1)[0][0]!r}"
    )
