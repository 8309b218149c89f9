"""The records of the mailbox, mail that arrives, wakes up or goes out, and invariants."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from provegym.kernel import NotFound, Record, Rejected, Server, State, Table, table
from provegym.servers import plain_name

Folder = Literal["inbox", "archive", "snoozed", "sent", "trash"]
FileName = Annotated[str, Meta(pattern="^[A-Za-z0-9._-]+$", max_length=40, description="Its name.")]
Size = Annotated[int, Meta(ge=1, le=100_000, description="Its size in kilobytes.")]
MOST_KILOBYTES = 25_000
MOST_DRAFTS = 40
MOST_LABELS = 24
MOST_LABELS_OF_AN_EMAIL = 6
MOST_FILTERS_OF_A_LABEL = 4
# Mail in these folders leaves them by itself when it is due.
LEAVING = ("snoozed", "trash")
UNDO_TIME = timedelta(minutes=5)
TRASH_TIME = timedelta(days=30)
YEAR = timedelta(days=366)


class Attachment(Struct, frozen=True, forbid_unknown_fields=True):
    """A file that travels with an email."""

    name: FileName
    kilobytes: Size


class Contact(Record, frozen=True):
    """Somebody with an address; mail to some comes back. One of them is the acting user."""

    id: str
    name: str
    address: str
    bounces: bool = False
    me: bool = False


class Filter(Struct, frozen=True, omit_defaults=True):
    """Which arriving mail gets a label, by parts of its sender and subject."""

    sender: str = ""
    subject: str = ""
    archive: bool = False

    @property
    def condition(self) -> tuple[str, str]:
        """What it looks for, in lower case."""
        return self.sender.lower(), self.subject.lower()

    def fits(self, email: "Email") -> bool:
        """Whether it acts on an email."""
        sender = f"{email.sender_name} {email.sender}"
        fits_sender = self.sender.lower() in sender.lower()
        fits_subject = self.subject.lower() in email.subject.lower()
        return fits_sender and fits_subject


class Label(Record, frozen=True):
    """A name to put on emails, by hand or by its filters; system ones stay."""

    id: str
    name: str
    system: bool = False
    filters: tuple[Filter, ...] = ()


class Thread(Record, frozen=True):
    """Emails that answer each other."""

    id: str
    subject: str
    started: datetime


class Email(Record, frozen=True):
    """A mail as it was sent; only where it lies changes. It has no thread until it arrives."""

    id: str
    sender: str
    sender_name: str
    to: tuple[str, ...]
    subject: str
    body: str
    at: datetime
    attachments: tuple[Attachment, ...] = ()
    thread_id: str | None = None
    folder: Folder = "inbox"
    due: datetime | None = None
    label_ids: tuple[str, ...] = ()
    unread: bool = False


class Draft(Record, frozen=True):
    """An email being written; with a `send_at` it waits to go out and cannot be changed."""

    id: str
    subject: str
    to: tuple[str, ...] = ()
    body: str = ""
    attachments: tuple[Attachment, ...] = ()
    thread_id: str | None = None
    send_at: datetime | None = None


class Mailbox(State):
    """The mail of one user."""

    contacts: Table[Contact] = table(Contact, "ctc", look_up="list_email_contacts")
    labels: Table[Label] = table(Label, "lbl", look_up="list_email_labels", most=MOST_LABELS)
    threads: Table[Thread] = table(Thread, "thr", look_up="search_emails", most=100_000)
    # The clock delivers mail and cannot refuse to, so this table must never be full.
    emails: Table[Email] = table(Email, "eml", look_up="search_emails", most=100_000)
    drafts: Table[Draft] = table(Draft, "dft", look_up="list_email_drafts", most=MOST_DRAFTS)

    @property
    def me(self) -> Contact:
        """The acting user."""
        return next(contact for contact in self.contacts if contact.me)

    def email(self, email_id: str) -> Email:
        """An email that has arrived."""
        email = self.emails[email_id]
        if email.thread_id is None:
            raise NotFound(f"no email {email_id!r}; search_emails shows the ones there are")
        return email

    def open_draft(self, draft_id: str) -> Draft:
        """A draft that is not on its way."""
        draft = self.drafts[draft_id]
        if draft.send_at:
            raise Rejected(f"{draft.subject!r} goes out at {draft.send_at}; cancel that first")
        return draft

    def write(self, draft_id: str | None = None, **fields: Any) -> Draft:
        """Add or change a draft; refuse addresses and attachments that cannot be sent."""
        draft = self.drafts.update(draft_id, **fields) if draft_id else self.drafts.add(**fields)
        bouncing = {contact.address: contact.name for contact in self.contacts if contact.bounces}
        for address in draft.to:
            if not is_address(address):
                raise Rejected(f"{address!r} is no email address; look it up among the contacts")
            if address in bouncing:
                raise Rejected(f"mail to {bouncing[address]} at {address} comes back; leave it out")
        size = sum(file.kilobytes for file in draft.attachments)
        if size > MOST_KILOBYTES:
            raise Rejected(f"{size} kB is too much; attach at most {MOST_KILOBYTES} kB in all")
        return draft

    def require_soon(self, at: datetime) -> None:
        """Refuse a time that is not after now and within a year."""
        if not self.now < at <= self.now + YEAR:
            raise Rejected(f"choose a time within a year after {self.now:%Y-%m-%d %H:%M} UTC")

    def thread(self, subject: str) -> Thread:
        """The thread of a subject; an answer joins the one that is there."""
        plain = subject.removeprefix("Re: ")
        if plain != subject:
            known = self.threads.where(subject=plain)
            if known:
                return known[0]
        return self.threads.add(subject=plain, started=self.now)

    def arrive(self, email: Email) -> None:
        """Put an email into its thread, with the labels and in the folder that filters give it."""
        folder = "inbox"
        label_ids = []
        for label in self.labels:
            fitting = [rule for rule in label.filters if rule.fits(email)]
            if fitting:
                label_ids.append(label.id)
            if any(rule.archive for rule in fitting):
                folder = "archive"
        thread = self.thread(email.subject)
        self.emails.update(
            email.id,
            thread_id=thread.id,
            folder=folder,
            label_ids=tuple(label_ids[:MOST_LABELS_OF_AN_EMAIL]),
            unread=True,
            due=None,
        )

    def send(self, draft: Draft) -> None:
        """Turn a draft into a sent email, in the thread it answers if that is still there."""
        if draft.thread_id and draft.thread_id in self.threads:
            thread_id = draft.thread_id
        else:
            thread_id = self.thread(draft.subject).id
        self.emails.add(
            sender=self.me.address,
            sender_name=self.me.name,
            to=draft.to,
            subject=draft.subject,
            body=draft.body,
            at=self.now,
            attachments=draft.attachments,
            thread_id=thread_id,
            folder="sent",
        )
        self.drafts.remove(draft.id)

    def next_event(self) -> datetime | None:
        """An email arrives, comes back from a snooze or leaves the trash, or a draft goes out."""
        moments = [email.due for email in self.emails if email.due]
        moments += [draft.send_at for draft in self.drafts if draft.send_at]
        return min(moments, default=None)

    def happen(self) -> None:
        """Send the drafts and move the emails that are due."""
        for draft in list(self.drafts):
            if draft.send_at and draft.send_at <= self.now:
                self.send(draft)
        for email in list(self.emails):
            if email.due and email.due <= self.now:
                self._move(email)

    def _move(self, email: Email) -> None:
        """Let an email that is due arrive, come back from a snooze, or leave the trash."""
        if email.thread_id is None:
            self.arrive(email)
        elif email.folder == "snoozed":
            self.emails.update(email.id, folder="inbox", due=None, unread=True)
        else:
            self.emails.remove(email.id)
            if not self.emails.where(thread_id=email.thread_id):
                self.threads.remove(email.thread_id)

    def check(self) -> None:
        """Threads have emails and emails have threads; folders, labels and times are consistent."""
        for email in self.emails:
            self._check_email(email)
        self._check_threads()
        self._check_labels()
        self._check_drafts()

    def _check_email(self, email: Email) -> None:
        if email.thread_id is None:
            assert email.due is not None
        else:
            assert email.thread_id in self.threads
            assert (email.due is not None) == (email.folder in LEAVING)
        if email.folder == "sent":
            assert email.sender == self.me.address
        if email.sender == self.me.address:
            assert email.folder in ("sent", "trash")
        for label_id in email.label_ids:
            assert label_id in self.labels

    def _check_threads(self) -> None:
        used = {email.thread_id for email in self.emails}
        for thread in self.threads:
            assert thread.id in used

    def _check_labels(self) -> None:
        """No two labels have one name, and no two filters of a label look for the same."""
        assert len({plain_name(label.name) for label in self.labels}) == len(self.labels)
        for label in self.labels:
            assert len({rule.condition for rule in label.filters}) == len(label.filters)

    def _check_drafts(self) -> None:
        for draft in self.drafts:
            assert len({address.lower() for address in draft.to}) == len(draft.to)
            assert sum(file.kilobytes for file in draft.attachments) <= MOST_KILOBYTES
            if draft.send_at:
                assert draft.send_at > self.now
                assert draft.to


def recipients(addresses: list[str]) -> tuple[str, ...]:
    """The addresses to write to, each once; upper and lower case are the same."""
    return tuple(dict.fromkeys(address.lower() for address in addresses))


def is_address(text: str) -> bool:
    """Whether a text has the form of an email address."""
    if len(text) > 60 or not text.isascii() or not text.isprintable():
        return False
    if " " in text or text.count("@") != 1:
        return False
    name, domain = text.split("@")
    return name != "" and "." in domain.strip(".")


about = "The user's mail: inbox, threads, drafts, scheduled mail, labels, filters, contacts."
server = Server("email", Mailbox, category="productivity", about=about, version=2)
