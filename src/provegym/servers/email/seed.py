"""Draws a user's mailbox: weeks of threads, labels with filters, drafts, and mail to come."""

from datetime import timedelta
from random import Random
from typing import Any

from provegym.kernel import Seed
from provegym.servers import people, words

from .state import LEAVING, Attachment, Filter, Folder, Mailbox, server

WORDS = words("email")
DAY = 24 * 60
FOLDERS: tuple[Folder, ...] = ("inbox", "inbox", "inbox", "archive", "archive", "snoozed", "trash")


@server.seed
def draw(seed: Seed) -> Mailbox:
    """Draw 32 contacts, ten labels, 62 threads, and ten drafts."""
    box = Mailbox(seed)
    chance = seed.random
    _draw_contacts(box, seed)
    _draw_labels(box, chance)
    subjects = chance.sample(WORDS["subjects"], 72)
    emails = []
    for subject in subjects[:62]:
        emails += _draw_thread(box, chance, subject)
    for fields in sorted(emails, key=lambda fields: fields["at"]):
        box.emails.add(**fields)
    for subject in subjects[62:]:
        _draw_draft(box, chance, subject)
    return box


def _draw_contacts(box: Mailbox, seed: Seed) -> None:
    """Add the user, other people and companies; mail to some of them comes back."""
    chance = seed.random
    user = people.acting_user(seed)
    addresses = {user.name: user.email}
    for person in people.others(seed, 22):
        addresses[person.name] = person.email
    for company in chance.sample(WORDS["companies"], 9):
        mailbox = chance.choice(("office", "news", "no-reply"))
        domain = company.lower().replace(" ", "-")
        addresses[company] = f"{mailbox}@{domain}.example"
    for name in chance.sample(list(addresses), len(addresses)):
        me = name == user.name
        bounces = not me and chance.random() < 0.12
        box.contacts.add(name=name, address=addresses[name], bounces=bounces, me=me)


def _draw_labels(box: Mailbox, chance: Random) -> None:
    """Add the system labels and seven more; some filter the mail of one to three contacts."""
    names = WORDS["system"] + chance.sample(WORDS["labels"], 7)
    others = box.contacts.where(me=False)
    for name in chance.sample(names, len(names)):
        count = chance.randint(0, 3)
        filters = []
        for contact in chance.sample(others, count):
            archive = chance.random() < 0.4
            filters.append(Filter(sender=contact.name, archive=archive))
        box.labels.add(name=name, system=name in WORDS["system"], filters=tuple(filters))


def _draw_thread(box: Mailbox, chance: Random, subject: str) -> list[dict[str, Any]]:
    """Draw the fields of the emails of one thread, which another contact and the user write.

    Emails of the future have not arrived: they are due at their own time and have no thread yet.
    """
    other, *more = chance.sample(box.contacts.where(me=False), 3)
    at = box.now - timedelta(minutes=chance.randrange(-12 * DAY, 40 * DAY))
    thread_id = None
    if at <= box.now:
        thread_id = box.threads.add(subject=subject, started=at).id
    emails: list[dict[str, Any]] = []
    for number in range(chance.choice((1, 1, 2, 3, 4))):
        by_user = number % 2 == 1
        arrived = at <= box.now
        if by_user and not arrived:
            break
        sender = box.me if by_user else other
        to = [other if by_user else box.me, *more[: chance.choice((0, 0, 1, 2))]]
        attachments = _draw_attachments(chance)
        body = _draw_body(chance, to[0].name)
        folder = "sent" if by_user else chance.choice(FOLDERS)
        leaves = box.now + timedelta(minutes=chance.randrange(60, 20 * DAY))
        due = leaves if folder in LEAVING else None
        label_count = chance.choice((0, 0, 1, 2))
        label_ids = tuple(chance.sample(list(box.labels.keys()), label_count))
        unread = not by_user and chance.random() < 0.3
        emails.append(
            {
                "sender": sender.address,
                "sender_name": sender.name,
                "to": tuple(contact.address for contact in to),
                "subject": subject if number == 0 else f"Re: {subject}",
                "body": body,
                "at": at,
                "attachments": attachments,
                "thread_id": thread_id if arrived else None,
                "folder": folder if arrived else "inbox",
                "due": due if arrived else at,
                "label_ids": label_ids if arrived else (),
                "unread": unread,
            }
        )
        at += timedelta(minutes=chance.randrange(20, 2 * DAY))
    return emails


def _draw_draft(box: Mailbox, chance: Random, subject: str) -> None:
    """Add a draft; some of those with a recipient wait to be sent."""
    count = chance.randint(0, 3)
    contacts = chance.sample(box.contacts.where(me=False), count)
    to = [contact for contact in contacts if not contact.bounces]
    attachments = _draw_attachments(chance)
    body = _draw_body(chance, to[0].name if to else "there")
    later = box.now + timedelta(minutes=chance.randrange(2, 6 * DAY))
    waits = bool(to) and chance.random() < 0.4
    box.drafts.add(
        subject=subject,
        to=tuple(contact.address for contact in to),
        body=body,
        attachments=attachments,
        send_at=later if waits else None,
    )


def _draw_attachments(chance: Random) -> tuple[Attachment, ...]:
    """Draw up to two files; most emails have none."""
    count = chance.choice((0, 0, 0, 1, 2))
    names = chance.sample(WORDS["files"], count)
    return tuple(Attachment(name, chance.choice((40, 310, 2_400, 9_000))) for name in names)


def _draw_body(chance: Random, recipient: str) -> str:
    """Draw a greeting by first name and two sentences."""
    first, second = chance.sample(WORDS["sentences"], 2)
    greeting = chance.choice(WORDS["greetings"])
    first_name = recipient.split()[0]
    return f"{greeting} {first_name}, {first} {second}"
