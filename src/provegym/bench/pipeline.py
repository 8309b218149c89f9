"""Benchmark of the pipeline: rollouts scored, rollouts played and examples made per second."""

from time import perf_counter

import msgspec

from provegym.corpus.candidates import DrawJob, draw
from provegym.corpus.quotas import CorpusPart, Quotas
from provegym.kernel import Session
from provegym.models.dialects import openai
from provegym.players.scripted import oracle
from provegym.rewards import score
from provegym.rollout import play_replies, play_script
from provegym.servers import load, names
from provegym.trace import Edge, Example, Path, Rollout, Step, Turn, line

SIZE = 13_517


def four_calls() -> Example:
    """An example of four right calls on the banking server."""
    session = Session([load("banking")])
    accounts = session.call("list_accounts", {"kind": "checking"}).value["items"]
    payee = session.call("list_payees", {"limit": 1}).value["items"][0]
    account = next(a for a in accounts if a["access"] == "owner")
    named = {"name": account["name"]}, {"name": payee["name"]}
    pay = {"account_id": account["id"], "payee_id": payee["id"], "amount": 1}
    needs = (Edge(step=0, kind="explicit"), Edge(step=1, kind="explicit"))
    steps = (
        Step(turn=0, tool="list_accounts", arguments=named[0]),
        Step(turn=0, tool="list_payees", arguments=named[1]),
        Step(turn=0, tool="pay_payee", arguments=pay, writes=True, needs=needs),
        Step(turn=0, tool="get_account", arguments={"account_id": account["id"]}, needs=needs[:1]),
    )
    return Example(
        id="bench",
        kind="multi_turn",
        server="banking",
        server_version=load("banking").version,
        seed=0,
        digest=session.digest(),
        system="You act for a customer.",
        turns=(Turn(text="Pay it, and tell me what is left."),),
        paths=(Path(steps=steps),),
    )


def measure_reward(seconds: float = 1.0) -> dict[str, float | int]:
    """Per second: decoded rollouts scored, and rollouts forked, played and scored.

    Recorded replies are played, because the oracle takes longer to make a reply than the loop takes
    to play it.
    """
    example = four_calls()
    rollout = msgspec.json.decode(line(play_script(example, oracle)), type=Rollout)
    replies = [openai.parse(said) for said in rollout.messages if said["role"] == "assistant"]
    return {
        "score_rollouts_per_s": _rate(lambda: score(rollout.example, rollout.calls), seconds),
        "inline_rollouts_per_s": _rate(
            lambda: play_replies(example, replies, name="bench"), seconds
        ),
        "oracle_reward": score(rollout.example, rollout.calls).total,
    }


def measure_synthesis() -> dict[str, float | int]:
    """Verified examples per second on one core, with cached dependency graphs."""
    part = CorpusPart("train", SIZE, names())
    quotas = Quotas(part)
    jobs = [DrawJob(part, name, 0, 0, 0, quotas) for name in names()]
    start = perf_counter()
    made = [each for job in jobs for each in draw(job)[0]]
    kept = sum(each.example is not None for each in made)
    return {
        "examples_per_s": kept / (perf_counter() - start),
        "candidates_verified": kept / len(made),
    }


def _rate(function: object, seconds: float) -> float:
    assert callable(function)
    count, start = 0, perf_counter()
    while (spent := perf_counter() - start) < seconds:
        for _ in range(50):
            function()
        count += 50
    return count / spent
