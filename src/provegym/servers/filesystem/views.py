"""What can be seen: places, listings, texts, sizes, former versions and the trash."""

from operator import attrgetter
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from .limits import ENTER, MAX_BYTES, READ
from .records import Kind, Node, Shell, TrashEntry, User, Version, split_lines
from .state import Disk, server

SortBy = Literal["name", "size", "modified"]
AnyKind = Kind | None
Part = Annotated[str, Meta(min_length=1, max_length=100)]
Depth = Annotated[int, Meta(ge=1, le=6)]
Count = Annotated[int, Meta(ge=1, le=MAX_BYTES)]


class Line(Struct, frozen=True, omit_defaults=True):
    """One line of a file."""

    line_number: int
    line: str
    path: str = ""


class DiskUsage(Struct, frozen=True):
    """What lies below a directory, as far as the acting user can see."""

    path: str
    files: int
    bytes: int
    largest_file: str


class WordCount(Struct, frozen=True):
    """The length of a text."""

    path: str
    lines: int
    words: int
    bytes: int


@server.read
def print_working_directory(disk: Disk, /) -> Shell:
    """Show the current directory and the login the user works under."""
    return disk.shells["me"]


@server.read
def list_directory(
    disk: Disk, /, directory_path: str = ".", show_hidden: bool = False, sort_by: SortBy = "name"
) -> list[Node]:
    """List what lies directly in a directory, with owner, group, mode, size and time.

    Args:
        directory_path: The directory, e.g. "~/Documents", "..", or "/home".
        show_hidden: Whether names that start with a dot are shown too.
        sort_by: By name from A to Z, or by size or time with the largest or newest first.
    """
    top = disk.locate(directory_path, "directory")
    disk.require(top, READ | ENTER)
    found = disk.nodes.where(parent=top.path)
    if not show_hidden:
        found = [node for node in found if not node.name.startswith(".")]
    return sorted(found, key=attrgetter(sort_by), reverse=sort_by != "name")


@server.read
def show_directory_tree(disk: Disk, /, directory_path: str = ".", depth: Depth = 2) -> list[Node]:
    """Show what is in a directory and in the directories inside it, in the order of their paths.

    Args:
        directory_path: The directory to start from, e.g. "~/Documents".
        depth: How many levels to go down.
    """
    top = disk.locate(directory_path, "directory")
    deepest = top.path.rstrip("/").count("/") + depth
    shown = [node for node in disk.walk(top) if node.path.count("/") <= deepest]
    return sorted(shown, key=lambda node: node.path.split("/"))


@server.read
def get_file_info(disk: Disk, /, path: str) -> Node:
    """Show owner, group, mode, size, time, tags and lock of one file, directory or link.

    Args:
        path: What to look at, e.g. "~/Documents/budget.csv"; a link itself is shown.
    """
    return disk.locate(path, follow=False)


@server.read
def read_file(disk: Disk, /, path: str, last_lines: Count | None = None) -> list[Line]:
    """Read a text file line by line; an archive shows the names of the files in it.

    Args:
        path: The file, e.g. "~/notes.txt".
        last_lines: Begin so many lines before the end instead of at the first line.
    """
    lines = split_lines(disk.text_of(disk.locate(path, "file")))
    numbered = list(enumerate(lines, start=1))
    if last_lines is not None:
        numbered = numbered[-last_lines:]
    return [Line(number, line) for number, line in numbered]


@server.read
def search_file_text(disk: Disk, /, text: Part, path: str = ".") -> list[Line]:
    """Find the lines that hold a text, in one file or in all readable files below a directory.

    Args:
        text: The text to look for, taken literally; capital and small letters are the same.
        path: The file or directory to search, e.g. "~/Documents".
    """
    top = disk.locate(path)
    disk.require(top, READ)
    nodes = disk.walk(top) if top.kind == "directory" else [top]
    wanted = text.lower()
    found = []
    for node in nodes:
        if not node.inode or not disk.may(node, READ):
            continue
        lines = split_lines(disk.inodes[node.inode].text)
        for number, line in enumerate(lines, start=1):
            if wanted in line.lower():
                found.append(Line(number, line, node.path))
    return found


