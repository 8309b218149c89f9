"""The commands `rollout`, `score`, `verify` and `audit`: play, reward and check examples."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table

from provegym.cli.base import (
    STARTS_AGAIN,
    Json,
    Ray,
    RayCommand,
    RecipeName,
    SchemeName,
    app,
    console,
    fail,
    hands,
    option_groups,
    print_json,
    progress_bar,
    say_next,
    stdout_kept,
    stoppable,
)
from provegym.cli.endpoints import EndpointLimits
from provegym.cli.graphs import Theirs, TheirServer, TheirsToPlay
from provegym.cli.plain_words import SERVES, SUCCESS
from provegym.kernel.errors import suggest
from provegym.terminal import say

if TYPE_CHECKING:
    from provegym.play import PlayedFile
    from provegym.players.imported import ImportedPolicy
    from provegym.players.remote import Remote
    from provegym.rewards import Scheme

NO_RAY = "somebody's server is connected to this machine alone: leave --ray out"
# How many different reasons of failed rollouts are shown.
REASONS = 3


@dataclass(frozen=True)
class Asking(EndpointLimits):
    """Options: how a model behind an endpoint is asked."""

    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default"
    temperature: Annotated[
        float | None, typer.Option(help="0, the default: always the likeliest token.", min=0)
    ] = None
    reply: Annotated[int | None, typer.Option(help="Most tokens of a reply; else 2048.", min=1)] = (
        None
    )
    timeout: Annotated[
        float | None, typer.Option(help="Seconds for one try, to its last byte; else 120.", min=0.1)
    ] = None
    retries: Annotated[
        int | None, typer.Option(help="Tries after one that failed; else 4.", min=0)
    ] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that were given, by the names of `EndpointConfig`."""
        named = {
            "temperature": self.temperature,
            "max_tokens": self.reply,
            "timeout": self.timeout,
            "retries": self.retries,
        }
        given = {name: value for name, value in named.items() if value is not None}
        return self.reply_limits | given


@dataclass(frozen=True)
class Price:
    """Options: what a model costs."""

    price_in: Annotated[
        float, typer.Option(help="The price of a million tokens that are read.", min=0)
    ] = 0.0
    price_out: Annotated[
        float, typer.Option(help="The price of a million tokens that are written.", min=0)
    ] = 0.0

    def cost(self, read: int, written: int) -> float:
        """The cost of so many tokens."""
        return (read * self.price_in + written * self.price_out) / 1e6


@app.command("rollout", cls=RayCommand)
@option_groups
def run_rollouts(
    *,
    data: Annotated[Path, typer.Option(help="Examples: a JSONL file or a folder of them.")],
    out: Annotated[Path, typer.Option(help="The file of rollouts; what is there already is kept.")],
    policy: Annotated[
        str,
        typer.Option(
            help="oracle (the right calls), noop (none), an endpoint's URL, or your module:Class."
        ),
    ],
    samples: Annotated[int, typer.Option(help="Rollouts of each example.", min=1)] = 1,
    concurrency: Annotated[
        int, typer.Option(help="How many rollouts run at the same time on a core.", min=1)
    ] = 8,
    asking: Asking,
    price: Price,
    recipe: RecipeName = None,
    scheme: SchemeName = None,
    ray: Ray = None,
    theirs: TheirsToPlay,
    as_json: Json = False,
) -> None:
    """Play every example with a policy and write one rollout per line; resumes where it stopped."""
    from provegym.play import PlayJob, play_file

    if theirs.mcp and ray is not None:
        fail(NO_RAY)

    player = _player(policy, asking, samples, concurrency, _scheme(recipe, scheme))
    job = PlayJob(data, out, player, samples)
    with (
        stoppable(),
        stdout_kept(as_json),
        connected(theirs, data),
        hands(ray) as workers,
        progress_bar() as bar,
    ):
        done = play_file(job, bar, workers)
    _print_played(done, out, price, as_json)
    if done.failed:
        why = list(dict.fromkeys(each.partition(": ")[2] for each in done.failed))
        fail(
            f"{len(done.failed)} rollouts went wrong and are played again next time;"
            f" {done.failed[0].partition(': ')[0]}: {'; '.join(why[:REASONS])}"
        )
    say_next("score", out, "--explain", as_json=as_json)


