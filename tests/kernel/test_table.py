"""Copy-on-write tables against a plain-dict model of what they should be."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.shelf import Book, Note, Shelf
from provegym.kernel import Change, NotFound, Rejected, Seed, money
from provegym.kernel.state import ENCODE

OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(
            ("add", "add", "put", "update", "update", "remove", "fork", "rollback", "commit")
        ),
        st.integers(0, 99),
        st.integers(0, 5),
    ),
    max_size=40,
)


class Model:
    """A table as a list of pairs, copied whole wherever the real one shares."""

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.rows = {book.id: book for book in shelf.books}
        self.next = shelf.books._next
        self.base = dict(self.rows)
        self.saved = (dict(self.rows), self.next)

    def fork(self) -> "Model":
        """A copy of everything."""
        self.commit()
        twin = Model.__new__(Model)
        twin.shelf, twin.base, twin.next = self.shelf.fork(), self.base, self.next
        twin.rows, twin.saved = dict(self.rows), (dict(self.rows), self.next)
        return twin

    def commit(self) -> None:
        """The end of a call that went well."""
        self.shelf.undo.clear()
        self.saved = (dict(self.rows), self.next)

    def rollback(self) -> None:
        """The end of a call that failed."""
        self.shelf.rollback()
        self.rows, self.next = dict(self.saved[0]), self.saved[1]

    def add(self, number: int) -> None:
        """A new record with the next id."""
        book = self.shelf.books.add(title="new", pages=number)
        assert book.id == f"book_{self.next}"
        self.rows[book.id] = book
        self.next += 1

    def put(self, key: str, number: int) -> None:
        """A record under a key of its own, new or not."""
        self.rows[key] = self.shelf.books.put(Book(id=key, title="put", pages=number))

    def update(self, key: str, number: int) -> None:
        """Another number of pages."""
        self.shelf.books.update(key, pages=number)
        self.rows[key] = msgspec.structs.replace(self.rows[key], pages=number)

    def remove(self, key: str) -> None:
        """One record less."""
        self.shelf.books.remove(key)
        del self.rows[key]

    def diff(self) -> list[Change]:
        """What differs from the seed, the long way."""
        changes = []
        for key in sorted(self.base.keys() | self.rows.keys()):
            old, new = (plain(rows.get(key)) for rows in (self.base, self.rows))
            if old == new:
                continue
            if old and new:
                names = [name for name in old | new if old.get(name) != new.get(name)]
                old, new = ({n: row[n] for n in names if n in row} for row in (old, new))
            changes.append(Change("shelf", "books", key, old, new))
        return changes

    def contents(self) -> tuple[int, bytes]:
        """All that a digest must tell apart."""
        return self.next, ENCODE(sorted(self.rows.items()))

    def compare(self) -> None:
        """Assert that the table is what the model says."""
        books = self.shelf.books
        assert list(books) == list(self.rows.values())
        assert list(books.keys()) == list(self.rows)
        assert len(books) == len(self.rows)
        assert books._next == self.next
        assert self.shelf.diff("shelf") == self.diff()


def plain(book: Book | None) -> dict[str, Any] | None:
    """A record as JSON data."""
    return None if book is None else msgspec.json.decode(ENCODE(book))


def apply(model: Model, operation: str, number: int) -> None:
    """One operation on table and model alike."""
    keys = list(model.rows)
    if operation in ("rollback", "commit"):
        getattr(model, operation)()
    elif operation == "add":
        model.add(number)
    elif operation == "put":
        model.put(f"own_{number % 7}", number)
    elif keys and operation == "update":
        model.update(keys[number % len(keys)], number)
    elif keys and operation == "remove":
        model.remove(keys[number % len(keys)])


@settings(max_examples=200)
@given(OPERATIONS)
def test_tables_equal_the_model(operations: list[tuple[str, int, int]]) -> None:
    models = [Model(seeded())]
    for operation, number, which in operations:
        model = models[which % len(models)]
        if operation == "fork":
            if len(models) < 5:
                models.append(model.fork())
        else:
            apply(model, operation, number)
        for each in models:
            each.compare()
    digests = {model.shelf.digest() for model in models}
    assert len(digests) == len({model.contents() for model in models})


def seeded() -> Shelf:
    """A frozen shelf of five."""
    shelf = Shelf(Seed(1))
    for number in range(5):
        shelf.books.add(title=f"Volume {number}", pages=number)
    return shelf.freeze()


def test_rollback_restores_order_and_counter() -> None:
    shelf = seeded().fork()
    keys, number, digest = list(shelf.books.keys()), shelf.books._next, shelf.digest()
    shelf.books.remove(keys[0])
    shelf.books.put(Book(id=keys[0], title="again"))
    shelf.books.remove(keys[3])
    shelf.books.add(title="new")
    shelf.books.update(keys[1], title="other")
    shelf.rollback()
    assert list(shelf.books.keys()) == keys
    assert (shelf.books._next, shelf.digest()) == (number, digest)


def test_ids_are_never_used_twice() -> None:
    shelf = seeded().fork()
    first = shelf.books.add(title="first").id
    shelf.books.remove(first)
    assert shelf.books.add(title="second").id != first


def test_a_write_to_the_parent_is_invisible_to_the_child_and_its_child() -> None:
    parent = seeded().fork()
    child = parent.fork()
    grandchild = child.fork()
    key = next(iter(parent.books.keys()))
    parent.books.update(key, title="parent")
    child.books.remove(key)
    assert grandchild.books[key].title == "Volume 0"
    grandchild.books.update(key, title="grandchild")
    assert parent.books[key].title == "parent"
    assert key not in child.books


def test_the_seeded_world_stays_as_it_was() -> None:
    world = seeded()
    digest, fork = world.digest(), world.fork()
    for key in list(fork.books.keys()):
        fork.books.remove(key)
    fork.books.add(title="new")
    assert (world.digest(), len(world.books)) == (digest, 5)
    assert world.fork().digest() == digest


def test_equal_digests_behave_alike_so_order_counts() -> None:
    kept, moved = seeded().fork(), seeded().fork()
    first = next(iter(moved.books))
    moved.books.remove(first.id)
    moved.books.put(first)
    assert list(kept.books) != list(moved.books)
    assert kept.digest() != moved.digest()


def test_digests_tell_clocks_and_counters_apart() -> None:
    world = seeded()
    one, two, three = world.fork(), world.fork(), world.fork()
    two.pass_time(1)
    three.books.remove(three.books.add(title="gone").id)
    assert len({one.digest(), two.digest(), three.digest()}) == 3


def test_lookups_say_how_to_go_on() -> None:
    shelf = seeded()
    with pytest.raises(NotFound, match=r"^no book 'book_1'; list_books shows the ones there are$"):
        shelf.books["book_1"]
    with pytest.raises(NotFound, match="book ids start with 'book_'"):
        shelf.books["Volume 0"]
    with pytest.raises(NotFound, match=r"^no note 'x'$"):
        shelf.notes.remove("x")
    assert shelf.books.get("book_1") is None
    assert [book.pages for book in shelf.books.where(title="Volume 2", pages=2)] == [2]


def test_a_world_caps_its_records() -> None:
    shelf = seeded().fork()
    for number in range(40):
        shelf.notes.put(Note(key=f"n{number}", text=""))
    with pytest.raises(Rejected, match="no more than 40 note records"):
        shelf.notes.put(Note(key="one more", text=""))
    shelf.notes.put(Note(key="n3", text="replaced"))
    assert len(shelf.notes) == 40


def test_equal_records_are_written_alike_however_they_came_about() -> None:
    """A default is shown or left out by what it says, never by which object it is."""
    fresh = Book(id="book_1", title="one")
    spent = Book(id="book_1", title="one", pages=50 + 50, price=money(5) - money(5))
    assert fresh == spent
    assert ENCODE(fresh) == ENCODE(spent)
    assert b'"price":0.00' in ENCODE(fresh)
    assert b"due" not in ENCODE(fresh)
