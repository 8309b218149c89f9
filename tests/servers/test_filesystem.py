"""The rules of a shared disk, told on one with two users and a handful of files."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed, Session
from provegym.servers.filesystem.records import Shell, User
from provegym.servers.filesystem.state import Disk, server

Json = dict[str, Any]


def make_disk() -> Disk:
    """Ada at work in her home; Ben has a private room; both belong to the garden group."""
    disk = Disk(Seed(0))
    root = User(login="root", full_name="System", home="/", groups=("root",), quota=0, used=0)
    both = ("users", "garden")
    ada = User(login="ada", full_name="Ada Roth", home="/home/ada", groups=both, quota=400, used=0)
    ben = User(login="ben", full_name="Ben Ito", home="/", groups=both[1:], quota=100, used=0)
    for user in (root, ada, ben):
        disk.users.put(user)
    disk.shells.put(Shell(id="me", user="ada", directory="/home/ada"))
    for path, owner, group, mode in (
        ("/", "root", "root", "755"),
        ("/home", "root", "root", "755"),
        ("/tmp", "root", "root", "1777"),
        ("/backup", "ada", "users", "755"),
        ("/shared", "ben", "garden", "770"),
        ("/home/ben", "ben", "users", "700"),
        ("/home/ada", "ada", "users", "750"),
        ("/home/ada/docs", "ada", "users", "755"),
        ("/home/ada/docs/old", "ada", "users", "755"),
    ):
        disk.create(path, "directory", owner=owner, group=group, mode=mode)
    disk.create_file("/home/ada/docs/todo.txt", "buy milk\ncall Ben\nbuy milk\n")
    disk.create_file("/home/ada/docs/old/plan.md", "the old plan\n")
    disk.create_file("/home/ada/ideas.txt", "a pond\n", group="garden")
    disk.create_file("/backup/todo.txt", "buy bread\n")
    disk.create_file("/home/ben/diary.txt", "secret\n", owner="ben", group="garden")
    disk.create_file("/shared/seeds.csv", "kale,3\n", owner="ben", group="garden", mode="664")
    disk.create_file("/shared/rota.csv", "mon,Ada\n", owner="ben", group="garden", mode="644")
    disk.create_file("/tmp/ben.log", "started\n", owner="ben", group="garden", mode="666")
    disk.create_file("/tmp/ada.log", "started\n")
    return disk


@pytest.fixture
def session() -> Session:
    """A session over that disk."""
    return Session.over(server, make_disk())


def do(session: Session, tool: str, **arguments: Any) -> Any:
    """The result of a call that must succeed; the invariants hold after it."""
    outcome = session.call(tool, arguments)
    assert outcome.ok, outcome.text
    session.check()
    return outcome.value


def refusal(session: Session, tool: str, **arguments: Any) -> str:
    """Kind and message of a call that must fail and leave the world as it was."""
    before = session.digest()
    outcome = session.call(tool, arguments)
    assert outcome.error is not None, outcome.text
    assert session.digest() == before
    return f"{outcome.error}: {outcome.value['message']}"


def text(session: Session, path: str) -> str:
    """What a file says."""
    return "\n".join(line["line"] for line in do(session, "read_file", path=path)["items"])


def names(page: Json) -> list[str]:
    """The names on a page of nodes."""
    return [item["name"] for item in page["items"]]


def test_paths_are_relative_to_where_one_stands(session: Session) -> None:
    do(session, "change_directory", directory_path="docs/old")
    assert do(session, "print_working_directory")["directory"] == "/home/ada/docs/old"
    assert text(session, "../todo.txt") == text(session, "~/docs/./todo.txt")
    assert text(session, "//home/ada/../ada/docs/old/plan.md") == "the old plan"
    assert names(do(session, "list_directory", directory_path="..")) == ["old", "todo.txt"]
    assert "no 'todo.txt' in /home/ada/docs/old" in refusal(session, "read_file", path="todo.txt")


def test_files_and_directories_are_not_mixed_up(session: Session) -> None:
    assert "not a directory" in refusal(session, "change_directory", directory_path="ideas.txt")
    assert "not a directory" in refusal(session, "read_file", path="ideas.txt/more")
    assert "is a directory, not a file" in refusal(session, "read_file", path="docs")
    assert "see remove_directory" in refusal(session, "remove_file", path="docs")
    assert "see remove_file" in refusal(session, "remove_directory", directory_path="ideas.txt")


def test_rights_follow_owner_group_and_others(session: Session) -> None:
    assert refusal(session, "read_file", path="/home/ben/diary.txt").startswith("denied")
    assert refusal(session, "change_directory", directory_path="/home/ben").startswith("denied")
    assert refusal(session, "append_to_file", path="/shared/rota.csv", text="x").startswith(
        "denied"
    )
    assert refusal(session, "create_file", directory_path="/home", name="x").startswith("denied")
    do(session, "append_to_file", path="/shared/seeds.csv", text="leek,4")
    assert text(session, "/shared/seeds.csv") == "kale,3\nleek,4"
    do(session, "change_mode", path="ideas.txt", mode="400")
    assert refusal(session, "append_to_file", path="ideas.txt", text="x").startswith("denied")


def test_searches_see_only_what_one_may_see(session: Session) -> None:
    assert names(do(session, "find_files", name="*.txt", directory_path="/home")) == [
        "todo.txt",
        "ideas.txt",
    ]
    assert names(do(session, "find_files", name="IDEA")) == ["ideas.txt"]
    assert names(do(session, "find_files", name="to*", directory_path="/", kind="directory")) == []
    hits = do(session, "search_file_text", text="MILK", path="/")["items"]
    assert [(hit["path"], hit["line_number"]) for hit in hits] == [
        ("/home/ada/docs/todo.txt", 1),
        ("/home/ada/docs/todo.txt", 3),
    ]
    assert do(session, "search_file_text", text="secret", path="/")["total"] == 0


def test_sizes_and_words_are_counted(session: Session) -> None:
    usage = do(session, "get_disk_usage", directory_path="~")
    assert (usage["files"], usage["largest_file"]) == (3, "/home/ada/docs/todo.txt")
    count = do(session, "count_file_words", path="docs/todo.txt")
    assert (count["lines"], count["words"], count["bytes"]) == (3, 6, 27)
    tree = do(session, "show_directory_tree", depth=2)
    assert names(tree) == ["docs", "old", "todo.txt", "ideas.txt"]


def test_new_names_must_be_proper_and_free(session: Session) -> None:
    assert "already exists" in refusal(session, "create_file", name="ideas.txt")
    assert "already exists" in refusal(session, "make_directory", name="docs")
    for name in ("", "..", "a/b", " a", "a\tb", "n" * 61):
        assert "that is no name" in refusal(session, "create_file", name=name)
    assert "already exists" in refusal(session, "rename_path", path="ideas.txt", new_name="docs")


def test_paths_end_at_some_depth(session: Session) -> None:
    for _ in range(14):
        do(session, "make_directory", name="d")
        do(session, "change_directory", directory_path="d")
    assert "too deep" in refusal(session, "make_directory", name="d")
    do(session, "change_directory", directory_path="~")
    do(session, "make_directory", name="e")
    assert "too deep" in refusal(session, "move_path", path="d", directory_path="e")


def test_text_is_edited_in_place(session: Session) -> None:
    do(session, "replace_in_file", path="docs/todo.txt", old_text="milk", new_text="oats")
    do(session, "insert_lines", path="docs/todo.txt", text="first", line_number=2)
    assert text(session, "docs/todo.txt") == "buy oats\nfirst\ncall Ben\nbuy oats"
    assert "does not say" in refusal(
        session, "replace_in_file", path="docs/todo.txt", old_text="milk", new_text="tea"
    )
    assert "only 4 lines" in refusal(
        session, "insert_lines", path="docs/todo.txt", text="x", line_number=9
    )
    last = do(session, "read_file", path="docs/todo.txt", last_lines=1)["items"]
    assert last == [{"line_number": 4, "line": "buy oats"}]


def test_sorting_writes_another_file(session: Session) -> None:
    do(session, "sort_file", path="docs/todo.txt", new_name="sorted.txt", unique=True)
    assert text(session, "docs/sorted.txt") == "buy milk\ncall Ben"
    only = do(session, "compare_files", path="docs/todo.txt", other_path="/backup/todo.txt")[
        "items"
    ]
    assert [line["line"] for line in only] == ["buy milk", "call Ben", "buy milk", "buy bread"]


def test_contents_are_bounded(session: Session) -> None:
    assert "at most 400 characters" in refusal(session, "create_file", name="x", content="y" * 401)
    disk = make_disk()
    disk.users.update("ada", quota=20_000)
    roomy = Session.over(server, disk)
    for _ in range(4):
        do(roomy, "append_to_file", path="ideas.txt", text="line\n" * 390)
    assert "at most 8000 bytes" in refusal(
        roomy, "append_to_file", path="ideas.txt", text="line\n" * 390
    )


def test_quota_is_kept_and_trash_counts_until_emptied(session: Session) -> None:
    used = do(session, "get_storage_quota")["used"]
    do(session, "create_file", name="big.txt", content="0123456789\n" * 30)
    assert "quota exceeded" in refusal(
        session, "copy_path", source_path="big.txt", directory_path="docs"
    )
    do(session, "move_to_trash", path="big.txt")
    assert do(session, "get_storage_quota")["used"] == used + 330
    assert do(session, "empty_trash")["used"] == used
    assert "nothing in the trash" in refusal(session, "empty_trash")


def test_a_directory_moves_with_all_it_holds(session: Session) -> None:
    do(session, "overwrite_file", path="docs/old/plan.md", content="a new plan\n")
    do(session, "move_path", path="docs", directory_path="/shared")
    moved = do(session, "find_files", directory_path="/shared/docs")["items"]
    assert [item["path"] for item in moved] == [
        "/shared/docs/old",
        "/shared/docs/todo.txt",
        "/shared/docs/old/plan.md",
    ]
    assert refusal(session, "get_file_info", path="~/docs").startswith("not_found")
    versions = do(session, "list_file_versions", path="/shared/docs/old/plan.md")["items"]
    assert [version["preview"] for version in versions] == ["the old plan"]


def test_nothing_goes_into_itself(session: Session) -> None:
    for tool, argument in (("move_path", "path"), ("copy_path", "source_path")):
        given = {argument: "docs", "directory_path": "docs/old"}
        assert "cannot go into itself" in refusal(session, tool, **given)


def test_one_cannot_saw_off_ones_own_branch(session: Session) -> None:
    do(session, "change_directory", directory_path="docs/old")
    assert "change_directory out of it" in refusal(session, "move_to_trash", path="../../docs")
    assert "change_directory out of it" in refusal(session, "rename_path", path=".", new_name="x")
    gone = refusal(session, "remove_directory", directory_path="~/docs", recursive=True)
    assert "change_directory out of it" in gone


def test_directories_are_removed_empty_or_recursively(session: Session) -> None:
    assert "not empty" in refusal(session, "remove_directory", directory_path="docs")
    do(session, "remove_directory", directory_path="docs", recursive=True)
    assert do(session, "find_files", name="todo", directory_path="~")["total"] == 0
    do(session, "make_directory", name="empty")
    do(session, "remove_directory", directory_path="empty")


def test_copies_belong_to_who_made_them(session: Session) -> None:
    made = do(session, "copy_path", source_path="/shared/rota.csv", directory_path=".")
    assert (made["owner"], made["group"], made["mode"]) == ("ada", "users", "644")
    do(session, "copy_path", source_path="docs", directory_path=".", new_name="copy")
    assert text(session, "copy/old/plan.md") == "the old plan"


def test_the_backup_is_read_only(session: Session) -> None:
    for tool, arguments in (
        ("append_to_file", {"path": "/backup/todo.txt", "text": "x"}),
        ("remove_file", {"path": "/backup/todo.txt"}),
        ("create_file", {"name": "x", "directory_path": "/backup"}),
        ("change_mode", {"path": "/backup/todo.txt", "mode": "600"}),
    ):
        assert "mounted read-only" in refusal(session, tool, **arguments)
    do(session, "copy_path", source_path="/backup/todo.txt", directory_path="~")


def test_tmp_is_sticky(session: Session) -> None:
    assert "sticky" in refusal(session, "remove_file", path="/tmp/ben.log")
    assert "sticky" in refusal(session, "rename_path", path="/tmp/ben.log", new_name="x.log")
    do(session, "append_to_file", path="/tmp/ben.log", text="hello")
    do(session, "remove_file", path="/tmp/ada.log")


def test_locks_hold_until_they_end(session: Session) -> None:
    do(session, "lock_file", path="ideas.txt", hours=2)
    for tool, arguments in (
        ("append_to_file", {"path": "ideas.txt", "text": "x"}),
        ("move_path", {"path": "ideas.txt", "directory_path": "docs"}),
        ("lock_file", {"path": "ideas.txt"}),
    ):
        assert "locked by ada" in refusal(session, tool, **arguments)
    session.advance(119)
    refusal(session, "append_to_file", path="ideas.txt", text="x")
    session.advance(1)
    do(session, "append_to_file", path="ideas.txt", text="x")
    assert "not locked" in refusal(session, "unlock_file", path="ideas.txt")


def test_a_lock_belongs_to_who_set_it() -> None:
    disk = make_disk()
    until = disk.now + timedelta(hours=3)
    for path in ("/shared/seeds.csv", "/home/ada/ideas.txt"):
        disk.nodes.update(path, locked_by="ben", locked_until=until)
    session = Session.over(server, disk)
    assert refusal(session, "unlock_file", path="/shared/seeds.csv").startswith("denied")
    do(session, "unlock_file", path="ideas.txt")


def test_links_lead_on_break_and_run_in_circles(session: Session) -> None:
    do(session, "create_symlink", target_path="docs", name="papers")
    assert text(session, "papers/todo.txt").startswith("buy milk")
    assert do(session, "get_file_info", path="papers")["target"] == "/home/ada/docs"
    do(session, "rename_path", path="docs", new_name="files")
    assert refusal(session, "read_file", path="papers/todo.txt").startswith("not_found")
    do(session, "create_symlink", target_path="papers", name="docs")
    assert "circle" in refusal(session, "list_directory", directory_path="papers")
    do(session, "remove_file", path="papers")
    assert text(session, "files/old/plan.md") == "the old plan"


def test_trash_gives_back_what_still_has_its_place(session: Session) -> None:
    entry = do(session, "move_to_trash", path="docs/old")
    do(session, "make_directory", directory_path="docs", name="old")
    assert "already exists" in refusal(session, "restore_from_trash", trash_entry_id=entry["id"])
    do(session, "remove_directory", directory_path="docs", recursive=True)
    gone = refusal(session, "restore_from_trash", trash_entry_id=entry["id"])
    assert "/home/ada/docs is gone" in gone
    do(session, "make_directory", name="docs")
    do(session, "restore_from_trash", trash_entry_id=entry["id"])
    assert text(session, "docs/old/plan.md") == "the old plan"
    assert do(session, "list_trash")["total"] == 0


def test_former_versions_come_back(session: Session) -> None:
    for number in range(7):
        do(session, "overwrite_file", path="ideas.txt", content=f"{number}\n")
        session.advance(5)
    kept = do(session, "list_file_versions", path="ideas.txt")["items"]
    assert [version["preview"] for version in kept] == ["5", "4", "3", "2", "1"]
    do(session, "restore_file_version", version_id=kept[2]["id"])
    assert text(session, "ideas.txt") == "3"
    newest = do(session, "list_file_versions", path="ideas.txt")["items"][0]
    do(session, "move_to_trash", path="ideas.txt")
    assert "in the trash" in refusal(session, "restore_file_version", version_id=newest["id"])


def test_archives_pack_and_unpack(session: Session) -> None:
    made = do(session, "create_archive", paths=["ideas.txt", "docs/todo.txt"], name="both")
    assert made["name"] == "both.zip"
    assert text(session, "both.zip") == "ideas.txt\ntodo.txt"
    assert "is an archive" in refusal(session, "append_to_file", path="both.zip", text="x")
    do(session, "extract_archive", path="both.zip", directory_path="docs")
    assert text(session, "docs/both/ideas.txt") == "a pond"
    assert "no archive" in refusal(session, "extract_archive", path="ideas.txt")
    twice = ["docs/todo.txt", "/backup/todo.txt"]
    assert "same name" in refusal(session, "create_archive", paths=twice, name="twice")


def test_only_owners_hand_things_over(session: Session) -> None:
    assert "belongs to ben" in refusal(session, "change_mode", path="/shared/rota.csv", mode="666")
    assert "no member of users" in refusal(
        session, "change_owner", path="docs/todo.txt", owner="ben"
    )
    assert "already belongs" in refusal(session, "change_owner", path="ideas.txt", owner="ada")
    assert refusal(session, "change_group", path="ideas.txt", group="root").startswith("denied")
    do(session, "change_group", path="docs/todo.txt", group="garden")
    do(session, "change_owner", path="docs/todo.txt", owner="ben")
    used = {user["login"]: user["used"] for user in do(session, "list_machine_users")["items"]}
    assert used["ben"] == 30 + 27
    assert "belongs to ben" in refusal(session, "tag_file", path="docs/todo.txt", tag="mine")


def test_giving_files_away_respects_the_quota_of_the_other(session: Session) -> None:
    do(session, "create_file", name="long.txt", content="0123456789\n" * 10)
    do(session, "change_group", path="long.txt", group="garden")
    assert "quota exceeded: ben" in refusal(session, "change_owner", path="long.txt", owner="ben")


def test_tags_are_few_and_unique(session: Session) -> None:
    for number in range(5):
        do(session, "tag_file", path="ideas.txt", tag=f"t{number}")
    assert "already has 5 tags" in refusal(session, "tag_file", path="ideas.txt", tag="more")
    assert "already has the tag" in refusal(session, "tag_file", path="ideas.txt", tag="t1")
    do(session, "tag_file", path="ideas.txt", tag="t1", remove=True)
    assert "has no tag" in refusal(session, "tag_file", path="ideas.txt", tag="t1", remove=True)
    assert names(do(session, "find_files", tag="t2")) == ["ideas.txt"]


def test_scratch_files_and_trash_are_cleared_at_night(session: Session) -> None:
    do(session, "move_to_trash", path="docs/todo.txt")
    do(session, "lock_file", path="/tmp/ada.log", hours=72)
    session.advance(6 * 24 * 60)
    do(session, "append_to_file", path="/tmp/ada.log", text="still in use")
    session.advance(2 * 24 * 60)
    session.check()
    assert names(do(session, "list_directory", directory_path="/tmp")) == ["ada.log"]
    assert do(session, "list_trash")["total"] == 1
    session.advance(23 * 24 * 60)
    session.check()
    assert names(do(session, "list_directory", directory_path="/tmp")) == []
    assert do(session, "list_trash")["total"] == 0
