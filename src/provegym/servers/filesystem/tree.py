"""What can be done to the tree: go, make, copy, move, remove, trash, link, pack and unpack."""

from datetime import timedelta
from typing import Annotated

from msgspec import Meta
from msgspec.structs import replace

from provegym.kernel import Rejected

from .limits import ENTER, READ, WRITE
from .records import Node, Shell, TrashEntry, User, join
from .state import Disk, server

Paths = Annotated[list[str], Meta(min_length=1, max_length=10)]
Days = Annotated[int, Meta(ge=0, le=30)]


@server.write
def change_directory(disk: Disk, /, directory_path: str) -> Shell:
    """Make another directory the current one; relative paths start from there.

    Args:
        directory_path: Where to go, e.g. "Documents", ".." or "~"; the user must be allowed in.
    """
    directory = disk.locate(directory_path, "directory")
    disk.require(directory, ENTER)
    return disk.shells.update("me", directory=directory.path)


@server.write
def make_directory(disk: Disk, /, name: str, directory_path: str = ".") -> Node:
    """Make a new, empty directory; the name must be free.

    Args:
        name: What to call it, without a path, e.g. "Taxes".
        directory_path: The directory to put it in, e.g. "~/Documents"; it must be writable.
    """
    return disk.create(disk.vacancy(directory_path, name), "directory")


@server.write
def copy_path(disk: Disk, /, source_path: str, directory_path: str, new_name: str = "") -> Node:
    """Copy a file, or a directory with all it holds, into a directory; the user owns the copies.

    Args:
        source_path: What to copy, e.g. "~/notes.txt"; all of it must be readable.
        directory_path: The existing directory to copy it into, e.g. "~/Documents".
        new_name: What to call the copy, unless its name shall stay.
    """
    source = disk.locate(source_path)
    path = disk.vacancy(directory_path, new_name or source.name)
    _refuse_circle(source, path)
    for node in disk.subtree(source):
        disk.require(node, READ | ENTER if node.kind == "directory" else READ)
        place = path + node.path[len(source.path) :]
        mode = node.mode[-3:]
        if node.kind == "file":
            held = disk.inodes[node.inode]
            disk.create_file(place, held.text, held.members, mode=mode)
        else:
            disk.create(place, node.kind, target=node.target, mode=mode)
    return disk.nodes[path]


@server.write
def move_path(disk: Disk, /, path: str, directory_path: str) -> Node:
    """Move a file, link or directory with all it holds into another directory.

    Args:
        path: What to move, e.g. "~/notes.txt"; nothing in it locked, the user not inside it.
        directory_path: The existing directory to move it into, e.g. "~/Documents".
    """
    tree = disk.removable(path)
    target = disk.vacancy(directory_path, tree[0].name)
    _refuse_circle(tree[0], target)
    return disk.move(tree, target)


@server.write
def rename_path(disk: Disk, /, path: str, new_name: str) -> Node:
    """Give a file, link or directory another name in the directory it is in.

    Args:
        path: What to rename, e.g. "~/notes.txt"; nothing in it locked, the user not inside it.
        new_name: The new name, without a path; it must be free.
    """
    tree = disk.removable(path)
    return disk.move(tree, disk.vacancy(tree[0].parent, new_name))


@server.write(destructive=True)
def remove_file(disk: Disk, /, path: str) -> Node:
    """Delete a file or symbolic link for good, with its versions.

    Args:
        path: What to delete, e.g. "~/notes.txt"; not locked; a link is not followed.
    """
    tree = disk.removable(path)
    node = tree[0]
    if node.kind == "directory":
        raise Rejected(f"{node.path} is a directory; see remove_directory")
    disk.drop(tree)
    return node


@server.write(destructive=True)
def remove_directory(disk: Disk, /, directory_path: str, recursive: bool = False) -> Node:
    """Delete a directory for good; it must be empty, unless recursive is true.

    Args:
        directory_path: The directory, e.g. "~/Old"; nothing in it locked, the user not inside it.
        recursive: Whether to delete all it holds too.
    """
    tree = disk.removable(directory_path)
    directory = tree[0]
    if directory.kind != "directory":
        raise Rejected(f"{directory.path} is a {directory.kind}; see remove_file")
    if len(tree) > 1 and not recursive:
        raise Rejected(f"{directory.path} is not empty: it holds {len(tree) - 1} items")
    _require_writable(disk, tree)
    disk.drop(tree)
    return directory


