"""Draws a user's mailbox: weeks of threads, drafts, labels with filters, and mail still to come."""

from datetime import datetime, timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import LEAVING, Attachment, Contact, Filter, Folder, Mailbox, server

WORDS = words("email")
DAY = 24 * 60
PLACES: tuple[Folder, ...] = ("inbox", "inbox", "inbox", "archive", "archive", "snoozed", "trash")


@server.seed
def draw(seed: Seed) -> Mailbox:
    """Thirty-odd contacts, labels and filters, old threads, drafts, mail of the next weeks."""
    box, chance, user = Mailbox(seed), seed.random, people.acting_user(seed)
    book = {person.name: person.email for person in (user, *people.others(seed, 22))}
    for name in chance.sample(WORDS["companies"], 9):
        office = chance.choice(("office", "news", "no-reply"))
        book[name] = f"{office}@{name.lower().replace(' ', '-')}.example"
    for name in chance.sample(list(book), len(book)):
        me, bounces = name == user.name, name != user.name and chance.random() < 0.12
        box.contacts.add(name=name, address=book[name], bounces=bounces, me=me)
    others = [contact for contact in box.contacts if not contact.me]
    for name in chance.sample([*WORDS["system"], *chance.sample(WORDS["labels"], 7)], 10):
        acted_on = chance.sample(others, chance.randint(0, 3))
        filters = tuple(Filter(other.name, "", chance.random() < 0.4) for other in acted_on)
        box.labels.add(name=name, system=name in WORDS["system"], filters=filters)
    subjects = chance.sample(WORDS["subjects"], 72)
    mail = [email for subject in subjects[:62] for email in _thread(box, chance, subject)]
    for email in sorted(mail, key=lambda email: email["at"]):
        box.emails.add(**email)
    for subject in subjects[62:]:
        to = [c for c in chance.sample(others, chance.randint(0, 3)) if not c.bounces]
        written = _email(chance, box.me, to, subject, seed.now)
        content = {name: written[name] for name in ("to", "subject", "body", "attachments")}
        later = seed.now + timedelta(minutes=chance.randrange(2, 6 * DAY))
        box.drafts.add(send_at=later if to and chance.random() < 0.4 else None, **content)
    return box


def _thread(box: Mailbox, chance: Random, subject: str) -> list[dict[str, Any]]:
    """The emails of one thread, to and fro; what lies ahead of now is still to arrive."""
    me, (other, *rest) = box.me, chance.sample([c for c in box.contacts if not c.me], 3)
    at = box.now - timedelta(minutes=chance.randrange(-12 * DAY, 40 * DAY))
    thread_id = box.threads.add(subject=subject, started=at).id if at <= box.now else None
    emails: list[dict[str, Any]] = []
    for number in range(chance.choice((1, 1, 2, 3, 4))):
        sender, to = (me, other) if number % 2 else (other, me)
        if at > box.now and sender == me:
            break
        group = [to, *rest[: chance.choice((0, 0, 1, 2))]]
        email = _email(chance, sender, group, f"{'Re: ' * (number > 0)}{subject}", at)
        folder = "sent" if sender == me else chance.choice(PLACES)
        later = box.now + timedelta(minutes=chance.randrange(60, 20 * DAY))
        due = later if folder in LEAVING else None
        labels = tuple(chance.sample(list(box.labels.keys()), chance.choice((0, 0, 1, 2))))
        where = {"thread_id": thread_id, "folder": folder, "due": due, "label_ids": labels}
        unread = sender != me and chance.random() < 0.3
        emails.append({"unread": unread, **email, **(where if at <= box.now else {"due": at})})
        at += timedelta(minutes=chance.randrange(20, 2 * DAY))
    return emails


def _email(
    chance: Random, sender: Contact, to: list[Contact], subject: str, at: datetime
) -> dict[str, Any]:
    names = chance.sample(WORDS["files"], chance.choice((0, 0, 0, 1, 2)))
    files = tuple(Attachment(name, chance.choice((40, 310, 2_400, 9_000))) for name in names)
    given = to[0].name.split()[0] if to else "there"
    first, second = chance.sample(WORDS["sentences"], 2)
    body = f"{chance.choice(WORDS['greetings'])} {given}, {first} {second}"
    who = {"sender": sender.address, "sender_name": sender.name}
    content = {"subject": subject, "body": body, "at": at, "attachments": files}
    return {"to": tuple(contact.address for contact in to), **who, **content}
