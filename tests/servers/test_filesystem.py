"""The rules of a shared disk, told on one with two users and a handful of files."""

from datetime import timedelta
from typing import Any

import pytest

from provegym.kernel import Seed
from provegym.servers.filesystem.records import Shell, User
from provegym.servers.filesystem.state import Disk, server
from servers.desk import Desk

Json = dict[str, Any]


class Machine(Desk[Disk]):
    """Ada at work in her home; Ben has a private room; both belong to the garden group."""

    def __init__(self) -> None:
        super().__init__(server, Disk(Seed(0)))
        disk = self.world
        for login, name, home, groups, quota in (
            ("root", "System", "/", ("root",), 0),
            ("ada", "Ada Roth", "/home/ada", ("users", "garden"), 400),
            ("ben", "Ben Ito", "/", ("garden",), 100),
        ):
            where = {"home": home, "groups": groups, "quota": quota}
            disk.users.put(User(login=login, full_name=name, used=0, **where))
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
        self.start()

    def text(self, path: str) -> str:
        """What a file says."""
        return "\n".join(line["line"] for line in self.done("read_file", path=path)["items"])


@pytest.fixture
def disk() -> Machine:
    return Machine()


def names(page: Json) -> list[str]:
    """The names on a page of nodes."""
    return [item["name"] for item in page["items"]]


def test_paths_are_relative_to_where_one_stands(disk: Machine) -> None:
    disk.done("change_directory", directory_path="docs/old")
    assert disk.done("print_working_directory")["directory"] == "/home/ada/docs/old"
    assert disk.text("../todo.txt") == disk.text("~/docs/./todo.txt")
    assert disk.text("//home/ada/../ada/docs/old/plan.md") == "the old plan"
    assert names(disk.done("list_directory", directory_path="..")) == ["old", "todo.txt"]
    disk.not_found("read_file", "no 'todo.txt' in /home/ada/docs/old", path="todo.txt")


def test_files_and_directories_are_not_mixed_up(disk: Machine) -> None:
    disk.rejected("change_directory", "not a directory", directory_path="ideas.txt")
    disk.rejected("read_file", "not a directory", path="ideas.txt/more")
    disk.rejected("read_file", "is a directory, not a file", path="docs")
    disk.rejected("remove_file", "see remove_directory", path="docs")
    disk.rejected("remove_directory", "see remove_file", directory_path="ideas.txt")


def test_rights_follow_owner_group_and_others(disk: Machine) -> None:
    disk.denied("read_file", path="/home/ben/diary.txt")
    disk.denied("change_directory", directory_path="/home/ben")
    disk.denied("append_to_file", path="/shared/rota.csv", text="x")
    disk.denied("create_file", directory_path="/home", name="x")
    disk.done("append_to_file", path="/shared/seeds.csv", text="leek,4")
    assert disk.text("/shared/seeds.csv") == "kale,3\nleek,4"
    disk.done("change_mode", path="ideas.txt", mode="400")
    disk.denied("append_to_file", path="ideas.txt", text="x")


def test_searches_see_only_what_one_may_see(disk: Machine) -> None:
    assert names(disk.done("find_files", name="*.txt", directory_path="/home")) == [
        "todo.txt",
        "ideas.txt",
    ]
    assert names(disk.done("find_files", name="IDEA")) == ["ideas.txt"]
    assert names(disk.done("find_files", name="to*", directory_path="/", kind="directory")) == []
    hits = disk.done("search_file_text", text="MILK", path="/")["items"]
    assert [(hit["path"], hit["line_number"]) for hit in hits] == [
        ("/home/ada/docs/todo.txt", 1),
        ("/home/ada/docs/todo.txt", 3),
    ]
    assert disk.done("search_file_text", text="secret", path="/")["total"] == 0


def test_sizes_and_words_are_counted(disk: Machine) -> None:
    usage = disk.done("get_disk_usage", directory_path="~")
    assert (usage["files"], usage["largest_file"]) == (3, "/home/ada/docs/todo.txt")
    count = disk.done("count_file_words", path="docs/todo.txt")
    assert (count["lines"], count["words"], count["bytes"]) == (3, 6, 27)
    tree = disk.done("show_directory_tree", depth=2)
    assert names(tree) == ["docs", "old", "todo.txt", "ideas.txt"]