def _print_played(done: "PlayedFile", out: Path, price: Price, as_json: bool) -> None:
    from provegym.rewards.explain import success_line

    cost = price.cost(done.prompt_tokens, done.tokens)
    if as_json:
        figures = {"rollouts": done.count, "reward": done.reward, **done.rates}
        tokens = {"prompt_tokens": done.prompt_tokens, "tokens": done.tokens, "cost": cost}
        told = {"out": str(out), **figures, "noop": done.floor, **tokens}
        print_json({**told, "failed": done.failed})
        return
    say(
        f"{done.count} rollouts in {out}, mean reward {done.reward:.3f}, {success_line(done.rates)}"
    )
    floor = done.floor
    say(f"doing nothing: mean reward {floor['reward']:.3f}, success {floor['success']:.1%}")
    say(SUCCESS)
    if done.prompt_tokens or done.tokens:
        spent = f"; at this price: {cost:,.4f}" if price.price_in or price.price_out else ""
        say(f"tokens: {done.prompt_tokens:,} in, {done.tokens:,} out{spent}")


@app.command("score")
def score_rollouts(
    file: Annotated[Path, typer.Argument(help="Rollouts: a JSONL file or a folder of them.")],
    recipe: RecipeName = None,
    scheme: SchemeName = None,
    weights: Annotated[str, typer.Option(help="Other weights, e.g. name=0,argument=0.3.")] = "",
    strict: Annotated[
        bool, typer.Option(help="Accept only the first solution of an example, call by call.")
    ] = False,
    calls: Annotated[bool, typer.Option("--explain", help="Say what each call was worth.")] = False,
    as_json: Json = False,
) -> None:
    """Score recorded rollouts again, without their worlds."""
    from provegym.play import complete_weights, parse_weights, score_file
    from provegym.rewards.explain import marks, success_line, with_parts

    used = complete_weights(_scheme(recipe, scheme), parse_weights(weights), strict=strict)
    report = score_file(file, used, explained=calls)
    if names := report["unknown_servers"]:
        say(
            f"there is no server {names[0]!r} here; without a server, a question to the user is"
            " judged by the name of the missing argument alone",
            file=sys.stderr,
        )
    if as_json:
        print_json(report)
        return
    for each in report["each"]:
        if "problem" in each:
            say(f"{each['id']}: {each['problem']}")
            continue
        told = marks(each, each["answer_due"])
        say(f"{each['id']}: {with_parts(each['total'], each['parts'])}, {told}")
        for line in each.get("explain", ()):
            say(f"  {line}")
    mean = with_parts(report["total"], report["parts"])
    say(f"{report['rollouts']} rollouts, mean reward {mean}, {success_line(report)}")
    say(f"{SERVES}\n{SUCCESS}" if calls else SUCCESS)
    say_next("view", file)


@app.command("verify", cls=RayCommand)
@option_groups
def verify_examples(
    *,
    data: Annotated[Path, typer.Argument(help="Examples: a JSONL file or a folder of them.")],
    as_json: Json = False,
    ray: Ray = None,
    theirs: Theirs,
) -> None:
    """Check that each example's right calls earn the maximum reward and doing nothing the minimum.

    Further rules are in docs/reward.md. Exits with 1 and says why if an example breaks one.
    """
    from provegym.play import unchecked, verify_file

    if theirs.mcp and ray is not None:
        fail(NO_RAY)
    with (
        stoppable(STARTS_AGAIN),
        connected(theirs, data),
        hands(ray) as workers,
        progress_bar() as bar,
    ):
        failed, count = verify_file(data, bar, workers)
    bare = unchecked(data)
    if as_json:
        checked = {"without_checksums": list(map(str, bare))}
        print_json({"examples": count, "failed": failed, **checked})
    else:
        for example, problems in failed.items():
            for problem in problems:
                say(f"{example}: {problem}")
        bad = f"{len(failed)} of them break a rule" if failed else "every one keeps all rules"
        say(f"{count} examples checked, {bad}")
        say(_checksums(bare))
    if not failed:
        play = ("rollout", "--policy", "oracle", "--data", data, "--out", "rollouts.jsonl")
        say_next(*play, *theirs.again, as_json=as_json)
    raise typer.Exit(1 if failed else 0)


def _checksums(bare: list[Path]) -> str:
    """Whether the lines could be compared with checksums."""
    if not bare:
        return "every line agrees with its checksum"
    others = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
    return f"no checksums: {bare[0]}{others} has none beside it, so a damaged line may go unseen"


