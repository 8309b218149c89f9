"""What a disk knows: a tree of files, who owns them, and where the acting user stands."""

from datetime import datetime
from typing import Any

import msgspec

from provegym.kernel import Denied, NotFound, Rejected, Server, State, Table, table

from . import limits
from .limits import ENTER, READ, WRITE
from .records import Inode, Kind, Node, Shell, TrashEntry, User, Version, join


class Disk(State):
    """The disk, as the acting user may see and change it."""

    nodes: Table[Node] = table(Node, key="path", look_up="find_files")
    inodes: Table[Inode] = table(Inode, "ino")
    versions: Table[Version] = table(Version, "ver", look_up="list_file_versions")
    trash: Table[TrashEntry] = table(TrashEntry, "trs", look_up="list_trash")
    users: Table[User] = table(User, key="login", look_up="list_machine_users")
    shells: Table[Shell] = table(Shell)

    @property
    def me(self) -> User:
        """The acting user."""
        return self.users[self.shells["me"].user]

    def absolute(self, path: str) -> str:
        """The path from the root on, without "~", "." and ".."."""
        if not path:
            raise Rejected('the path is empty; "." is the current directory')
        if path[0] == "~" and path[1:2] in ("", "/"):
            path = self.me.home + path[1:]
        elif path[0] != "/":
            path = f"{self.shells['me'].directory}/{path}"
        parts: list[str] = []
        for part in path.split("/"):
            if part == "..":
                del parts[-1:]
            elif part not in ("", "."):
                parts.append(part)
        return "/" + "/".join(parts)

    def locate(self, path: str, kind: Kind | None = None, *, follow: bool = True) -> Node:
        """The node a path leads to, if it is of this kind and all on the way may be entered."""
        names = self.absolute(path)[1:].split("/")
        node = self.nodes["/"]
        links = 0
        # The path of the root has no names: splitting it leaves an empty one.
        while names and names[0]:
            if node.kind != "directory":
                raise Rejected(f"{node.path} is a {node.kind}, not a directory")
            self.require(node, ENTER)
            name = names.pop(0)
            child = self.nodes.get(join(node.path, name))
            if child is None:
                raise NotFound(f"there is no {name!r} in {node.path}; see list_directory")
            if child.kind == "symlink" and (follow or names):
                links += 1
                if links > limits.MAX_LINKS:
                    raise Rejected(f"{child.path} leads in a circle of symbolic links; remove one")
                names = child.target[1:].split("/") + names
                node = self.nodes["/"]
            else:
                node = child
        if kind not in (None, node.kind):
            raise Rejected(f"{node.path} is a {node.kind}, not a {kind}")
        return node

    def text_of(self, node: Node) -> str:
        """What a file says, if the user may read it; an archive says what is in it."""
        self.require(node, READ)
        inode = self.inodes[node.inode]
        return inode.text or "".join(f"{name}\n" for name, _ in inode.members)

    def plain_text(self, node: Node) -> str:
        """What a text file says, if the user may read it; an archive is refused."""
        text = self.text_of(node)
        if self.inodes[node.inode].members:
            raise Rejected(f"{node.path} is an archive; unpack it with extract_archive")
        return text

    def may(self, node: Node, rights: int) -> bool:
        """Whether the user holds all these rights to a node."""
        user = self.me
        if node.owner == user.login:
            digit = node.mode[-3]
        elif node.group in user.groups:
            digit = node.mode[-2]
        else:
            digit = node.mode[-1]
        return int(digit) & rights == rights

    def require(self, node: Node, rights: int) -> None:
        """Refuse unless the user holds these rights."""
        if not self.may(node, rights):
            doing = limits.RIGHTS.get(rights, "change")
            what = f"{node.owner}, group {node.group}, mode {node.mode}"
            raise Denied(f"permission denied: you may not {doing} {node.path} ({what})")

    def owned(self, path: str, kind: Kind | None = None) -> Node:
        """What a path leads to, if it belongs to the user and is not fixed."""
        node = self.locate(path, kind)
        limits.refuse_fixed(node)
        if node.owner != self.me.login:
            raise Denied(f"{node.path} belongs to {node.owner}; only its owner may do that")
        return node

    def editable(self, path: str) -> tuple[Node, str]:
        """A text file that the user may change now, and its text."""
        node = self.locate(path, "file")
        text = self.plain_text(node)
        limits.refuse_fixed(node)
        self.require(node, WRITE)
        return node, text

    def removable(self, path: str) -> list[Node]:
        """What a path names and all below it, if the user may take it away from there."""
        node = self.locate(path, follow=False)
        shell = self.shells["me"]
        if node.path == "/":
            raise Denied("the root directory stays where it is")
        parent = self.nodes[node.parent]
        self.require(parent, WRITE | ENTER)
        is_sticky = len(parent.mode) == 4
        if is_sticky and shell.user not in (node.owner, parent.owner):
            raise Denied(f"{parent.path} is sticky: only {node.owner} may take {node.name} away")
        if f"{shell.directory}/".startswith(f"{node.path}/"):
            raise Rejected(f"you are in {shell.directory}; change_directory out of it first")
        tree = self.subtree(node)
        for part in tree:
            limits.refuse_fixed(part)
        return tree

    def vacancy(self, directory_path: str, name: str) -> str:
        """The path of something new, if the user may put it there and the name is free."""
        directory = self.locate(directory_path, "directory")
        limits.refuse_bad_name(name)
        limits.refuse_fixed(directory)
        self.require(directory, WRITE | ENTER)
        path = join(directory.path, name)
        if path in self.nodes:
            raise Rejected(f"{path} already exists; choose another name or remove it first")
        return path

    def subtree(self, top: Node) -> list[Node]:
        """A node and everything below it, directories before what they hold."""
        if top.kind != "directory":
            return [top]
        prefix = join(top.path, "")
        below = [node for node in self.nodes if node.path.startswith(prefix)]
        tree = [top, *below]
        if len(tree) > limits.MAX_TREE:
            raise Rejected(f"{top.path} holds over {limits.MAX_TREE} items; go about it in parts")
        return tree

    def walk(self, top: Node) -> list[Node]:
        """What the user can see below a directory; directories that may not be listed stay shut."""
        self.require(top, READ | ENTER)
        opened = {top.path}
        seen = []
        for node in self.nodes:
            if node.parent in opened:
                seen.append(node)
                if node.kind == "directory" and self.may(node, READ | ENTER):
                    opened.add(node.path)
        return seen

    def charge(self, login: str, size: int) -> None:
        """Count bytes towards what somebody uses, within their quota."""
        user = self.users[login]
        left = user.quota - user.used
        if size > 0 and size > left:
            raise Rejected(f"quota exceeded: {login} has {left} bytes left and this needs {size}")
        self.users.update(login, used=user.used + size)

    def put_at(self, path: str, node: Node) -> Node:
        """Put a node at a path."""
        parent, _, name = path.rpartition("/")
        if len(path.encode()) > limits.MAX_PATH or path.count("/") > limits.MAX_DEPTH:
            most = f"{limits.MAX_PATH} bytes and {limits.MAX_DEPTH} levels"
            raise Rejected(f"{name} would lie too deep: a path has at most {most}")
        is_root = path == "/"
        if not parent and not is_root:
            parent = "/"
        return self.nodes.put(msgspec.structs.replace(node, path=path, parent=parent, name=name))

    def create(self, path: str, kind: Kind, **fields: Any) -> Node:
        """Make something new; it is the acting user's, but for the fields that say otherwise."""
        user = self.me
        usual = {
            "owner": user.login,
            "group": user.groups[0],
            "mode": "755" if kind == "directory" else "644",
            "size": 0,
            "modified": self.now,
        }
        node = Node(path=path, parent="", name="", kind=kind, **{**usual, **fields})
        return self.put_at(path, node)

    def create_file(
        self, path: str, text: str, members: tuple[tuple[str, str], ...] = (), **fields: Any
    ) -> Node:
        """Make a file that holds a text or, as an archive, other files."""
        held = self.inodes.add(text=text, members=members)
        limits.refuse_oversize(held)
        node = self.create(path, "file", inode=held.id, size=held.size, **fields)
        self.charge(node.owner, node.size)
        return node

    def rewrite(self, node: Node, text: str) -> Node:
        """Give a file a new text and keep the old one as a version."""
        held = self.inodes[node.inode]
        new = self.inodes.put(msgspec.structs.replace(held, text=text))
        limits.refuse_oversize(new)
        self.keep_version(node, held.text, self.now)
        self.charge(node.owner, new.size - node.size)
        return self.nodes.update(node.path, size=new.size, modified=self.now)

    def keep_version(self, node: Node, text: str, saved_at: datetime) -> Version:
        """Keep a former text of a file, in the place of the oldest one if there are many."""
        kept = self.versions.where(inode=node.inode)
        if len(kept) >= limits.KEPT_VERSIONS:
            oldest = min(kept, key=lambda version: version.saved_at)
            self.versions.remove(oldest.id)
        return self.versions.add(
            inode=node.inode,
            name=node.name,
            saved_at=saved_at,
            size=len(text.encode()),
            preview=text[:60].split("\n")[0],
            text=text,
        )

    def move(self, tree: list[Node], path: str) -> Node:
        """Take a subtree to another path."""
        old_path = tree[0].path
        for node in tree:
            self.nodes.remove(node.path)
        for node in tree:
            self.put_at(path + node.path[len(old_path) :], node)
        return self.nodes[path]

    def forget(self, nodes: tuple[Node, ...] | list[Node]) -> None:
        """Give back what removed nodes held: contents, versions and bytes."""
        for node in nodes:
            if node.inode:
                self.inodes.remove(node.inode)
                for version in self.versions.where(inode=node.inode):
                    self.versions.remove(version.id)
                self.charge(node.owner, -node.size)

    def drop(self, tree: list[Node]) -> None:
        """Remove a subtree for good."""
        for node in reversed(tree):
            self.nodes.remove(node.path)
        self.forget(tree)

    def _swept(self) -> list[Node]:
        """What is cleared from /tmp once it is old: files and links that are not locked."""
        temporary = [node for node in self.nodes if node.path.startswith(limits.SWEPT)]
        return [node for node in temporary if node.kind != "directory" and not node.locked_until]

    def next_event(self) -> datetime | None:
        """Locks end at their time; /tmp and the trash are cleared at three in the morning."""
        events = [node.locked_until for node in self.nodes if node.locked_until]
        stale = [node.modified + limits.SWEPT_AFTER for node in self._swept()]
        stale += [entry.deleted_at + limits.PURGED_AFTER for entry in self.trash]
        if stale:
            first_stale = max(min(stale), self.now)
            events.append(limits.night_after(first_stale))
        return min(events, default=None)

    def happen(self) -> None:
        """End the locks that are over; at night, clear what lay too long."""
        for node in list(self.nodes):
            if node.locked_until and node.locked_until <= self.now:
                self.nodes.update(node.path, locked_by="", locked_until=None)
        if self.now.time() != limits.NIGHT:
            return
        for node in self._swept():
            if node.modified + limits.SWEPT_AFTER < self.now:
                self.drop([node])
        for entry in list(self.trash):
            if entry.deleted_at + limits.PURGED_AFTER < self.now:
                self.trash.remove(entry.id)
                self.forget(entry.nodes)

    def check(self) -> None:
        """Every node hangs in the tree, every byte is accounted for, nothing is left over."""
        in_trash = [node for entry in self.trash for node in entry.nodes]
        everything = [*self.nodes, *in_trash]
        for node in everything:
            self._check_node(node)
        self._check_tree()
        self._check_contents(everything)
        self._check_quotas(everything)
        for entry in self.trash:
            assert entry.path == entry.nodes[0].path
            assert entry.size == sum(node.size for node in entry.nodes)
        assert self.nodes[self.shells["me"].directory].kind == "directory"

    def _check_node(self, node: Node) -> None:
        if node.path != "/":
            assert node.path == join(node.parent, node.name)
        if node.kind == "file":
            assert node.size == self.inodes[node.inode].size
        else:
            assert node.size == 0
        if node.kind == "symlink":
            assert node.target == self.absolute(node.target)
        else:
            assert node.target == ""
        if node.locked_by:
            assert node.locked_until is not None
            assert node.locked_until > self.now

    def _check_tree(self) -> None:
        """Every node but the root, which is the first, lies in a directory that comes before it."""
        order = {path: index for index, path in enumerate(self.nodes.keys())}
        for node in list(self.nodes)[1:]:
            assert self.nodes[node.parent].kind == "directory"
            assert order[node.parent] < order[node.path]

    def _check_contents(self, everything: list[Node]) -> None:
        held = [node.inode for node in everything if node.kind == "file"]
        assert sorted(held) == sorted(self.inodes.keys())
        for version in self.versions:
            assert version.inode in self.inodes

    def _check_quotas(self, everything: list[Node]) -> None:
        used = dict.fromkeys(self.users.keys(), 0)
        for node in everything:
            used[node.owner] += node.size
        for user in self.users:
            assert user.used == used[user.login]
            assert user.used <= user.quota


about = "Files, directories, rights, versions and trash on a computer that several people share."
server = Server("filesystem", Disk, category="productivity", about=about, version=2)
