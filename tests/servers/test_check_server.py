"""`check-server` says in words which rule of the contract a server breaks, and what to do."""

import json
from pathlib import Path

import pytest

import provegym
from command import run
from provegym.admission import speed
from provegym.corpus import corpus
from servers.own import alone, written  # noqa: F401

pytestmark = pytest.mark.usefixtures("alone")

# For each rule: a file of the starter package, a text in it, what it becomes, and what is said.
BREAKS = {
    "descriptions": (
        "tools.py",
        "List the loans of the equipment desk with fee, due date and status.",
        "Loans.",
        "too short",
    ),
    "equal seeds": (
        "seed.py",
        "seed.random.random() < 0.15",
        "WORDS['towns'].append('Newtown') or len(WORDS['towns']) % 7 == 0",
        "draw",
    ),
    "reads": (
        "tools.py",
        "    found = [item for",
        "    desk.items.add(name=name, shelf='A1', daily_fee=money(1))\n    found = [item for",
        "marked as a read, but it wrote",
    ),
    "errors": (
        "tools.py",
        '    loan = desk.loans[loan_id]\n    if loan.status != "open":\n'
        '        raise Rejected(f"the {loan.item_name} was returned already',
        '    loan = {}[loan_id]\n    if loan.status != "open":\n'
        '        raise Rejected(f"the {loan.item_name} was returned already',
        "KeyError",
    ),
    "invariants": ("tools.py", '    desk.items.update(item_id, status="lent")\n', "", "lent"),
    "refusals": (
        "tools.py",
        "{member.name} is blocked and may not borrow; choose another member",
        "no",
        "says too little",
    ),
    "records": ("seed.py", "people.others(seed, 30)", "people.others(seed, 5)", "85 records"),
    "ids": ("seed.py", "chance.sample(names, 70)", "sorted(chance.sample(names, 70))", "shuffled"),
    "own names": ("state.py", '"garageitem"', '"acc"', "also used by banking"),
    "ways of asking": (
        "asks.toml",
        'Extend {loan_id} by {days} days.",\n  "(Add',
        'Extend {loan} by {days} days.",\n  "(Add',
        "{loan} in",
    ),
    "questions": (
        "asks.toml",
        "do we keep) the {name}[, if it is {available}]? => name, shelf",
        "do we keep) the {name}[, if it is {available}]? => colour",
        "no 'colour'",
    ),
    "names of records": (
        "asks.toml",
        'loan = ["the {item_name} loan of {member_name}"',
        'lean = ["the {item_name} loan of {member_name}"',
        "to name the records of kind loan",
    ),
}


NEW_TOOL = '''

@server.read
def get_garage_loan(desk: Desk, /, loan_id: str) -> Loan:
    """Show one loan of the equipment desk with fee, due date and status.

    Args:
        loan_id: Which loan, e.g. "garageloan_1204".
    """
    return desk.loans[loan_id]
'''


@pytest.mark.parametrize("rule", BREAKS)
def test_a_broken_rule_is_named_with_what_to_do(tmp_path: Path, rule: str) -> None:
    package = written(tmp_path, "garage")
    *change, said = BREAKS[rule]
    edit(package, *change)
    provegym.servers_from(package)
    checked = {each.rule: each for each in provegym.check_server("garage")}
    assert not checked[rule].holds
    assert any(said in fault for fault in checked[rule].faults), checked[rule]
    assert str(checked[rule]).endswith(f"{checked[rule].mend}.")


def test_a_new_server_keeps_every_rule(tmp_path: Path) -> None:
    written(tmp_path, "garage")
    done = run("check-server", tmp_path / "garage")
    assert done.returncode == 0
    assert "✗" not in done.stdout
    assert done.stdout.endswith("garage keeps every rule\n")


def edit(package: Path, file: str, old: str, new: str) -> None:
    """Change a text in a file of a package."""
    text = (package / file).read_text("utf-8")
    assert old in text
    (package / file).write_text(text.replace(old, new), "utf-8")