@server.read
def find_files(
    disk: Disk, /, name: str = "", directory_path: str = ".", kind: AnyKind = None, tag: str = ""
) -> list[Node]:
    """Find files, directories and links below a directory, as deep as the user may look.

    Args:
        name: Part of the name; "*.csv" is how it ends, "tax*" is how it begins.
        directory_path: Where to search; "/" is the whole machine.
        kind: Only entries of this kind.
        tag: Only entries with this tag, e.g. "urgent".
    """
    found = disk.walk(disk.locate(directory_path, "directory"))
    if kind is not None:
        found = [node for node in found if node.kind == kind]
    if tag:
        found = [node for node in found if tag in node.tags]
    return [node for node in found if _fits(node.name, name)]


@server.read
def get_disk_usage(disk: Disk, /, directory_path: str = ".") -> DiskUsage:
    """Add up the sizes of all files below a directory and name the largest.

    Args:
        directory_path: The directory to measure, e.g. "~/Documents".
    """
    top = disk.locate(directory_path, "directory")
    files = [node for node in disk.walk(top) if node.kind == "file"]
    largest = max(files, key=attrgetter("size")).path if files else ""
    total = sum(node.size for node in files)
    return DiskUsage(path=top.path, files=len(files), bytes=total, largest_file=largest)


@server.read
def get_storage_quota(disk: Disk, /) -> User:
    """Show how many bytes the user may use and has used; the trash counts until it is emptied."""
    return disk.me


@server.read
def count_file_words(disk: Disk, /, path: str) -> WordCount:
    """Count the lines, words and bytes of a text file.

    Args:
        path: The file, e.g. "~/notes.txt".
    """
    node = disk.locate(path, "file")
    text = disk.text_of(node)
    return WordCount(
        path=node.path, lines=len(split_lines(text)), words=len(text.split()), bytes=node.size
    )


@server.read
def compare_files(disk: Disk, /, path: str, other_path: str) -> list[Line]:
    """Show the lines that only one of two text files has, in any place.

    Args:
        path: One file, e.g. "~/notes.txt".
        other_path: The other file, e.g. "~/notes.bak".
    """
    node = disk.locate(path, "file")
    other = disk.locate(other_path, "file")
    lines = split_lines(disk.text_of(node))
    other_lines = split_lines(disk.text_of(other))
    return _lines_without(node, lines, other_lines) + _lines_without(other, other_lines, lines)


@server.read
def list_file_versions(disk: Disk, /, path: str) -> list[Version]:
    """List the former versions kept of a text file, newest first; moving a file keeps them.

    Args:
        path: The file, e.g. "~/notes.txt".
    """
    node = disk.locate(path, "file")
    disk.require(node, READ)
    kept = disk.versions.where(inode=node.inode)
    newest = sorted(kept, key=attrgetter("saved_at"), reverse=True)
    return [replace(version, text="") for version in newest]


@server.read
def list_trash(disk: Disk, /, name: str = "") -> list[TrashEntry]:
    """List what the user has thrown away and can still get back, newest first.

    Args:
        name: Only entries whose name contains this.
    """
    newest = sorted(disk.trash, key=attrgetter("deleted_at"), reverse=True)
    return [replace(entry, nodes=()) for entry in newest if name.lower() in entry.name.lower()]


@server.read
def list_machine_users(disk: Disk, /, name: str = "", group: str = "") -> list[User]:
    """List who has an account on this machine, with login, groups and space used.

    Args:
        name: Only people whose full name or login contains this.
        group: Only members of this group, e.g. "users".
    """
    wanted = name.lower()
    found = [user for user in disk.users if wanted in f"{user.full_name} {user.login}".lower()]
    if group:
        found = [user for user in found if group in user.groups]
    return found


def _fits(name: str, pattern: str) -> bool:
    """Whether a name fits a pattern; a star on one side alone says how it ends or begins."""
    wanted = pattern.strip("*").lower()
    has_star_before = pattern.startswith("*")
    has_star_after = pattern.endswith("*")
    if has_star_before and not has_star_after:
        return name.lower().endswith(wanted)
    if has_star_after and not has_star_before:
        return name.lower().startswith(wanted)
    return wanted in name.lower()


def _lines_without(node: Node, lines: list[str], others: list[str]) -> list[Line]:
    """The lines of a file that are not among the others."""
    known = set(others)
    return [
        Line(number, line, node.path)
        for number, line in enumerate(lines, start=1)
        if line not in known
    ]
