"""What can be settled about a file: who may do what with it, its tags and its lock."""

from datetime import timedelta
from typing import Annotated, Literal

from msgspec import Meta

from provegym.kernel import Denied, Rejected

from .limits import MAX_TAGS
from .records import Node
from .state import Disk, server

Mode = Literal[
    "400", "440", "444", "600", "640", "644", "660", "664", "666", "700", "750", "755", "770", "775"
]
Tag = Annotated[str, Meta(max_length=24, pattern="^[a-z0-9-]+$")]


@server.write(idempotent=True)
def change_mode(disk: Disk, /, path: str, mode: Mode) -> Node:
    """Set who may read (4), write (2) and enter or run (1) something the user owns.

    Args:
        path: The file or directory, e.g. "~/Documents"; the user's own and not locked.
        mode: Three digits for owner, group and others, e.g. "640".
    """
    node = disk.owned(path)
    return disk.nodes.update(node.path, mode=mode)


@server.write
def change_owner(disk: Disk, /, path: str, owner: str) -> Node:
    """Hand something the user owns over to a member of its group, whose quota it then counts to.

    Args:
        path: The file or directory, e.g. "~/Documents"; the user's own and not locked.
        owner: The login of the new owner, e.g. "ines.falk".
    """
    node = disk.owned(path)
    user = disk.users[owner]
    if owner == node.owner:
        raise Rejected(f"{node.path} already belongs to {owner}")
    if node.group not in user.groups:
        raise Rejected(f"{owner} is no member of {node.group}, the group of {node.name}")
    disk.charge(owner, node.size)
    disk.charge(node.owner, -node.size)
    return disk.nodes.update(node.path, owner=owner)


@server.write(idempotent=True)
def change_group(disk: Disk, /, path: str, group: str) -> Node:
    """Give something the user owns to another group that the user belongs to.

    Args:
        path: The file or directory, e.g. "~/Documents"; the user's own and not locked.
        group: The group, e.g. "users".
    """
    node = disk.owned(path)
    mine = disk.me.groups
    if group not in mine:
        raise Denied(f"you cannot give files to {group!r}; your groups are {', '.join(mine)}")
    return disk.nodes.update(node.path, group=group)


@server.write
def tag_file(disk: Disk, /, path: str, tag: Tag, remove: bool = False) -> Node:
    """Put one of at most five tags on a file or directory the user owns, or take one off.

    Args:
        path: The file or directory, e.g. "~/Documents"; the user's own and not locked.
        tag: One word of small letters, digits and hyphens, e.g. "urgent".
        remove: Whether to take the tag off instead.
    """
    node = disk.owned(path)
    if remove:
        if tag not in node.tags:
            raise Rejected(f"{node.path} has no tag {tag}")
        others = [other for other in node.tags if other != tag]
        return disk.nodes.update(node.path, tags=tuple(others))
    if tag in node.tags:
        raise Rejected(f"{node.path} already has the tag {tag}")
    if len(node.tags) >= MAX_TAGS:
        raise Rejected(f"{node.path} already has {MAX_TAGS} tags; take one off first")
    return disk.nodes.update(node.path, tags=(*node.tags, tag))


@server.write
def lock_file(disk: Disk, /, path: str, hours: Annotated[int, Meta(ge=1, le=72)] = 8) -> Node:
    """Keep a file the user owns from being changed, moved or removed by anybody for some hours.

    Args:
        path: The file, e.g. "~/notes.txt"; the user's own and not locked.
        hours: How long; the lock then ends by itself.
    """
    node = disk.owned(path, "file")
    until = disk.now + timedelta(hours=hours)
    return disk.nodes.update(node.path, locked_by=disk.me.login, locked_until=until)


@server.write
def unlock_file(disk: Disk, /, path: str) -> Node:
    """End the lock on a file; only who locked it or owns it may.

    Args:
        path: The locked file, e.g. "~/notes.txt".
    """
    node = disk.locate(path, "file")
    if not node.locked_until:
        raise Rejected(f"{node.path} is not locked")
    if disk.me.login not in (node.locked_by, node.owner):
        raise Denied(f"{node.locked_by} locked {node.path}; only they or its owner may unlock it")
    return disk.nodes.update(node.path, locked_by="", locked_until=None)