@server.write
def move_to_trash(disk: Disk, /, path: str) -> TrashEntry:
    """Throw away a file, link or directory so that it can be restored for 30 days.

    Args:
        path: What to throw away, e.g. "~/notes.txt"; nothing in it locked, all of it writable.
    """
    tree = disk.removable(path)
    _require_writable(disk, tree)
    top = tree[0]
    for node in tree:
        disk.nodes.remove(node.path)
    entry = disk.trash.add(
        name=top.name,
        path=top.path,
        kind=top.kind,
        size=sum(node.size for node in tree),
        deleted_at=disk.now,
        nodes=tuple(tree),
    )
    return replace(entry, nodes=())


@server.write
def restore_from_trash(disk: Disk, /, trash_entry_id: str) -> Node:
    """Put something thrown away back where it was; its directory must exist, its name be free.

    Args:
        trash_entry_id: The entry, e.g. "trs_4711".
    """
    entry = disk.trash[trash_entry_id]
    top = entry.nodes[0]
    if top.parent not in disk.nodes:
        raise Rejected(f"its directory {top.parent} is gone; make it again first")
    path = disk.vacancy(top.parent, top.name)
    for node in entry.nodes:
        disk.put_at(path + node.path[len(top.path) :], node)
    disk.trash.remove(trash_entry_id)
    return disk.nodes[path]


@server.write(destructive=True)
def empty_trash(disk: Disk, /, older_than_days: Days = 0) -> User:
    """Delete what is in the trash for good, and show how much space the user then uses.

    Args:
        older_than_days: Only what was thrown away at least so many days ago.
    """
    age = timedelta(days=older_than_days)
    old = [entry for entry in disk.trash if disk.now - entry.deleted_at >= age]
    if not old:
        raise Rejected(f"nothing in the trash is {older_than_days} days old; see list_trash")
    for entry in old:
        disk.trash.remove(entry.id)
        disk.forget(entry.nodes)
    return disk.me


@server.write
def create_symlink(disk: Disk, /, target_path: str, name: str, directory_path: str = ".") -> Node:
    """Make a symbolic link; what it leads to must exist, its name be free.

    Args:
        target_path: What the link leads to, e.g. "~/notes.txt".
        name: What to call the link, without a path.
        directory_path: The directory to put the link in.
    """
    target = disk.locate(target_path, follow=False).path
    path = disk.vacancy(directory_path, name)
    return disk.create(path, "symlink", target=target, mode="777")


@server.write
def create_archive(disk: Disk, /, paths: Paths, name: str, directory_path: str = ".") -> Node:
    """Pack copies of text files into a new zip archive; its name must be free.

    Args:
        paths: The files to pack, no two of the same name, e.g. ["~/notes.txt"]; all readable.
        name: What to call the archive; ".zip" is added where it is missing.
        directory_path: The directory to put the archive in.
    """
    nodes = [disk.locate(path, "file") for path in paths]
    members = {node.name: disk.plain_text(node) for node in nodes}
    if len(members) < len(nodes):
        raise Rejected("two of the files have the same name; pack them one by one or rename one")
    target = disk.vacancy(directory_path, f"{name.removesuffix('.zip')}.zip")
    return disk.create_file(target, "", tuple(members.items()))


@server.write
def extract_archive(disk: Disk, /, path: str, directory_path: str = ".") -> Node:
    """Unpack a zip archive into a new directory that is called like it, without ".zip".

    Args:
        path: The archive, e.g. "~/notes.zip".
        directory_path: Where to make the new directory.
    """
    node = disk.locate(path, "file")
    disk.require(node, READ)
    members = disk.inodes[node.inode].members
    if not members:
        raise Rejected(f"{node.path} is no archive; find_files with name *.zip shows them")
    target = disk.vacancy(directory_path, node.name.removesuffix(".zip"))
    made = disk.create(target, "directory")
    for name, text in members:
        disk.create_file(join(made.path, name), text)
    return made


def _require_writable(disk: Disk, tree: list[Node]) -> None:
    """Refuse to delete a subtree in which the user may not write to every directory."""
    for node in tree[1:]:
        disk.require(disk.nodes[node.parent], WRITE | ENTER)


def _refuse_circle(source: Node, target: str) -> None:
    """Refuse to put a directory somewhere below itself."""
    if target.startswith(join(source.path, "")):
        raise Rejected(f"{source.path} cannot go into itself; choose a directory outside it")
