"""Checks of the claims in an example's provenance: names, failed attempts, infeasible requests."""

from collections.abc import Iterator

from provegym import servers
from provegym.language.things import Relation, noun_of, relations, survey
from provegym.language.values import is_said, leaves, normal
from provegym.toolbox import Toolbox
from provegym.trace import Example, Json, RelationClaim
from provegym.verify.replay import Replay
from provegym.verify.serving import serving


def names(example: Example, gold: Replay) -> Iterator[str]:
    """Every entity that a turn names exists, and no other of its kind has that name."""
    for number, named in enumerate(example.provenance.names):
        things = survey(gold.worlds[number], example.server).things if named else {}
        for phrase, key in named:
            if not is_said(phrase, example.turns[number].text):
                yield f"turn {number} does not say {phrase!r}"
            called = {normal(name) for name in things[key].names} if key in things else set()
            if normal(phrase) not in called:
                yield f"turn {number}: {phrase!r} is not the name of {key} alone"


def relations_hold(example: Example, gold: Replay) -> Iterator[str]:
    """A phrase such as "its owner" means one entity, and an earlier result has shown it."""
    server = servers.load(example.server)
    for claim in example.provenance.relations:
        relation = Relation(claim.key, claim.owner, claim.field, claim.at)
        if any(_takes_both(p.arguments, claim) for p in gold.played if p.step.turn == claim.turn):
            yield f"turn {claim.turn}: {claim.phrase!r} relates a thing to itself"
        if not is_said(claim.phrase, example.turns[claim.turn].text):
            yield f"turn {claim.turn} does not say {claim.phrase!r}"
        results = [p.outcome.value for p in gold.played if p.step.turn <= claim.turn]
        shown = {each for r in results for each in relations(server, (relation.key,), r)}
        own = {each for each in shown if each[1:] == relation[1:]}
        if own != {relation}:
            yield f"turn {claim.turn}: {claim.phrase!r} is not {relation.key} alone"


def _takes_both(arguments: Json, claim: RelationClaim) -> bool:
    given = set(leaves(arguments))
    return claim.key in given and claim.owner in given


def aside(example: Example) -> Iterator[str]:
    """An example with the irrelevance knob has an off-topic turn without reference calls."""
    if "irrelevance" not in example.knobs:
        return
    levels = example.provenance.levels
    called = {step.turn for step in example.paths[0].steps}
    if not any(level == "aside" and at not in called for at, level in enumerate(levels)):
        yield "no turn is beside the point, as the irrelevance knob says"


def attempts(example: Example, gold: Replay) -> Iterator[str]:
    """Every recorded failed attempt fails again, with the recorded error, and takes known ids."""
    server = servers.load(example.server)
    for tried in example.provenance.attempts:
        if not 0 <= tried.before < len(gold.played):
            yield f"nothing comes after the attempt at {tried.tool}"
            continue
        known = gold.played[tried.before].known
        for leaf in leaves(tried.arguments):
            if noun_of(server, leaf) and not known.has(leaf):
                yield f"trying {tried.tool} takes {leaf}, which nothing has shown by then"
        session = gold.played[tried.before].before.fork()
        error = session.call(tried.tool, tried.arguments).error
        if error != tried.error:
            yield f"trying {tried.tool} ends in {error or 'success'}, not in {tried.error}"


def infeasible(example: Example, gold: Replay) -> Iterator[str]:
    """A rule of the server rejects the infeasible request, and a read of that turn shows why."""
    claim = example.provenance.infeasible
    if claim is None:
        return
    outcome = gold.worlds[claim.turn].fork().call(claim.tool, claim.arguments)
    if outcome.error != "rejected":
        yield f"{claim.tool} ends in {outcome.error or 'success'}, so it is not infeasible"
    steps = [step for step in example.paths[0].steps if step.turn == claim.turn]
    if any(step.writes for step in steps) or not any(step.answers for step in steps):
        yield f"turn {claim.turn} is infeasible, and no read of it shows why"


def unserved(example: Example, gold: Replay) -> Iterator[str]:
    """An unserved request would work with a hidden tool, and with no tool that is shown."""
    claim = example.provenance.unserved
    if claim is None:
        return
    toolbox, world = Toolbox.of(example), gold.worlds[claim.turn]
    if claim.tool in toolbox.tools:
        yield f"{claim.tool} would serve turn {claim.turn} and is not hidden"
    if not world.fork().call(claim.tool, claim.arguments).ok:
        yield f"turn {claim.turn} could not be served by {claim.tool} either"
    for tool in sorted(serving(world, toolbox, claim.tool, claim.arguments)):
        yield f"{tool} serves turn {claim.turn} as well, and is not hidden"
    if any(step.turn == claim.turn for step in example.paths[0].steps):
        yield f"turn {claim.turn} is not to be served, and has right calls"
