"""Draws five software teams with a season of issues, sprints and releases behind them."""

from datetime import timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words
from provegym.servers.people import Person

from .issues import create_issue
from .state import CLOSED, Board, Issue, Project, Release, Status, server

WORDS = words("issue_tracker")


@server.seed
def draw(seed: Seed) -> Board:
    """Five projects, in each of which the acting user has another place."""
    board = Board(seed)
    chance = seed.random
    crowd = people.others(seed, 30)
    me = people.acting_user(seed).name
    things = chance.sample(WORDS["things"], 80)
    names = chance.sample(WORDS["projects"], 5)
    plans = chance.sample(WORDS["plans"], 5)
    for name, plan in zip(names, plans, strict=True):
        project = board.projects.add(
            key=name[:3].upper(),
            name=name,
            components=tuple(chance.sample(WORDS["components"], 4)),
            last_number=chance.randint(20, 300),
            my_name=me,
            my_role=plan["role"],
        )
        _form_team(board, chance, project, plan, crowd)
        _plan_ahead(board, chance, project, plan["phases"])
        paths = chance.sample(WORDS["paths"], 16)
        for days, path in zip(range(64, 0, -4), paths, strict=True):
            board.now = seed.now - timedelta(days=days, minutes=chance.randrange(4000))
            issue = _report(board, chance, project, things.pop())
            issue = _describe(board, chance, issue, started=bool(path))
            issue = _lead_along(board, chance, issue, path)
            _place(board, chance, issue)
        board.now = seed.now
    for sprint in list(board.sprints):
        board.sprints.update(sprint.id, capacity=sprint.load + chance.randint(3, 12))
    return board


def _form_team(
    board: Board, chance: Random, project: Project, plan: dict[str, Any], crowd: list[Person]
) -> None:
    """The acting user and some of the crowd, each with a role."""
    team = [(project.my_name, project.my_role)]
    team += [(crowd.pop().name, role) for role in plan["others"]]
    for name, role in chance.sample(team, len(team)):
        board.members.add(project_id=project.id, name=name, role=role)


def _plan_ahead(board: Board, chance: Random, project: Project, phases: list[str]) -> None:
    """Sprints of two weeks, one after the other, and three releases, one of them shipped."""
    first = chance.randint(3, 40)
    begin = board.now - timedelta(minutes=chance.randint(900, 18_000))
    for at, phase in chance.sample(list(enumerate(phases)), len(phases)):
        ends_at = begin + timedelta(weeks=2 * (at + 1 - phases.count("closed")))
        board.sprints.add(
            project_id=project.id,
            name=f"{project.key} Sprint {first + at}",
            number=first + at,
            capacity=500,  # lowered once the issues are placed
            load=0,
            status=phase,
            ends_at=None if phase == "planned" else ends_at,
        )
    for at in chance.sample(range(3), 3):
        due = begin + timedelta(weeks=4 * at - 3)
        board.releases.add(
            project_id=project.id,
            name=f"{project.name} {first % 7}.{at}",
            due=due.date(),
            released_at=due if at == 0 else None,
        )


def _report(board: Board, chance: Random, project: Project, thing: str) -> Issue:
    """A new issue about a thing, some of them subtasks of an open one."""
    title = f"{chance.choice(WORDS['verbs'])} {thing}"
    kind = chance.choice(WORDS["kinds"])
    component = chance.choice(project.components)
    top_level = board.issues.where(project_id=project.id, status="open", parent_id=None)
    parents = [issue.id for issue in top_level if len(issue.subtasks) < 3]
    parent_id = chance.choice([None, None, *parents])
    return create_issue(board, project.id, title, kind, component, parent_id)


def _describe(board: Board, chance: Random, issue: Issue, *, started: bool) -> Issue:
    """An issue with reporter, watchers, labels, priority and estimate, and perhaps an assignee."""
    team = board.members.where(project_id=issue.project_id)
    watchers = tuple(member.name for member in chance.sample(team, 2))
    labels = tuple(chance.sample(WORDS["labels"], chance.randint(0, 2)))
    priority = chance.choice(WORDS["fields"]["priority"])
    estimate = chance.choice(WORDS["fields"]["estimate"])
    assignee = None
    if started or chance.random() < 0.4:
        assignee = chance.choice(_workers(board, issue))
    return board.issues.update(
        issue.id,
        reporter=watchers[0],
        watchers=watchers,
        labels=labels,
        priority=priority,
        estimate=estimate,
        assignee=assignee,
    )


def _workers(board: Board, issue: Issue) -> list[str]:
    """The names of those who may work on an issue."""
    team = board.members.where(project_id=issue.project_id)
    return [member.name for member in team if member.role in ("developer", "lead")]


def _lead_along(board: Board, chance: Random, issue: Issue, path: list[Status]) -> Issue:
    """Move an issue from status to status, with a comment before each move."""
    team = board.members.where(project_id=issue.project_id)
    workers = _workers(board, issue)
    for status in path:
        board.now += timedelta(minutes=chance.randrange(30, 1300))
        commenter = chance.choice(team).name
        board.note(issue, commenter, text=chance.choice(WORDS["comments"]))
        issue = board.move(issue, status, chance.choice(workers))
    return issue


def _place(board: Board, chance: Random, issue: Issue) -> None:
    """Give an issue a sprint and a release, and tie it to an older one that is not closed."""
    sprints = board.sprints.where(project_id=issue.project_id, status=WORDS["phase"][issue.status])
    if sprints and issue.estimate and chance.random() < 0.7:
        board.replan(issue, chance.choice(sprints).id)
    if chance.random() < 0.7:
        board.issues.update(issue.id, release_id=_fitting_release(board, issue).id)

    others = board.issues.where(project_id=issue.project_id)
    older = [other for other in others if other.status not in CLOSED]
    older = [other for other in older if not board.waits_for(other.id, issue.id)]
    if older and issue.status in WORDS["ties"]:
        other = chance.choice(older)
        tie = chance.choice(WORDS["ties"][issue.status])
        if tie == "blocked_by":
            board.issues.update(issue.id, blocked_by=(other.id,))
        elif tie == "duplicate_of_id":
            board.issues.update(issue.id, duplicate_of_id=other.id)


def _fitting_release(board: Board, issue: Issue) -> Release:
    """The last release for an issue that is not closed, an earlier one for one that is."""
    releases = board.releases.where(project_id=issue.project_id)
    releases.sort(key=lambda release: release.due)
    if issue.status not in CLOSED:
        return releases[2]
    if releases[0].due < issue.updated_at.date():
        return releases[1]
    return releases[0]
