"""What can be done with issues."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, forbid

from . import state as track
from .state import CLOSED, MOST_LINKS, TEAM, WORKFLOW, Board, Issue, Kind, Status, server

Id = str | None
Rank = track.Priority | None
Size = track.Points | None
Tags = Annotated[list[track.Tag], Meta(max_length=4)] | None
Remark = Annotated[str, Meta(min_length=1, max_length=300)]
Shown = Status | Literal["stale"] | None


@server.read
def search_issues(board: Board, /, text: str = "", status: Shown = None) -> list[Issue]:
    """Find issues of the tracker by key, title or assignee, in all projects.

    Args:
        text: Only issues whose key, title or assignee contains this, e.g. "ORC-142".
        status: Only issues with this status; stale are those nobody has touched for three weeks.
    """
    text, long_ago = text.lower(), board.now - timedelta(days=21)
    found = [i for i in board.issues if text in f"{i.key} {i.title} {i.assignee}".lower()]
    stale = [i for i in found if i.updated_at <= long_ago and i.status not in CLOSED]
    return stale if status == "stale" else [i for i in found if status in (None, i.status)]


@server.read
def get_issue(board: Board, /, issue_id: str) -> Issue:
    """Show one issue of the tracker with its subtasks, blockers and watchers.

    Args:
        issue_id: The issue, e.g. "iss_4711".
    """
    return board.issues[issue_id]


@server.read
def list_issue_history(board: Board, /, issue_id: str) -> list[track.HistoryEntry]:
    """List an issue's comments and its moves between statuses, newest first.

    Args:
        issue_id: The issue, e.g. "iss_4711".
    """
    return board.history.where(issue_id=board.issues[issue_id].id)[::-1]


@server.write
def create_issue(
    board: Board, /, project_id: str, title: Label, kind: Kind, component: str, parent_id: Id = None
) -> Issue:
    """Open an issue in a project, on its own or as a subtask; the user reports and watches it.

    Args:
        project_id: The project, e.g. "prj_310".
        title: What it is about; no other open issue of the project has this title.
        kind: What sort of work it is.
        component: The part of the project it belongs to; the project lists its components.
        parent_id: The open issue of the project it is part of, e.g. "iss_4711"; no subtask itself.
    """
    project, parts = board.projects[project_id], ", ".join(board.projects[project_id].components)
    forbid(component not in project.components, f"components of {project.name} are {parts}")
    for other in board.issues.where(project_id=project_id, title=title):
        forbid(other.status not in CLOSED, f"{other.key} is open under this title; use that one")
    key, me = f"{project.key}-{project.last_number + 1}", project.my_name
    board.projects.update(project_id, last_number=project.last_number + 1)
    fields = {"key": key, "project_id": project_id, "parent_id": parent_id, "title": title}
    fields |= {"kind": kind, "component": component, "reporter": me}
    fields |= {"status": "open", "priority": "medium"}
    issue = board.issues.add(created_at=board.now, updated_at=board.now, watchers=(me,), **fields)
    if parent_id is not None:
        parent = board.active(parent_id)
        fits = parent.project_id == project_id and not parent.parent_id
        forbid(not fits, f"{parent.key} is no top-level issue of {project.name}; choose another")
        forbid(len(parent.subtasks) >= MOST_LINKS, f"{parent.key} has {MOST_LINKS} subtasks")
        board.touch(parent_id, subtasks=(*parent.subtasks, issue.id))
    return issue


@server.write(idempotent=True)
def update_issue(
    board: Board, /, issue_id: str, priority: Rank = None, labels: Tags = None, points: Size = None
) -> Issue:
    """Change priority, labels or estimate of an issue that is not closed.

    Args:
        issue_id: The issue, e.g. "iss_4711"; the user must do more than report in its project.
        priority: How urgent it shall be; only a lead may make it critical.
        labels: All the labels it shall have.
        points: Its estimate; fixed once work has started, and its sprint must have room.
    """
    issue = board.active(issue_id)
    board.allow(issue.project_id, *(("lead",) if priority == "critical" else TEAM))
    forbid(not (priority or points) and labels is None, f"say what to change about {issue.key}")
    if points is not None:
        forbid(issue.status != "open", f"work on {issue.key} has started; its estimate stays")
        board.replan(issue, issue.sprint_id, points)
    tags = issue.labels if labels is None else tuple(labels)
    return board.touch(issue_id, priority=priority or issue.priority, labels=tags)


@server.write
def assign_issue(board: Board, /, issue_id: str, member_id: str) -> Issue:
    """Give an issue to somebody on its team; a developer may only take it, a lead may give it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; neither closed nor in review.
        member_id: The member of its project, e.g. "mem_52"; no reporter.
    """
    issue, member = board.active(issue_id), board.members[member_id]
    me = board.allow(issue.project_id, "developer", "lead")
    if me.my_role == "developer" and member.name != me.my_name:
        raise Denied(f"as a developer you may take {issue.key} yourself; only a lead gives it away")
    forbid(issue.status == "in_review", f"{issue.key} is in review; send it back first")
    forbid(issue.assignee == member.name, f"{issue.key} is {member.name}'s already")
    forbid(member.project_id != issue.project_id, f"{member.name} is on another team")
    forbid(member.role == "reporter", f"{member.name} only reports; choose a developer")
    return board.touch(issue_id, assignee=member.name)


@server.write
def move_issue(board: Board, /, issue_id: str, status: Status) -> Issue:
    """Move an issue through its workflow, as the user's role allows: start it, review it, close it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; nobody approves their own work.
        status: Where to; starting needs assignee and estimate, closing no open blocker or subtask.
    """
    issue = board.issues[issue_id]
    ways = {to: roles for (start, to), roles in WORKFLOW.items() if start == issue.status}
    forbid(status not in ways, f"{issue.key} is {issue.status}; it can go to {', '.join(ways)}")
    me = board.allow(issue.project_id, *ways[status])
    whose = {"developer": issue.assignee, "reporter": issue.reporter}
    if whose.get(me.my_role, me.my_name) != me.my_name:
        raise Denied(f"{issue.key} is not yours; a {me.my_role} moves only their own issues")
    if status == "done" and issue.assignee == me.my_name:
        raise Denied(f"{issue.key} is your own work; somebody else has to approve it")
    ready = status != "in_progress" or (issue.assignee and issue.estimate)
    forbid(not ready, f"{issue.key} needs an assignee and an estimate first")
    if status in CLOSED:
        board.require_closable(issue)
    return board.move(issue, status, me.my_name)


@server.write
def add_issue_blocker(board: Board, /, issue_id: str, blocker_id: str) -> Issue:
    """Say that an issue cannot be closed before another open one is, in whichever project.

    Args:
        issue_id: The issue that has to wait, e.g. "iss_4711".
        blocker_id: The issue it waits for, e.g. "iss_4802"; they must not wait for each other.
    """
    issue, blocker = board.active(issue_id), board.active(blocker_id)
    board.allow(issue.project_id, *TEAM)
    forbid(blocker_id in issue.blocked_by, f"{blocker.key} blocks {issue.key} already")
    forbid(board.waits_for(blocker_id, issue_id), f"{blocker.key} itself waits for {issue.key}")
    forbid(len(issue.blocked_by) >= MOST_LINKS, f"{issue.key} has {MOST_LINKS} blockers")
    return board.touch(issue_id, blocked_by=(*issue.blocked_by, blocker_id))


@server.write
def close_duplicate_issue(board: Board, /, issue_id: str, original_id: str) -> Issue:
    """Close an issue that says the same as another one, which inherits its watchers.

    Args:
        issue_id: The duplicate, e.g. "iss_4711"; open, without open blocker or subtask.
        original_id: The issue of the same project to go on with, e.g. "iss_4802"; no duplicate.
    """
    issue, original = board.active(issue_id), board.issues[original_id]
    me = board.allow(issue.project_id, *TEAM)
    forbid(issue_id == original_id, "an issue is no duplicate of itself; choose another")
    forbid(issue.project_id != original.project_id, f"{original.key} is in another project")
    forbid(bool(original.duplicate_of_id), f"{original.key} is a duplicate too; see get_issue")
    board.require_closable(issue)
    watchers = tuple(dict.fromkeys((*original.watchers, *issue.watchers)))
    board.issues.update(original_id, watchers=watchers)
    board.note(original, me.my_name, text=f"{issue.key} is a duplicate of this issue.")
    board.move(issue, "wont_do", me.my_name)
    return board.issues.update(issue_id, duplicate_of_id=original_id)


@server.write
def comment_on_issue(board: Board, /, issue_id: str, text: Remark) -> track.HistoryEntry:
    """Add a comment to an issue that is not closed; comments cannot be changed later.

    Args:
        issue_id: The issue, e.g. "iss_4711".
        text: What to say.
    """
    issue = board.active(issue_id)
    board.touch(issue_id)
    return board.note(issue, board.projects[issue.project_id].my_name, text=text)


@server.write
def watch_issue(board: Board, /, issue_id: str) -> Issue:
    """Start watching an issue, so that the user hears of what happens to it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; not watched by the user yet.
    """
    issue = board.issues[issue_id]
    me = board.projects[issue.project_id].my_name
    forbid(me in issue.watchers, f"you watch {issue.key} already")
    return board.issues.update(issue_id, watchers=(*issue.watchers, me))
