"""A toy world for the kernel's tests: a shelf of books, some of them due back."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from provegym.kernel import (
    Amount,
    Label,
    Record,
    Rejected,
    Seed,
    Sensitive,
    Server,
    Session,
    State,
    Table,
    Time,
    money,
    table,
)


class Book(Record, frozen=True):
    """Something to read."""

    id: str
    title: str
    pages: int = 100
    price: Decimal = money(0)
    due: datetime | None = None
    tags: tuple[str, ...] = ()


class Note(Record, frozen=True):
    """What happened, and when; kept under its own key."""

    key: str
    text: str


class Shelf(State):
    """Books and notes; a book that falls due leaves a note."""

    books: Table[Book] = table(Book, "book", look_up="list_books")
    notes: Table[Note] = table(Note, key="key", most=40)

    def next_event(self) -> datetime | None:
        """The earliest day a book is due."""
        return min((book.due for book in self.books if book.due), default=None)

    def happen(self) -> None:
        """Note the time of every book that is due."""
        for book in list(self.books):
            if book.due and book.due <= self.now:
                self.notes.put(Note(key=f"{book.id}/{len(self.notes)}", text=self.now.isoformat()))
                self.books.update(book.id, due=None)

    def check(self) -> None:
        """No book has a negative number of pages."""
        assert all(book.pages >= 0 for book in self.books)


class Shelfmark(Struct, frozen=True):
    """Where a book stands."""

    row: Annotated[int, Meta(ge=1, le=9, description="Which row, from the top.")]
    side: Annotated[Literal["left", "right"], Meta(description="Which side.")] = "left"


class Answer(Struct, frozen=True):
    """Some text."""

    text: str


server = Server("shelf", Shelf, category="test", about="Books on a shelf.")


@server.seed
def draw(seed: Seed) -> Shelf:
    """Three books."""
    shelf = Shelf(seed)
    for title in ("Tides", "Moss", "Ferns"):
        shelf.books.add(title=title, pages=seed.random.randrange(50, 500))
    return shelf


@server.read
def list_books(shelf: Shelf, /, title: str = "") -> list[Book]:
    """List the books on the shelf.

    Args:
        title: Only books whose title contains this.
    """
    return [book for book in shelf.books if title in book.title]


@server.write
def add_book(
    shelf: Shelf,
    /,
    title: Label,
    price: Amount,
    kind: Literal["novel", "atlas"],
    pages: Annotated[int, Meta(ge=1, le=900)] = 100,
    due: Time | None = None,
    owner: Sensitive[str] = "nobody",
    tags: Annotated[list[Label], Meta(max_length=3)] | None = None,
    mark: Shelfmark | None = None,
) -> Book:
    """Put a book on the shelf, if there is room
    for it.

    Args:
        title: What it is called.
        price: What it cost.
        kind: What kind of book.
        pages: How many pages,
            cover aside.
        due: When it must go back.
        owner: Whose it is.
        tags: Words to find it by.
        mark: Where to put it.
    """
    book = shelf.books.add(title=title, price=price, pages=pages, due=due, tags=tuple(tags or ()))
    if len(shelf.books) > 10:
        raise Rejected("the shelf is full; remove a book first")
    return book


@server.read
def turn_books(
    shelf: Shelf,
    /,
    side: Literal["left", "right"] | Literal["dry"] | None = None,
    ends: Annotated[list[Literal["left", "right"]], Meta(max_length=2)] | None = None,
) -> list[Book]:
    """List the books as they stand on one side.

    Args:
        side: Which side.
        ends: Which ends to leave out.
    """
    return list(shelf.books)


@server.write(destructive=True)
def remove_book(shelf: Shelf, /, book_id: str) -> Book:
    """Take a book from the shelf.

    Args:
        book_id: Which book.
    """
    book = shelf.books[book_id]
    shelf.books.remove(book_id)
    return book


@server.read
def peek(shelf: Shelf, /) -> Answer:
    """A read that writes, and must not get away with it."""
    shelf.books.add(title="smuggled")
    return Answer("nothing happened")


@server.write
def crash(shelf: Shelf, /) -> Answer:
    """Write to everything, then break."""
    first = next(iter(shelf.books)).id
    shelf.books.add(title="half done")
    shelf.books.update(first, title="broken")
    shelf.books.remove(first)
    shelf.notes.put(Note(key="x", text="y"))
    raise ZeroDivisionError("a bug of ours")


@server.write
def shout(shelf: Shelf, /, length: Annotated[int, Meta(ge=0, le=9_000)]) -> Answer:
    """Write a note, then answer at some length.

    Args:
        length: How long the answer is.
    """
    shelf.notes.put(Note(key="shouted", text="!"))
    return Answer("a" * length)


def shelf_of(*books: dict[str, Any]) -> Session:
    """A session over a shelf made by hand."""
    shelf = Shelf(Seed(0))
    for book in books:
        shelf.books.add(**book)
    return Session.over(server, shelf)


def books_of(session: Session) -> Table[Book]:
    """The books of a session."""
    state = session.state(server)
    assert isinstance(state, Shelf)
    return state.books