def test_new_names_must_be_proper_and_free(disk: Machine) -> None:
    disk.rejected("create_file", "already exists", name="ideas.txt")
    disk.rejected("make_directory", "already exists", name="docs")
    for name in ("", "..", "a/b", " a", "a\tb", "n" * 61):
        disk.rejected("create_file", "that is no name", name=name)
    disk.rejected("rename_path", "already exists", path="ideas.txt", new_name="docs")


def test_paths_end_at_some_depth(disk: Machine) -> None:
    for _ in range(14):
        disk.done("make_directory", name="d")
        disk.done("change_directory", directory_path="d")
    disk.rejected("make_directory", "too deep", name="d")
    disk.done("change_directory", directory_path="~")
    disk.done("make_directory", name="e")
    disk.rejected("move_path", "too deep", path="d", directory_path="e")


def test_text_is_edited_in_place(disk: Machine) -> None:
    disk.done("replace_in_file", path="docs/todo.txt", old_text="milk", new_text="oats")
    disk.done("insert_lines", path="docs/todo.txt", text="first", line_number=2)
    assert disk.text("docs/todo.txt") == "buy oats\nfirst\ncall Ben\nbuy oats"
    disk.rejected(
        "replace_in_file", "does not say", path="docs/todo.txt", old_text="milk", new_text="tea"
    )
    disk.rejected("insert_lines", "only 4 lines", path="docs/todo.txt", text="x", line_number=9)
    last = disk.done("read_file", path="docs/todo.txt", last_lines=1)["items"]
    assert last == [{"line_number": 4, "line": "buy oats"}]


def test_sorting_writes_another_file(disk: Machine) -> None:
    disk.done("sort_file", path="docs/todo.txt", new_name="sorted.txt", unique=True)
    assert disk.text("docs/sorted.txt") == "buy milk\ncall Ben"
    only = disk.done("compare_files", path="docs/todo.txt", other_path="/backup/todo.txt")["items"]
    assert [line["line"] for line in only] == ["buy milk", "call Ben", "buy milk", "buy bread"]


def test_contents_are_bounded(disk: Machine) -> None:
    disk.rejected("create_file", "at most 400 characters", name="x", content="y" * 401)
    disk.world.users.update("ada", quota=20_000)
    disk.start()
    for _ in range(4):
        disk.done("append_to_file", path="ideas.txt", text="line\n" * 390)
    long = {"path": "ideas.txt", "text": "line\n" * 390}
    disk.rejected("append_to_file", "at most 8000 bytes", **long)


def test_quota_is_kept_and_trash_counts_until_emptied(disk: Machine) -> None:
    used = disk.done("get_storage_quota")["used"]
    disk.done("create_file", name="big.txt", content="0123456789\n" * 30)
    disk.rejected("copy_path", "quota exceeded", source_path="big.txt", directory_path="docs")
    disk.done("move_to_trash", path="big.txt")
    assert disk.done("get_storage_quota")["used"] == used + 330
    assert disk.done("empty_trash")["used"] == used
    disk.rejected("empty_trash", "nothing in the trash")


def test_a_directory_moves_with_all_it_holds(disk: Machine) -> None:
    disk.done("overwrite_file", path="docs/old/plan.md", content="a new plan\n")
    disk.done("move_path", path="docs", directory_path="/shared")
    moved = disk.done("find_files", directory_path="/shared/docs")["items"]
    assert [item["path"] for item in moved] == [
        "/shared/docs/old",
        "/shared/docs/todo.txt",
        "/shared/docs/old/plan.md",
    ]
    disk.not_found("get_file_info", path="~/docs")
    versions = disk.done("list_file_versions", path="/shared/docs/old/plan.md")["items"]
    assert [version["preview"] for version in versions] == ["the old plan"]


def test_nothing_goes_into_itself(disk: Machine) -> None:
    for tool, argument in (("move_path", "path"), ("copy_path", "source_path")):
        given = {argument: "docs", "directory_path": "docs/old"}
        disk.rejected(tool, "cannot go into itself", **given)


def test_the_working_directory_is_neither_moved_nor_removed(disk: Machine) -> None:
    disk.done("change_directory", directory_path="docs/old")
    disk.rejected("move_to_trash", "change_directory out of it", path="../../docs")
    disk.rejected("rename_path", "change_directory out of it", path=".", new_name="x")
    disk.rejected(
        "remove_directory", "change_directory out of it", directory_path="~/docs", recursive=True
    )


