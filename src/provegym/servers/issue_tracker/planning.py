"""Tools for planning: projects, teams, sprints and releases."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import Rejected

from .state import CLOSED, TEAM, Board, Issue, Member, Phase, Project, Release, Sprint, server

Weeks = Annotated[int, Meta(ge=1, le=4)]


@server.read
def list_tracker_projects(board: Board, /, name: str = "") -> list[Project]:
    """List the projects of the issue tracker with their components and the user's role in each.

    Args:
        name: Only projects whose name or key contains this.
    """
    wanted = name.lower()
    return [
        project for project in board.projects if wanted in f"{project.name} {project.key}".lower()
    ]


@server.read
def list_project_members(board: Board, /, project_id: str, name: str = "") -> list[Member]:
    """List the people on a software project's team, with their roles.

    Args:
        project_id: The project, e.g. "prj_310".
        name: Only members whose name contains this.
    """
    project = board.projects[project_id]
    team = board.members.where(project_id=project.id)
    return [member for member in team if name.lower() in member.name.lower()]


@server.read
def list_sprints(board: Board, /, project_id: str, status: Phase | None = None) -> list[Sprint]:
    """List a software project's sprints with capacity and load, and when the active one ends.

    Args:
        project_id: The project, e.g. "prj_310".
        status: Only sprints with this status.
    """
    project = board.projects[project_id]
    if status is None:
        return board.sprints.where(project_id=project.id)
    return board.sprints.where(project_id=project.id, status=status)


@server.read
def list_project_releases(board: Board, /, project_id: str, name: str = "") -> list[Release]:
    """List the versions a software project has shipped or plans to ship.

    Args:
        project_id: The project, e.g. "prj_310".
        name: Only releases whose name contains this.
    """
    project = board.projects[project_id]
    releases = board.releases.where(project_id=project.id)
    return [release for release in releases if name.lower() in release.name.lower()]


@server.write
def plan_issue(board: Board, /, issue_id: str, sprint_id: str) -> Issue:
    """Put an estimated issue into a sprint of its project that has room, or back in the backlog.

    Args:
        issue_id: The issue, e.g. "iss_4711"; not closed.
        sprint_id: The sprint, e.g. "spr_88"; planned or active, or else "backlog".
    """
    issue = board.active(issue_id)
    board.allow(issue.project_id, "developer", "lead")
    if sprint_id == "backlog":
        if issue.sprint_id is None:
            raise Rejected(f"{issue.key} is in the backlog already")
        if issue.status != "open":
            raise Rejected(f"{issue.key} is {issue.status}; move it to open first")
        return board.replan(issue, None)
    sprint = board.sprints[sprint_id]
    if sprint.project_id != issue.project_id:
        raise Rejected(f"{sprint.name} is another project's sprint")
    if sprint.id == issue.sprint_id:
        raise Rejected(f"{issue.key} is in {sprint.name} already")
    if sprint.status == "closed":
        raise Rejected(f"{sprint.name} is over; choose a planned or active one")
    if not issue.estimate:
        raise Rejected(f"estimate {issue.key} with update_issue first")
    return board.replan(issue, sprint_id)


@server.write
def start_sprint(board: Board, /, sprint_id: str, weeks: Weeks = 2) -> Sprint:
    """Start a planned sprint that has issues, as the project's lead; only one is active at a time.

    Args:
        sprint_id: The sprint, e.g. "spr_88".
        weeks: How long it runs before it ends by itself.
    """
    sprint = board.sprints[sprint_id]
    board.allow(sprint.project_id, "lead")
    if sprint.status != "planned":
        raise Rejected(f"{sprint.name} is {sprint.status} already")
    active = board.sprints.where(project_id=sprint.project_id, status="active")
    if active:
        raise Rejected(f"{active[0].name} is active; end it first")
    if not sprint.load:
        raise Rejected(f"{sprint.name} has no issues yet; add some with plan_issue")
    ends_at = board.now + timedelta(weeks=weeks)
    return board.sprints.update(sprint_id, status="active", ends_at=ends_at)


@server.write(destructive=True)
def end_sprint(board: Board, /, sprint_id: str) -> Sprint:
    """End an active sprint early, as the project's lead; open issues go to the next as they fit.

    Args:
        sprint_id: The sprint, e.g. "spr_88".
    """
    sprint = board.sprints[sprint_id]
    board.allow(sprint.project_id, "lead")
    if sprint.status != "active":
        raise Rejected(f"{sprint.name} is {sprint.status}, not active")
    return board.close_sprint(sprint_id)


@server.write
def set_issue_release(board: Board, /, issue_id: str, release_id: str) -> Issue:
    """Promise an issue that is not closed for a release of its project that has not shipped.

    Args:
        issue_id: The issue, e.g. "iss_4711".
        release_id: The release, e.g. "rel_61".
    """
    issue = board.active(issue_id)
    release = board.releases[release_id]
    board.allow(issue.project_id, *TEAM)
    if release.project_id != issue.project_id:
        raise Rejected(f"{release.name} is another project's release")
    if release.released_at:
        raise Rejected(f"{release.name} has shipped; choose a later one")
    if issue.release_id == release_id:
        raise Rejected(f"{issue.key} is in {release.name} already")
    return board.touch(issue_id, release_id=release_id)


@server.write
def ship_release(board: Board, /, release_id: str) -> Release:
    """Ship a project's release, as its lead, when all its issues are closed and one is done.

    Args:
        release_id: The release, e.g. "rel_61".
    """
    release = board.releases[release_id]
    board.allow(release.project_id, "lead")
    if release.released_at:
        raise Rejected(f"{release.name} has shipped already")
    issues = board.issues.where(release_id=release_id)
    waiting = [issue.key for issue in issues if issue.status not in CLOSED]
    if waiting:
        raise Rejected(f"not closed yet: {', '.join(waiting[:5])}")
    if not any(issue.status == "done" for issue in issues):
        raise Rejected(f"nothing in {release.name} is done")
    return board.releases.update(release_id, released_at=board.now)
