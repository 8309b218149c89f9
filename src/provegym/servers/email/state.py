"""What the mailbox knows, what happens in it by itself, and what is always true of it."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from provegym.kernel import NotFound, Record, Rejected, Server, State, Table, table

Folder = Literal["inbox", "archive", "snoozed", "sent", "trash"]
FileName = Annotated[str, Meta(pattern="^[A-Za-z0-9._-]+$", max_length=40, description="Its name.")]
Size = Annotated[int, Meta(ge=1, le=100_000, description="Its size in kilobytes.")]
MOST_KILOBYTES, MOST_DRAFTS, MOST_LABELS, MOST_ON_ONE, MOST_FILTERS = 25_000, 40, 24, 6, 4
LEAVING = ("snoozed", "trash")
UNDO, TRASH_TIME, YEAR = timedelta(minutes=5), timedelta(days=30), timedelta(days=366)


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

    def fits(self, email: "Email") -> bool:
        """Whether it acts on an email."""
        sender, subject = f"{email.sender_name} {email.sender}".lower(), email.subject.lower()
        return self.sender.lower() in sender and self.subject.lower() in subject


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
        """Keep a draft, new or changed, with addresses and attachments that can be sent."""
        draft = self.drafts.update(draft_id, **fields) if draft_id else self.drafts.add(**fields)
        bouncing = {contact.address: contact.name for contact in self.contacts if contact.bounces}
        for address in draft.to:
            if not is_address(address):
                raise Rejected(f"{address!r} is no email address; look it up among the contacts")
            if address in bouncing:
                raise Rejected(f"mail to {bouncing[address]} at {address} comes back; leave it out")
        if (size := sum(file.kilobytes for file in draft.attachments)) > MOST_KILOBYTES:
            raise Rejected(f"{size} kB is too much; attach at most {MOST_KILOBYTES} kB in all")
        return draft

    def require_soon(self, at: datetime) -> None:
        """Whatever is put off lies after now and within a year."""
        if not self.now < at <= self.now + YEAR:
            raise Rejected(f"choose a time within a year after {self.now:%Y-%m-%d %H:%M} UTC")

    def thread(self, subject: str) -> Thread:
        """The thread of a subject; an answer joins the one there is."""
        plain = subject.removeprefix("Re: ")
        known = self.threads.where(subject=plain) if plain != subject else []
        return known[0] if known else self.threads.add(subject=plain, started=self.now)

    def arrive(self, email: Email) -> None:
        """Filters act on what arrives; it joins the thread of its subject or begins one."""
        rules = [(label.id, rule) for label in self.labels for rule in label.filters]
        acting = [(label_id, rule) for label_id, rule in rules if rule.fits(email)]
        folder = "archive" if any(rule.archive for _, rule in acting) else "inbox"
        label_ids = tuple(dict.fromkeys(label_id for label_id, _ in acting))[:MOST_ON_ONE]
        thread = self.thread(email.subject)
        marks = {"folder": folder, "label_ids": label_ids, "unread": True, "due": None}
        self.emails.update(email.id, thread_id=thread.id, **marks)

    def send(self, draft: Draft) -> None:
        """A draft becomes a sent email, in the thread it answers if that is still there."""
        answers = draft.thread_id and draft.thread_id in self.threads
        thread_id = draft.thread_id if answers else self.thread(draft.subject).id
        content = {"subject": draft.subject, "body": draft.body, "attachments": draft.attachments}
        who = {"sender": self.me.address, "sender_name": self.me.name, "to": draft.to}
        self.emails.add(at=self.now, thread_id=thread_id, folder="sent", **who, **content)
        self.drafts.remove(draft.id)

    def next_event(self) -> datetime | None:
        """Mail arrives, wakes from a snooze, leaves the trash or goes out."""
        mail = [email.due for email in self.emails if email.due]
        return min(mail + [draft.send_at for draft in self.drafts if draft.send_at], default=None)

    def happen(self) -> None:
        """Let happen what is due."""
        for draft in [d for d in self.drafts if d.send_at and d.send_at <= self.now]:
            self.send(draft)
        for email in [e for e in self.emails if e.due and e.due <= self.now]:
            if email.thread_id is None:
                self.arrive(email)
            elif email.folder == "snoozed":
                self.emails.update(email.id, folder="inbox", due=None, unread=True)
            else:
                self.emails.remove(email.id)
                if not self.emails.where(thread_id=email.thread_id):
                    self.threads.remove(email.thread_id)

    def check(self) -> None:
        """Every email is in a thread and every thread has one; marks and times are consistent."""
        mine = self.me.address
        for email in self.emails:
            assert email.thread_id is None or email.thread_id in self.threads
            assert (email.due is not None) == (email.thread_id is None or email.folder in LEAVING)
            assert email.folder != "sent" or email.sender == mine
            assert email.sender != mine or email.folder in ("sent", "trash")
            assert all(label_id in self.labels for label_id in email.label_ids)
        assert {email.thread_id for email in self.emails} >= set(self.threads.keys())
        for draft in self.drafts:
            assert not draft.send_at or (draft.send_at > self.now and draft.to)
            assert sum(file.kilobytes for file in draft.attachments) <= MOST_KILOBYTES


def is_address(text: str) -> bool:
    """Whether a text has the form of an email address."""
    name, at, domain = text.partition("@")
    plain = text.isascii() and text.isprintable() and " " not in text and len(text) <= 60
    return bool(plain and name and at and "@" not in domain and "." in domain.strip("."))


about = "The user's mail: inbox, threads, drafts, scheduled mail, labels, filters, contacts."
server = Server("email", Mailbox, category="productivity", about=about)
