"""Tools for issues: find, create, change, assign, move, link, close and watch them."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Label, Rejected
from provegym.servers import plain_name

from .state import (
    CLOSED,
    MOST_LINKS,
    TEAM,
    WORKFLOW,
    Board,
    HistoryEntry,
    Issue,
    Kind,
    Points,
    Priority,
    Status,
    Tag,
    server,
)

Tags = Annotated[list[Tag], Meta(max_length=4)]
Remark = Annotated[str, Meta(min_length=1, max_length=300)]

STALE_AFTER = timedelta(days=21)


@server.read
def search_issues(
    board: Board, /, text: str = "", status: Status | Literal["stale"] | None = None
) -> list[Issue]:
    """Find issues of the tracker by key, title or assignee, in all projects.

    Args:
        text: Only issues whose key, title or assignee contains this, e.g. "ORC-142".
        status: Only issues with this status; stale are those nobody has touched for three weeks.
    """
    found = []
    for issue in board.issues:
        if text.lower() in f"{issue.key} {issue.title} {issue.assignee}".lower():
            found.append(issue)
    if status is None:
        return found
    if status == "stale":
        found = [issue for issue in found if issue.status not in CLOSED]
        return [issue for issue in found if board.now - issue.updated_at >= STALE_AFTER]
    return [issue for issue in found if issue.status == status]


@server.read
def get_issue(board: Board, /, issue_id: str) -> Issue:
    """Show one issue of the tracker with its subtasks, blockers and watchers.

    Args:
        issue_id: The issue, e.g. "iss_4711".
    """
    return board.issues[issue_id]


@server.read
def list_issue_history(board: Board, /, issue_id: str) -> list[HistoryEntry]:
    """List an issue's comments and its moves between statuses, newest first.

    Args:
        issue_id: The issue, e.g. "iss_4711".
    """
    issue = board.issues[issue_id]
    entries = board.history.where(issue_id=issue.id)
    return list(reversed(entries))


@server.write
def create_issue(
    board: Board,
    /,
    project_id: str,
    title: Label,
    kind: Kind,
    component: str,
    parent_id: str | None = None,
) -> Issue:
    """Open an issue in a project, on its own or as a subtask; the user reports and watches it.

    Args:
        project_id: The project, e.g. "prj_310".
        title: What it is about; no other open issue of the project has this title.
        kind: What sort of work it is.
        component: The part of the project it belongs to; the project lists its components.
        parent_id: The open issue of the project it is part of, e.g. "iss_4711"; no subtask itself.
    """
    project = board.projects[project_id]
    if component not in project.components:
        raise Rejected(f"components of {project.name} are {', '.join(project.components)}")
    for other in board.issues.where(project_id=project_id):
        if other.status not in CLOSED and plain_name(other.title) == plain_name(title):
            raise Rejected(f"{other.key} is open under this title; use that one")
    number = project.last_number + 1
    board.projects.update(project_id, last_number=number)
    issue = board.issues.add(
        key=f"{project.key}-{number}",
        project_id=project_id,
        title=title,
        kind=kind,
        status="open",
        priority="medium",
        reporter=project.my_name,
        created_at=board.now,
        updated_at=board.now,
        component=component,
        parent_id=parent_id,
        watchers=(project.my_name,),
    )
    if parent_id is not None:
        _add_subtask(board, parent_id, issue)
    return issue


def _add_subtask(board: Board, parent_id: str, issue: Issue) -> None:
    """Make a new issue a subtask; if the parent is refused, the whole call is undone."""
    parent = board.active(parent_id)
    project = board.projects[issue.project_id]
    if parent.project_id != project.id or parent.parent_id:
        raise Rejected(f"{parent.key} is no top-level issue of {project.name}; choose another")
    if len(parent.subtasks) >= MOST_LINKS:
        raise Rejected(f"{parent.key} has {MOST_LINKS} subtasks")
    board.touch(parent_id, subtasks=(*parent.subtasks, issue.id))


@server.write(idempotent=True)
def update_issue(
    board: Board,
    /,
    issue_id: str,
    priority: Priority | None = None,
    labels: Tags | None = None,
    points: Points | None = None,
) -> Issue:
    """Change priority, labels or estimate of an issue that is not closed.

    Args:
        issue_id: The issue, e.g. "iss_4711"; the user must do more than report in its project.
        priority: How urgent it shall be; only a lead may make it critical.
        labels: All the labels it shall have.
        points: Its estimate; fixed once work has started, and its sprint must have room.
    """
    issue = board.active(issue_id)
    if priority == "critical":
        board.allow(issue.project_id, "lead")
    else:
        board.allow(issue.project_id, *TEAM)
    if priority is None and labels is None and points is None:
        raise Rejected(f"say what to change about {issue.key}")
    if points is not None:
        if issue.status != "open":
            raise Rejected(f"work on {issue.key} has started; its estimate stays")
        board.replan(issue, issue.sprint_id, points)
    return board.touch(
        issue_id,
        priority=issue.priority if priority is None else priority,
        labels=issue.labels if labels is None else tuple(dict.fromkeys(labels)),
    )


@server.write
def assign_issue(board: Board, /, issue_id: str, member_id: str) -> Issue:
    """Give an issue to somebody on its team; a developer may only take it, a lead may give it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; neither closed nor in review.
        member_id: The member of its project, e.g. "mem_52"; no reporter.
    """
    issue = board.active(issue_id)
    member = board.members[member_id]
    project = board.allow(issue.project_id, "developer", "lead")
    if project.my_role == "developer" and member.name != project.my_name:
        raise Denied(f"as a developer you may take {issue.key} yourself; only a lead gives it away")
    if issue.status == "in_review":
        raise Rejected(f"{issue.key} is in review; send it back first")
    if issue.assignee == member.name:
        raise Rejected(f"{issue.key} is {member.name}'s already")
    if member.project_id != issue.project_id:
        raise Rejected(f"{member.name} is on another team")
    if member.role == "reporter":
        raise Rejected(f"{member.name} only reports; choose a developer")
    return board.touch(issue_id, assignee=member.name)


@server.write
def move_issue(board: Board, /, issue_id: str, status: Status) -> Issue:
    """Move an issue through its workflow, as the user's role allows: start it, review it, close it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; nobody approves their own work.
        status: Where to; starting needs assignee and estimate, closing no open blocker or subtask.
    """
    issue = board.issues[issue_id]
    moves = {to: roles for (start, to), roles in WORKFLOW.items() if start == issue.status}
    if status not in moves:
        raise Rejected(f"{issue.key} is {issue.status}; it can go to {', '.join(moves)}")
    project = board.allow(issue.project_id, *moves[status])
    role = project.my_role
    me = project.my_name
    not_assigned = role == "developer" and issue.assignee != me
    not_reported = role == "reporter" and issue.reporter != me
    if not_assigned or not_reported:
        raise Denied(f"{issue.key} is not yours; a {role} moves only their own issues")
    if status == "done" and issue.assignee == me:
        raise Denied(f"{issue.key} is your own work; somebody else has to approve it")
    if status == "in_progress" and not (issue.assignee and issue.estimate):
        raise Rejected(f"{issue.key} needs an assignee and an estimate first")
    if status in CLOSED:
        board.require_closable(issue)
    return board.move(issue, status, me)


@server.write
def add_issue_blocker(board: Board, /, issue_id: str, blocker_id: str) -> Issue:
    """Say that an issue cannot be closed before another open one is, in whichever project.

    Args:
        issue_id: The issue that has to wait, e.g. "iss_4711".
        blocker_id: The issue it waits for, e.g. "iss_4802"; they must not wait for each other.
    """
    issue = board.active(issue_id)
    blocker = board.active(blocker_id)
    board.allow(issue.project_id, *TEAM)
    if blocker_id in issue.blocked_by:
        raise Rejected(f"{blocker.key} blocks {issue.key} already")
    if board.waits_for(blocker_id, issue_id):
        raise Rejected(f"{blocker.key} itself waits for {issue.key}")
    if len(issue.blocked_by) >= MOST_LINKS:
        raise Rejected(f"{issue.key} has {MOST_LINKS} blockers")
    return board.touch(issue_id, blocked_by=(*issue.blocked_by, blocker_id))


@server.write
def close_duplicate_issue(board: Board, /, issue_id: str, original_id: str) -> Issue:
    """Close an issue that says the same as another one, which inherits its watchers.

    Args:
        issue_id: The duplicate, e.g. "iss_4711"; open, without open blocker or subtask.
        original_id: The issue of the same project to go on with, e.g. "iss_4802"; no duplicate.
    """
    issue = board.active(issue_id)
    original = board.issues[original_id]
    me = board.allow(issue.project_id, *TEAM).my_name
    if issue_id == original_id:
        raise Rejected("an issue is no duplicate of itself; choose another")
    if issue.project_id != original.project_id:
        raise Rejected(f"{original.key} is in another project")
    if original.duplicate_of_id:
        raise Rejected(f"{original.key} is a duplicate too; see get_issue")
    board.require_closable(issue)
    new_watchers = [name for name in issue.watchers if name not in original.watchers]
    board.issues.update(original_id, watchers=(*original.watchers, *new_watchers))
    board.note(original, me, text=f"{issue.key} is a duplicate of this issue.")
    board.move(issue, "wont_do", me)
    # What was a duplicate of this issue is a duplicate of the original, too.
    for other in board.issues.where(duplicate_of_id=issue_id):
        board.issues.update(other.id, duplicate_of_id=original_id)
    return board.issues.update(issue_id, duplicate_of_id=original_id)


@server.write
def comment_on_issue(board: Board, /, issue_id: str, text: Remark) -> HistoryEntry:
    """Add a comment to an issue that is not closed; comments cannot be changed later.

    Args:
        issue_id: The issue, e.g. "iss_4711".
        text: What to say.
    """
    issue = board.active(issue_id)
    me = board.projects[issue.project_id].my_name
    board.touch(issue_id)
    return board.note(issue, me, text=text)


@server.write
def watch_issue(board: Board, /, issue_id: str) -> Issue:
    """Start watching an issue, so that the user hears of what happens to it.

    Args:
        issue_id: The issue, e.g. "iss_4711"; not watched by the user yet.
    """
    issue = board.issues[issue_id]
    me = board.projects[issue.project_id].my_name
    if me in issue.watchers:
        raise Rejected(f"you watch {issue.key} already")
    return board.issues.update(issue_id, watchers=(*issue.watchers, me))