def test_a_package_that_cannot_be_loaded_is_a_broken_rule(tmp_path: Path) -> None:
    package = written(tmp_path, "garage")
    edit(package, "tools.py", "        days: By how many days.\n", "")
    done = run("check-server", "garage", "--json", "--servers-from", tmp_path)
    assert done.returncode == 1
    (checked,) = json.loads(done.stdout)["servers"]
    (rule,) = checked["rules"]
    assert (rule["rule"], rule["holds"]) == ("package", False)
    assert "arguments and their descriptions differ: ['days']" in rule["faults"][0]


def test_a_tool_without_examples_is_named_with_the_reason(tmp_path: Path) -> None:
    package = written(tmp_path, "garage")
    refuses = '    raise Rejected(f"nothing is extended on a {desk.now:%A}")\n'
    edit(package, "tools.py", "    if loan.due_at < desk.now:\n", refuses + "    if loan:\n")
    provegym.servers_from(package)
    examples = next(r for r in provegym.check_server("garage") if r.rule == "examples")
    assert not examples.holds
    (fault,) = examples.faults
    assert fault.startswith("none was found for extend_garage_loan")
    assert "none of 60 random calls worked" in fault


def test_synthesis_without_goals_says_what_the_server_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus, "IDLE_ROUNDS", 3)
    package = written(tmp_path, "garage")
    text = (package / "asks.toml").read_text("utf-8")
    start, end = text.index("[refer]"), text.index("# What a record is")
    (package / "asks.toml").write_text(text[:start] + text[end:], "utf-8")
    asked = ("synth", "--servers", "garage", "--size", 12, "--mix", "multi_turn", "--workers", 1)
    done = run(*asked, "--out", tmp_path / "corpus", "--servers-from", tmp_path / "garage")
    assert done.returncode == 2
    assert "garage lacks something: names of records: [refer] has no way to name" in done.stderr
    assert "`provegym check-server garage` checks it again" in done.stderr


def test_a_new_tool_that_nobody_can_ask_for_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody adds a tool and has not yet written its ways of asking."""
    monkeypatch.setattr(corpus, "IDLE_ROUNDS", 3)
    package = written(tmp_path, "garage")
    with (package / "tools.py").open("a", encoding="utf-8") as tools:
        tools.write(NEW_TOOL)
    done = run("check-server", tmp_path / "garage")
    assert done.returncode == 1
    assert "✗ ways of asking: get_garage_loan has 0 ways of asking" in done.stdout
    assert "none was found for get_garage_loan" in done.stdout
    asked = ("synth", "--servers", "garage", "--size", 4, "--mix", "multi_turn", "--workers", 1)
    done = run(*asked, "--out", tmp_path / "corpus", "--servers-from", tmp_path / "garage")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("__import__('time').sleep(0.05)", "extend_garage_loan takes 5"),
        ("[None for _ in iter(int, 1)]", "garage: extend_garage_loan does not end in 1 seconds"),
    ],
)
def test_a_slow_tool_is_named_before_the_other_rules_are_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, work: str, said: str
) -> None:
    monkeypatch.setattr(speed, "ENDLESS", 1)
    package = written(tmp_path, "garage")
    edit(
        package,
        "tools.py",
        "    if loan.due_at < desk.now:\n",
        f"    {work}\n    if loan.id == '':\n",
    )
    provegym.servers_from(package)
    *_, last = provegym.check_server("garage")
    assert (last.rule, last.holds) == ("speed", False)
    assert any(said in fault for fault in last.faults), last.faults


def test_a_version_that_is_no_number_is_refused(tmp_path: Path) -> None:
    """Examples name the version, and a text there could not be read back."""
    edit(written(tmp_path, "garage"), "state.py", "version=1", 'version="1"')
    done = run("check-server", tmp_path / "garage")
    assert done.returncode == 1
    assert "the version of garage is a whole number, not '1'" in done.stdout


def test_an_unknown_name_is_one_line() -> None:
    done = run("check-server", "bankin")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no server 'bankin'; did you mean" in done.stderr