def test_directories_are_removed_empty_or_recursively(disk: Machine) -> None:
    disk.rejected("remove_directory", "not empty", directory_path="docs")
    disk.done("remove_directory", directory_path="docs", recursive=True)
    assert disk.done("find_files", name="todo", directory_path="~")["total"] == 0
    disk.done("make_directory", name="empty")
    disk.done("remove_directory", directory_path="empty")


def test_copies_belong_to_who_made_them(disk: Machine) -> None:
    made = disk.done("copy_path", source_path="/shared/rota.csv", directory_path=".")
    assert (made["owner"], made["group"], made["mode"]) == ("ada", "users", "644")
    disk.done("copy_path", source_path="docs", directory_path=".", new_name="copy")
    assert disk.text("copy/old/plan.md") == "the old plan"


def test_the_backup_is_read_only(disk: Machine) -> None:
    for tool, arguments in (
        ("append_to_file", {"path": "/backup/todo.txt", "text": "x"}),
        ("remove_file", {"path": "/backup/todo.txt"}),
        ("create_file", {"name": "x", "directory_path": "/backup"}),
        ("change_mode", {"path": "/backup/todo.txt", "mode": "600"}),
    ):
        disk.rejected(tool, "mounted read-only", **arguments)
    disk.done("copy_path", source_path="/backup/todo.txt", directory_path="~")


def test_tmp_is_sticky(disk: Machine) -> None:
    disk.denied("remove_file", "sticky", path="/tmp/ben.log")
    disk.denied("rename_path", "sticky", path="/tmp/ben.log", new_name="x.log")
    disk.done("append_to_file", path="/tmp/ben.log", text="hello")
    disk.done("remove_file", path="/tmp/ada.log")


def test_locks_hold_until_they_end(disk: Machine) -> None:
    disk.done("lock_file", path="ideas.txt", hours=2)
    for tool, arguments in (
        ("append_to_file", {"path": "ideas.txt", "text": "x"}),
        ("move_path", {"path": "ideas.txt", "directory_path": "docs"}),
        ("lock_file", {"path": "ideas.txt"}),
    ):
        disk.rejected(tool, "locked by ada", **arguments)
    disk.wait(119)
    disk.rejected("append_to_file", path="ideas.txt", text="x")
    disk.wait(1)
    disk.done("append_to_file", path="ideas.txt", text="x")
    disk.rejected("unlock_file", "not locked", path="ideas.txt")


def test_a_lock_belongs_to_who_set_it(disk: Machine) -> None:
    until = disk.world.now + timedelta(hours=3)
    for path in ("/shared/seeds.csv", "/home/ada/ideas.txt"):
        disk.world.nodes.update(path, locked_by="ben", locked_until=until)
    disk.start()
    disk.denied("unlock_file", path="/shared/seeds.csv")
    disk.done("unlock_file", path="ideas.txt")


def test_links_lead_on_break_and_run_in_circles(disk: Machine) -> None:
    disk.done("create_symlink", target_path="docs", name="papers")
    assert disk.text("papers/todo.txt").startswith("buy milk")
    assert disk.done("get_file_info", path="papers")["target"] == "/home/ada/docs"
    disk.done("rename_path", path="docs", new_name="files")
    disk.not_found("read_file", path="papers/todo.txt")
    disk.done("create_symlink", target_path="papers", name="docs")
    disk.rejected("list_directory", "circle", directory_path="papers")
    disk.done("remove_file", path="papers")
    assert disk.text("files/old/plan.md") == "the old plan"


def test_trash_gives_back_what_still_has_its_place(disk: Machine) -> None:
    entry = disk.done("move_to_trash", path="docs/old")
    disk.done("make_directory", directory_path="docs", name="old")
    disk.rejected("restore_from_trash", "already exists", trash_entry_id=entry["id"])
    disk.done("remove_directory", directory_path="docs", recursive=True)
    disk.rejected("restore_from_trash", "/home/ada/docs is gone", trash_entry_id=entry["id"])
    disk.done("make_directory", name="docs")
    disk.done("restore_from_trash", trash_entry_id=entry["id"])
    assert disk.text("docs/old/plan.md") == "the old plan"
    assert disk.done("list_trash")["total"] == 0