@contextmanager
def connected(theirs: TheirServer, data: Path) -> Iterator[None]:
    """Connect the foreign server, if one is given, so that its examples can be played."""
    from provegym import servers
    from provegym.conversation.foreign import asks_of
    from provegym.trace import Example, read_some

    named = {example.server for example in read_some(data, Example)}
    told = " and ".join(sorted(named))
    if not theirs.mcp:
        if not any(name == "" or servers.is_known(name) for name in named):
            fail(
                f"{data} was made on {told}, which is not ours; say where its package is with"
                ' --servers-from FOLDER, or connect it with --mcp "COMMAND"'
            )
        yield
        return
    with theirs.connected() as server:
        if server.name not in named:
            fail(f"{data} was made on {told}, and what was connected is {server.name}")
        servers.add(server, asks_of(server))
        yield


@app.command("audit")
def audit_reward(
    data: Annotated[Path, typer.Option(help="Examples: a JSONL file or a folder of them.")],
    recipe: RecipeName = None,
    scheme: SchemeName = None,
    as_json: Json = False,
) -> None:
    """Search for reward hacking: rollouts that fail their task and are paid all the same."""
    from provegym.trace import Example, read_some
    from provegym.verify.audit import audit, by_attack, by_edit

    findings = audit(read_some(data, Example), _scheme(recipe, scheme))
    exploits = by_edit(findings)
    best = [finding.best_failing for finding in findings]
    if as_json:
        print_json({"best_failing": best, "exploits": exploits, "attacks": by_attack(findings)})
        return
    known = Table("attack", "fails", "mean reward", "largest", box=None)
    for name, (times, mean, most) in by_attack(findings).items():
        known.add_row(name, str(times), f"{mean:.3f}", f"{most:.3f}")
    most = _scheme(recipe, scheme).best
    console.print(f"Known attacks on the reward; the right calls are paid {most:.3f}:\n")
    console.print(known)
    console.print("\nChanges of the right calls that make the task fail and raise the reward:\n")
    table = Table("change", "times", "mean gain", "largest", box=None)
    for edit, (times, mean, most) in sorted(exploits.items(), key=lambda item: -item[1][2]):
        table.add_row(edit, str(times), f"{mean:+.3f}", f"{most:+.3f}")
    console.print(table)
    mean = sum(best) / len(best) if best else 0.0
    console.print(
        f"\na failing rollout is paid up to {max(best, default=0):.3f}, {mean:.3f} on average"
    )
    if scheme is None and recipe is None:
        say_next("audit", "--data", data, "--scheme", "hardened")
    else:
        say_next("recipes", "reward-hardened")


def _player(
    policy: str, asking: Asking, samples: int, concurrency: int, scheme: "Scheme"
) -> "Remote":
    """The player of a policy's name; fail if an option has no effect on it."""
    from provegym.models.endpoint import EndpointConfig
    from provegym.players.remote import Remote
    from provegym.players.scripted import SCRIPTS

    if policy.startswith(("http://", "https://")):
        if samples > 1 and not asking.temperature:
            fail(f"{samples} samples at temperature 0 are all the same; say --temperature 1")
        warmth = f", temperature {asking.temperature:g}" if asking.temperature else ""
        name = f"{asking.model} at {policy.rpartition('@')[2]}{warmth}"
        config = EndpointConfig(policy, asking.model, **asking.given)
        return Remote(name, config, concurrency, scheme)
    if asking.given:
        given = ", ".join(asking.given).replace("max_tokens", "reply")
        given = given.replace("max_bytes", "max-answer")
        fail(f"{given}: an option for endpoints, and {policy} is none; leave it out")
    if ":" in policy:
        return Remote(policy, _imported(policy), concurrency, scheme)
    if policy not in SCRIPTS:
        hint = suggest(policy, list(SCRIPTS))
        fail(
            f"no policy {policy!r}; give an endpoint's URL, your module:Class, or a script: {hint}"
        )
    if samples > 1:
        fail(f"{samples} samples of a script are all the same; leave --samples out")
    return Remote(policy, SCRIPTS[policy], concurrency, scheme)


def _imported(name: str) -> "ImportedPolicy":
    """A policy of the user's own; fail now if it cannot be imported."""
    from provegym.players.imported import ImportedPolicy, import_policy

    import_policy(name, Path.cwd())
    return ImportedPolicy(name, Path.cwd())


def _scheme(recipe: str | None, name: Literal["paper", "hardened"] | None) -> Any:
    """The reward scheme of a recipe, or the one of this name; the paper's if neither is given."""
    from provegym.config import load_recipe
    from provegym.rewards import Scheme

    if recipe and name:
        fail("a recipe has a scheme of its own; give --recipe or --scheme, not both")
    return load_recipe(recipe).reward if recipe else Scheme(scheme=name or "paper")
