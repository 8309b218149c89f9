"""What can be done about projects, teams, sprints and releases."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from provegym.kernel import forbid

from . import state as track
from .state import CLOSED, TEAM, Board, Issue, Phase, Release, Sprint, server

Weeks = Annotated[int, Meta(ge=1, le=4)]


@server.read
def list_tracker_projects(board: Board, /, name: str = "") -> list[track.Project]:
    """List the projects of the issue tracker with their components and the user's role in each.

    Args:
        name: Only projects whose name or key contains this.
    """
    return [p for p in board.projects if name.lower() in f"{p.name} {p.key}".lower()]


@server.read
def list_project_members(board: Board, /, project_id: str, name: str = "") -> list[track.Member]:
    """List the people on a software project's team, with their roles.

    Args:
        project_id: The project, e.g. "prj_310".
        name: Only members whose name contains this.
    """
    team = board.members.where(project_id=board.projects[project_id].id)
    return [member for member in team if name.lower() in member.name.lower()]


@server.read
def list_sprints(board: Board, /, project_id: str, status: Phase | None = None) -> list[Sprint]:
    """List a software project's sprints with capacity and load, and when the active one ends.

    Args:
        project_id: The project, e.g. "prj_310".
        status: Only sprints with this status.
    """
    sprints = board.sprints.where(project_id=board.projects[project_id].id)
    return [sprint for sprint in sprints if status in (None, sprint.status)]


@server.read
def list_project_releases(board: Board, /, project_id: str, name: str = "") -> list[Release]:
    """List the versions a software project has shipped or plans to ship.

    Args:
        project_id: The project, e.g. "prj_310".
        name: Only releases whose name contains this.
    """
    releases = board.releases.where(project_id=board.projects[project_id].id)
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
        forbid(issue.status != "open", f"{issue.key} is {issue.status}; move it to open first")
        return board.replan(issue, None)
    sprint = board.sprints[sprint_id]
    forbid(sprint.project_id != issue.project_id, f"{sprint.name} is another project's sprint")
    forbid(sprint.id == issue.sprint_id, f"{issue.key} is in {sprint.name} already")
    forbid(sprint.status == "closed", f"{sprint.name} is over; choose a planned or active one")
    forbid(not issue.estimate, f"estimate {issue.key} with update_issue first")
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
    forbid(sprint.status != "planned", f"{sprint.name} is {sprint.status} already")
    for other in board.sprints.where(project_id=sprint.project_id):
        forbid(other.status == "active", f"{other.name} is active; end it first")
    forbid(not sprint.load, f"{sprint.name} has no issues yet; add some with plan_issue")
    ends = board.now + timedelta(weeks=weeks)
    return board.sprints.update(sprint_id, status="active", ends_at=ends)


@server.write(destructive=True)
def end_sprint(board: Board, /, sprint_id: str) -> Sprint:
    """End an active sprint early, as the project's lead; open issues go to the next as they fit.

    Args:
        sprint_id: The sprint, e.g. "spr_88".
    """
    sprint = board.sprints[sprint_id]
    board.allow(sprint.project_id, "lead")
    forbid(sprint.status != "active", f"{sprint.name} is {sprint.status}, not active")
    return board.close_sprint(sprint_id)


@server.write
def set_issue_release(board: Board, /, issue_id: str, release_id: str) -> Issue:
    """Promise an issue that is not closed for a release of its project that has not shipped.

    Args:
        issue_id: The issue, e.g. "iss_4711".
        release_id: The release, e.g. "rel_61".
    """
    issue, release = board.active(issue_id), board.releases[release_id]
    board.allow(issue.project_id, *TEAM)
    forbid(release.project_id != issue.project_id, f"{release.name} is another project's release")
    forbid(bool(release.released_at), f"{release.name} has shipped; choose a later one")
    forbid(issue.release_id == release_id, f"{issue.key} is in {release.name} already")
    return board.touch(issue_id, release_id=release_id)


@server.write
def ship_release(board: Board, /, release_id: str) -> Release:
    """Ship a project's release, as its lead, when all its issues are closed and one is done.

    Args:
        release_id: The release, e.g. "rel_61".
    """
    release = board.releases[release_id]
    board.allow(release.project_id, "lead")
    forbid(bool(release.released_at), f"{release.name} has shipped already")
    inside = board.issues.where(release_id=release_id)
    waiting = [issue.key for issue in inside if issue.status not in CLOSED]
    forbid(bool(waiting), f"not closed yet: {', '.join(waiting[:5])}")
    forbid(all(i.status != "done" for i in inside), f"nothing in {release.name} is done")
    return board.releases.update(release_id, released_at=board.now)