def test_former_versions_come_back(disk: Machine) -> None:
    for number in range(7):
        disk.done("overwrite_file", path="ideas.txt", content=f"{number}\n")
        disk.wait(5)
    kept = disk.done("list_file_versions", path="ideas.txt")["items"]
    assert [version["preview"] for version in kept] == ["5", "4", "3", "2", "1"]
    disk.done("restore_file_version", version_id=kept[2]["id"])
    assert disk.text("ideas.txt") == "3"
    newest = disk.done("list_file_versions", path="ideas.txt")["items"][0]
    disk.done("move_to_trash", path="ideas.txt")
    disk.rejected("restore_file_version", "in the trash", version_id=newest["id"])


def test_archives_pack_and_unpack(disk: Machine) -> None:
    made = disk.done("create_archive", paths=["ideas.txt", "docs/todo.txt"], name="both")
    assert made["name"] == "both.zip"
    assert disk.text("both.zip") == "ideas.txt\ntodo.txt"
    disk.rejected("append_to_file", "is an archive", path="both.zip", text="x")
    disk.done("extract_archive", path="both.zip", directory_path="docs")
    assert disk.text("docs/both/ideas.txt") == "a pond"
    disk.rejected("extract_archive", "no archive", path="ideas.txt")
    twice = ["docs/todo.txt", "/backup/todo.txt"]
    disk.rejected("create_archive", "same name", paths=twice, name="twice")
    disk.rejected("create_archive", "is an archive", paths=["both.zip"], name="all")
    disk.rejected("sort_file", "is an archive", path="both.zip", new_name="sorted.txt")


def test_what_may_not_be_removed_may_not_be_trashed() -> None:
    disk = Machine()
    disk.world.create("/home/ada/docs/ben", "directory", owner="ben", group="garden")
    disk.world.create_file("/home/ada/docs/ben/tools.txt", "rake\n", owner="ben")
    disk.start()
    disk.denied("remove_directory", "docs/ben", directory_path="docs", recursive=True)
    disk.denied("move_to_trash", "docs/ben", path="docs")


def test_only_owners_hand_things_over(disk: Machine) -> None:
    disk.denied("change_mode", "belongs to ben", path="/shared/rota.csv", mode="666")
    disk.rejected("change_owner", "no member of users", path="docs/todo.txt", owner="ben")
    disk.rejected("change_owner", "already belongs", path="ideas.txt", owner="ada")
    disk.denied("change_group", path="ideas.txt", group="root")
    disk.done("change_group", path="docs/todo.txt", group="garden")
    disk.done("change_owner", path="docs/todo.txt", owner="ben")
    used = {user["login"]: user["used"] for user in disk.done("list_machine_users")["items"]}
    assert used["ben"] == 30 + 27
    disk.denied("tag_file", "belongs to ben", path="docs/todo.txt", tag="mine")


def test_giving_files_away_respects_the_quota_of_the_other(disk: Machine) -> None:
    disk.done("create_file", name="long.txt", content="0123456789\n" * 10)
    disk.done("change_group", path="long.txt", group="garden")
    disk.rejected("change_owner", "quota exceeded: ben", path="long.txt", owner="ben")


def test_tags_are_few_and_unique(disk: Machine) -> None:
    for number in range(5):
        disk.done("tag_file", path="ideas.txt", tag=f"t{number}")
    disk.rejected("tag_file", "already has 5 tags", path="ideas.txt", tag="more")
    disk.rejected("tag_file", "already has the tag", path="ideas.txt", tag="t1")
    disk.done("tag_file", path="ideas.txt", tag="t1", remove=True)
    disk.rejected("tag_file", "has no tag", path="ideas.txt", tag="t1", remove=True)
    assert names(disk.done("find_files", tag="t2")) == ["ideas.txt"]


def test_scratch_files_and_trash_are_cleared_at_night(disk: Machine) -> None:
    disk.done("move_to_trash", path="docs/todo.txt")
    disk.done("lock_file", path="/tmp/ada.log", hours=72)
    disk.wait(days=6)
    disk.done("append_to_file", path="/tmp/ada.log", text="still in use")
    disk.wait(days=2)
    assert names(disk.done("list_directory", directory_path="/tmp")) == ["ada.log"]
    assert disk.done("list_trash")["total"] == 1
    disk.wait(days=23)
    assert names(disk.done("list_directory", directory_path="/tmp")) == []
    assert disk.done("list_trash")["total"] == 0
