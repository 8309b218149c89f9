"""What can be written: new files, changes to their text, and former versions brought back."""

from typing import Annotated

from msgspec import Meta

from provegym.kernel import Rejected, Text

from .limits import MAX_BYTES
from .records import Node, split_lines
from .state import Disk, server

Piece = Annotated[str, Meta(min_length=1, max_length=200)]
Lines = Annotated[str, Meta(min_length=1, max_length=2_000)]
Number = Annotated[int, Meta(ge=1, le=MAX_BYTES)]


@server.write
def create_file(disk: Disk, /, name: str, directory_path: str = ".", content: Text = "") -> Node:
    """Make a new text file that the user owns; its name must be free, the directory writable.

    Args:
        name: What to call it, without a path, e.g. "notes.txt".
        directory_path: The directory to put it in, e.g. "~/Documents".
        content: What it shall say.
    """
    return disk.create_file(disk.vacancy(directory_path, name), content)


@server.write
def overwrite_file(disk: Disk, /, path: str, content: Text) -> Node:
    """Replace the whole text of a text file; what it said before is kept as a version.

    Args:
        path: The file, e.g. "~/notes.txt"; it must be writable and not locked.
        content: What it shall say instead.
    """
    node, _ = disk.editable(path)
    return disk.rewrite(node, content)


@server.write
def append_to_file(disk: Disk, /, path: str, text: Lines) -> Node:
    """Add lines at the end of a text file.

    Args:
        path: The file, e.g. "~/notes.txt"; it must be writable and not locked.
        text: The lines to add.
    """
    node, before = disk.editable(path)
    lines = [*split_lines(before), text.removesuffix("\n"), ""]
    return disk.rewrite(node, "\n".join(lines))


@server.write
def insert_lines(disk: Disk, /, path: str, text: Lines, line_number: Number = 1) -> Node:
    """Put lines into a text file in front of one of its lines.

    Args:
        path: The file, e.g. "~/notes.txt"; it must be writable and not locked.
        text: The lines to put in.
        line_number: The line that they go in front of; 1 is the top.
    """
    node, before = disk.editable(path)
    lines = split_lines(before)
    if line_number > len(lines) + 1:
        raise Rejected(f"{node.path} has only {len(lines)} lines; see append_to_file")
    lines.insert(line_number - 1, text.removesuffix("\n"))
    return disk.rewrite(node, "\n".join(lines) + "\n")


@server.write
def replace_in_file(disk: Disk, /, path: str, old_text: Piece, new_text: str) -> Node:
    """Replace a text wherever it stands in a text file; capital and small letters differ.

    Args:
        path: The file, e.g. "~/notes.txt"; it must be writable and not locked.
        old_text: What to look for, e.g. "pending"; it must occur.
        new_text: What to put there; nothing to take the old text out.
    """
    node, text = disk.editable(path)
    if old_text not in text:
        raise Rejected(f"{node.path} does not say that; read_file shows what it says")
    return disk.rewrite(node, text.replace(old_text, new_text))


@server.write
def sort_file(disk: Disk, /, path: str, new_name: str, unique: bool = False) -> Node:
    """Write the lines of a text file from A to Z into a new file in the same directory.

    Args:
        path: The file to sort, e.g. "~/notes.txt"; it stays as it is.
        new_name: What to call the sorted file; the name must be free.
        unique: Whether equal lines are written only once.
    """
    node = disk.locate(path, "file")
    lines = split_lines(disk.plain_text(node))
    ordered = sorted(set(lines)) if unique else sorted(lines)
    text = "".join(f"{line}\n" for line in ordered)
    return disk.create_file(disk.vacancy(node.parent, new_name), text)


@server.write
def restore_file_version(disk: Disk, /, version_id: str) -> Node:
    """Give a text file the text of a former version; the present text becomes a version in turn.

    Args:
        version_id: The version, e.g. "ver_4711"; its file must be writable and not locked.
    """
    version = disk.versions[version_id]
    found = disk.nodes.where(inode=version.inode)
    if not found:
        raise Rejected(f"{version.name} is in the trash; restore it from there first")
    node, _ = disk.editable(found[0].path)
    return disk.rewrite(node, version.text)
