"""The commands `rollout`, `score`, `verify` and `audit`: play, reward and check examples."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from provegym.cli.base import (
    Json,
    Ray,
    RayCommand,
    RecipeFile,
    SchemeName,
    app,
    console,
    fail,
    hands,
    option_groups,
    print_json,
    progress_bar,
    stdout_kept,
)
from provegym.cli.graphs import Theirs
from provegym.kernel.errors import suggest


@app.command("rollout", cls=RayCommand)
def run_rollouts(
    data: Annotated[Path, typer.Option(help="Examples: a JSONL file or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Where rollouts go; what is there already is kept.")],
    policy: Annotated[str, typer.Option(help="A script (oracle, noop, …) or an endpoint's URL.")],
    model: Annotated[str, typer.Option(help="The model's name at the endpoint.")] = "default",
    concurrency: Annotated[int, typer.Option(help="Rollouts at a time, on a core.", min=1)] = 8,
    recipe: RecipeFile = None,
    scheme: SchemeName = None,
    ray: Ray = None,
    as_json: Json = False,
) -> None:
    """Play every example with a policy and write one rollout per line; resumes where it stopped."""
    from provegym.play import PlayJob, play_file
    from provegym.players.remote import Remote
    from provegym.rewards.explain import success_line

    name = policy if "://" not in policy else f"{model} at {policy.rpartition('@')[2]}"
    player = Remote(name, _policy(policy, model), concurrency, _scheme(recipe, scheme))
    with stdout_kept(as_json), hands(ray) as workers, progress_bar() as bar:
        done = play_file(PlayJob(data, out, player), bar, workers)
    if as_json:
        figures = {"rollouts": done.count, "reward": done.reward, **done.rates}
        print_json({"out": str(out), **figures, "failed": done.failed})
    else:
        told = success_line(done.rates)
        print(f"{done.count} rollouts in {out}, mean reward {done.reward:.3f}, {told}")
    if done.failed:
        went_wrong = f"{len(done.failed)} rollouts went wrong and are played again next time"
        fail(f"{went_wrong}; {done.failed[0]}")


@app.command("score")
def score_rollouts(
    file: Annotated[Path, typer.Argument(help="Rollouts: a JSONL file or a folder of them.")],
    recipe: RecipeFile = None,
    scheme: SchemeName = None,
    weights: Annotated[str, typer.Option(help="Other weights, e.g. name=0,argument=0.3.")] = "",
    strict: Annotated[
        bool, typer.Option(help="Only the first path, without alternatives.")
    ] = False,
    calls: Annotated[bool, typer.Option("--explain", help="Say what each call was worth.")] = False,
    as_json: Json = False,
) -> None:
    """Score recorded rollouts again, without their worlds."""
    from provegym.play import complete_weights, parse_weights, score_file
    from provegym.rewards.explain import marks, success_line, with_parts

    used = complete_weights(_scheme(recipe, scheme), parse_weights(weights), strict=strict)
    report = score_file(file, used, explained=calls)
    if as_json:
        print_json(report)
        return
    for each in report["each"]:
        if "problem" in each:
            print(f"{each['id']}: {each['problem']}")
            continue
        print(f"{each['id']}: {with_parts(each['total'], each['parts'])}, {marks(each)}")
        for line in each.get("explain", ()):
            print(f"  {line}")
    mean = with_parts(report["total"], report["parts"])
    print(f"{report['rollouts']} rollouts, mean {mean}, {success_line(report)}")


@app.command("verify", cls=RayCommand)
@option_groups
def verify_examples(
    *,
    data: Annotated[Path, typer.Argument(help="Examples: a JSONL file or a folder of them.")],
    as_json: Json = False,
    ray: Ray = None,
    theirs: Theirs,
) -> None:
    """Verify every example against the contract; exit 1 and say why if any fails."""
    from provegym.play import verify_file

    if theirs.mcp and ray is not None:
        fail("somebody's server is connected to this machine alone: leave --ray out")
    with connected(theirs, data), hands(ray) as workers, progress_bar() as bar:
        failed, count = verify_file(data, bar, workers)
    if as_json:
        print_json({"examples": count, "failed": failed})
    else:
        for example, problems in failed.items():
            for problem in problems:
                print(f"{example}: {problem}")
        print(f"{count} examples, {len(failed)} fail the contract")
    raise typer.Exit(1 if failed else 0)


@contextmanager
def connected(theirs: Theirs, data: Path) -> Iterator[None]:
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
    data: Annotated[Path, typer.Option(help="Examples to look for exploits on.")],
    recipe: RecipeFile = None,
    scheme: SchemeName = None,
    as_json: Json = False,
) -> None:
    """Search for reward hacking: edits that raise the reward while the task fails."""
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
    console.print(known)
    console.print()
    table = Table("what pays while the task fails", "times", "mean gain", "largest", box=None)
    for edit, (times, mean, most) in sorted(exploits.items(), key=lambda item: -item[1][2]):
        table.add_row(edit, str(times), f"{mean:+.3f}", f"{most:+.3f}")
    console.print(table)
    mean = sum(best) / len(best) if best else 0.0
    console.print(
        f"\na failing rollout is paid up to {max(best, default=0):.3f}, {mean:.3f} on average"
    )


def _policy(name: str, model: str) -> Any:
    from provegym.models.endpoint import EndpointConfig
    from provegym.players.scripted import SCRIPTS

    if name.startswith(("http://", "https://")):
        return EndpointConfig(url=name, model=model)
    if name not in SCRIPTS:
        hint = suggest(name, list(SCRIPTS))
        fail(f"no policy {name!r}; give an endpoint's URL or a script: {hint}")
    return SCRIPTS[name]


def _scheme(recipe: Path | None, name: Literal["paper", "hardened"] | None) -> Any:
    """The reward scheme of a recipe, or the one of this name; the paper's if neither is given."""
    from provegym.config import load_recipe
    from provegym.rewards import Scheme

    if recipe and name:
        fail("a recipe has a scheme of its own; give --recipe or --scheme, not both")
    return load_recipe(recipe).reward if recipe else Scheme(scheme=name or "paper")
