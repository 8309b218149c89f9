"""Draws five software teams with a season of issues, sprints and releases behind them."""

from datetime import timedelta
from random import Random

from provegym.kernel import Seed
from provegym.servers import people, words

from .issues import create_issue
from .state import CLOSED, Board, Issue, Project, Status, server

WORDS = words("issue_tracker")


@server.seed
def draw(seed: Seed) -> Board:
    """Five projects, in each of which the acting user has another place."""
    board, chance, crowd = Board(seed), seed.random, people.others(seed, 30)
    me, things = people.acting_user(seed).name, chance.sample(WORDS["things"], 80)
    names, plans = chance.sample(WORDS["projects"], 5), chance.sample(WORDS["plans"], 5)
    for name, plan in zip(names, plans, strict=True):
        parts, number = tuple(chance.sample(WORDS["components"], 4)), chance.randint(20, 300)
        fields = {"my_name": me, "my_role": plan["role"], "name": name, "key": name[:3].upper()}
        project = board.projects.add(components=parts, last_number=number, **fields)
        team = [(me, plan["role"]), *((crowd.pop().name, role) for role in plan["others"])]
        for who, role in chance.sample(team, len(team)):
            board.members.add(project_id=project.id, name=who, role=role)
        _plan(board, chance, project, plan["phases"])
        for days, path in zip(range(64, 0, -4), chance.sample(WORDS["paths"], 16), strict=True):
            board.now = seed.now - timedelta(days=days, minutes=chance.randrange(4000))
            title = f"{chance.choice(WORDS['verbs'])} {things.pop()}"
            kind, part = chance.choice(WORDS["kinds"]), chance.choice(project.components)
            wide = board.issues.where(project_id=project.id, status="open", parent_id=None)
            parent_id = chance.choice([None, None, *(i.id for i in wide if len(i.subtasks) < 3)])
            issue = create_issue(board, project.id, title, kind, part, parent_id)
            _place(board, chance, _live(board, chance, issue, path))
        board.now = seed.now
    for sprint in list(board.sprints):
        board.sprints.update(sprint.id, capacity=sprint.load + chance.randint(3, 12))
    return board


def _plan(board: Board, chance: Random, project: Project, phases: list[str]) -> None:
    """Sprints of two weeks, one after the other, and three releases, one of them shipped."""
    first, begin = chance.randint(3, 40), board.now - timedelta(minutes=chance.randint(900, 18_000))
    for at, phase in chance.sample(list(enumerate(phases)), len(phases)):
        ends = begin + timedelta(weeks=2 * (at + 1 - phases.count("closed")))
        name, over = f"{project.key} Sprint {first + at}", None if phase == "planned" else ends
        fields = {"name": name, "number": first + at, "status": phase, "ends_at": over}
        board.sprints.add(project_id=project.id, capacity=500, load=0, **fields)
    for at in chance.sample(range(3), 3):
        due = begin + timedelta(weeks=4 * at - 3)
        fields = {"name": f"{project.name} {first % 7}.{at}", "released_at": None if at else due}
        board.releases.add(project_id=project.id, due=due.date(), **fields)


def _live(board: Board, chance: Random, issue: Issue, path: list[Status]) -> Issue:
    """Describe an issue that somebody reported and lead it along its path."""
    team = board.members.where(project_id=issue.project_id)
    able = [member.name for member in team if member.role in ("developer", "lead")]
    watchers = tuple(member.name for member in chance.sample(team, 2))
    labels = tuple(chance.sample(WORDS["labels"], chance.randint(0, 2)))
    drawn = {name: chance.choice(values) for name, values in WORDS["fields"].items()}
    drawn["assignee"] = chance.choice(able) if path or chance.random() < 0.4 else None
    drawn |= {"reporter": watchers[0], "watchers": watchers, "labels": labels}
    issue = board.issues.update(issue.id, **drawn)
    for status in path:
        board.now += timedelta(minutes=chance.randrange(30, 1300))
        board.note(issue, chance.choice(team).name, text=chance.choice(WORDS["comments"]))
        issue = board.move(issue, status, chance.choice(able))
    return issue


def _place(board: Board, chance: Random, issue: Issue) -> None:
    """Give an issue a sprint and a release, and tie it to an older one that is not closed."""
    mine, closed = {"project_id": issue.project_id}, issue.status in CLOSED
    sprints = board.sprints.where(status=WORDS["phase"][issue.status], **mine)
    if sprints and issue.estimate and chance.random() < 0.7:
        board.replan(issue, chance.choice(sprints).id)
    releases = sorted(board.releases.where(**mine), key=lambda release: release.due)
    release = releases[(releases[0].due < issue.updated_at.date()) if closed else 2]
    older = [i for i in board.issues.where(**mine) if i.status not in CLOSED]
    older = [i for i in older if not board.waits_for(i.id, issue.id)]
    ties = {"release_id": release.id} if chance.random() < 0.7 else {}
    if older and issue.status in WORDS["ties"]:
        other, tie = chance.choice(older), chance.choice(WORDS["ties"][issue.status])
        ties |= {tie: (other.id,) if tie == "blocked_by" else other.id} if tie else {}
    board.issues.update(issue.id, **ties)
