"""The tools of the mailbox."""

from typing import Annotated, Literal

from msgspec import Meta
from msgspec.structs import replace

from provegym.kernel import Label as Name
from provegym.kernel import Rejected, Sensitive, Time
from provegym.servers import plain_name

from .state import (
    MOST_FILTERS_OF_A_LABEL,
    MOST_LABELS_OF_AN_EMAIL,
    TRASH_TIME,
    UNDO_TIME,
    Attachment,
    Contact,
    Draft,
    Email,
    Filter,
    Folder,
    Label,
    Mailbox,
    recipients,
    server,
)

Addresses = Sensitive[Annotated[list[str], Meta(max_length=5)]]
Body = Annotated[str, Meta(max_length=400)]
Files = Annotated[list[Attachment], Meta(max_length=3)]
Part = Annotated[str, Meta(max_length=60)]


@server.read
def search_emails(
    box: Mailbox,
    /,
    text: str = "",
    sender: str = "",
    folder: Folder | None = None,
    label_id: str | None = None,
    thread_id: str | None = None,
    unread: bool = False,
) -> list[Email]:
    """Find emails, newest first, with the beginning of their text.

    Args:
        text: Only emails whose subject or text contains this.
        sender: Only emails from somebody whose name or address contains this.
        folder: Only emails in this folder.
        label_id: Only emails with this label, e.g. "lbl_41".
        thread_id: Only emails of this thread, e.g. "thr_310".
        unread: Only emails that have not been read.
    """
    # Raises NotFound for an id that does not exist.
    if label_id:
        box.labels[label_id]
    if thread_id:
        box.threads[thread_id]

    found = [email for email in box.emails if email.thread_id is not None]
    if folder is not None:
        found = [email for email in found if email.folder == folder]
    if label_id is not None:
        found = [email for email in found if label_id in email.label_ids]
    if thread_id is not None:
        found = [email for email in found if email.thread_id == thread_id]
    if unread:
        found = [email for email in found if email.unread]
    name = sender.lower()
    found = [email for email in found if name in f"{email.sender_name} {email.sender}".lower()]
    part = text.lower()
    found = [email for email in found if part in f"{email.subject} {email.body}".lower()]
    shortened = [replace(email, body=email.body[:60]) for email in found]
    return sorted(shortened, key=lambda email: email.at, reverse=True)


@server.read
def get_email(box: Mailbox, /, email_id: str) -> Email:
    """Show one email in full: recipients, text, attachments, labels and where it lies.

    Args:
        email_id: The email, e.g. "eml_2210".
    """
    return box.email(email_id)


@server.read
def list_email_drafts(box: Mailbox, /, subject: str = "") -> list[Draft]:
    """List email drafts, those waiting to be sent included.

    Args:
        subject: Only drafts whose subject contains this.
    """
    return [draft for draft in box.drafts if subject.lower() in draft.subject.lower()]


@server.read
def list_email_labels(box: Mailbox, /, name: str = "") -> list[Label]:
    """List email labels and the filters that put them on arriving mail.

    Args:
        name: Only labels whose name contains this.
    """
    return [label for label in box.labels if name.lower() in label.name.lower()]


@server.read
def list_email_contacts(box: Mailbox, /, name: str = "") -> list[Contact]:
    """List the people and companies in the address book with their email addresses.

    Args:
        name: Only contacts whose name contains this.
    """
    return [contact for contact in box.contacts if name.lower() in contact.name.lower()]


@server.write
def create_email_draft(
    box: Mailbox, /, to: Addresses, subject: Name, body: Body = "", files: Files | None = None
) -> Draft:
    """Begin an email; it is kept as a draft until it is sent.

    Args:
        to: Addresses of the recipients, e.g. ["ines.falk@mail.example"]; may be empty for now.
        subject: What it is about.
        body: What it says.
        files: Files to attach, at most 25000 kB in all.
    """
    return box.write(to=recipients(to), subject=subject, body=body, attachments=tuple(files or ()))


@server.write(idempotent=True)
def update_email_draft(
    box: Mailbox,
    /,
    draft_id: str,
    to: Sensitive[Addresses | None] = None,
    subject: Name | None = None,
    body: Body | None = None,
    files: Files | None = None,
) -> Draft:
    """Change an email draft that does not wait to be sent; what is left out stays as it is.

    Args:
        draft_id: The draft, e.g. "dft_77".
        to: Addresses of all recipients from now on, e.g. ["ines.falk@mail.example"].
        subject: New subject.
        body: New text.
        files: All files to attach from now on, at most 25000 kB in all.
    """
    draft = box.open_draft(draft_id)
    return box.write(
        draft_id,
        to=draft.to if to is None else recipients(to),
        subject=draft.subject if subject is None else subject,
        body=draft.body if body is None else body,
        attachments=draft.attachments if files is None else tuple(files),
    )


@server.write(destructive=True)
def discard_email_draft(box: Mailbox, /, draft_id: str) -> Draft:
    """Throw away an email draft that does not wait to be sent.

    Args:
        draft_id: The draft, e.g. "dft_77".
    """
    draft = box.open_draft(draft_id)
    box.drafts.remove(draft_id)
    return draft


@server.write
def reply_to_email(box: Mailbox, /, email_id: str, body: Body, everyone: bool = False) -> Draft:
    """Draft an answer in the thread of an email; it still has to be sent.

    Args:
        email_id: The email to answer, e.g. "eml_2210"; not one from a no-reply address.
        body: The text of the answer.
        everyone: Whether to answer the other recipients as well.
    """
    email = box.email(email_id)
    if email.sender.startswith("no-reply"):
        raise Rejected(f"{email.sender_name} reads no answers; write to another address of theirs")
    me = box.me.address
    if email.sender == me:
        addresses = email.to
    elif everyone:
        addresses = (email.sender, *email.to)
    else:
        addresses = (email.sender,)
    to = dict.fromkeys(address for address in addresses if address != me)
    subject = f"Re: {email.subject.removeprefix('Re: ')}"
    return box.write(to=tuple(to), subject=subject[:80], body=body, thread_id=email.thread_id)


@server.write
def forward_email(box: Mailbox, /, email_id: str, to: Addresses, body: Body = "") -> Draft:
    """Draft an email that passes another on with its attachments, in a thread of its own.

    Args:
        email_id: The email to pass on, e.g. "eml_2210".
        to: Addresses of the recipients, e.g. ["ines.falk@mail.example"].
        body: Text to put before it.
    """
    email = box.email(email_id)
    subject = f"Fwd: {email.subject.removeprefix('Fwd: ')}"
    text = f"{body}\n\n{email.sender_name} wrote: {email.body}"
    return box.write(
        to=recipients(to),
        subject=subject[:80],
        body=text[:400].strip(),
        attachments=email.attachments,
    )


@server.write
def send_email_draft(box: Mailbox, /, draft_id: str, send_at: Time | None = None) -> Draft:
    """Send an email draft that has a recipient; until it goes out, cancel_email_send stops it.

    Args:
        draft_id: The draft, e.g. "dft_77".
        send_at: When, within a year, e.g. "2026-03-02T08:00:00Z"; in five minutes if left out.
    """
    draft = box.open_draft(draft_id)
    if not draft.to:
        raise Rejected(f"{draft.subject!r} has no recipient; update the draft first")
    goes_out = send_at or box.now + UNDO_TIME
    box.require_soon(goes_out)
    return box.write(draft_id, send_at=goes_out)


@server.write
def cancel_email_send(box: Mailbox, /, draft_id: str) -> Draft:
    """Keep an email draft that waits to be sent from going out.

    Args:
        draft_id: The draft, e.g. "dft_77".
    """
    draft = box.drafts[draft_id]
    if draft.send_at is None:
        raise Rejected(f"{draft.subject!r} does not wait to be sent")
    return box.drafts.update(draft_id, send_at=None)


@server.write
def update_email(
    box: Mailbox,
    /,
    email_id: str,
    folder: Literal["inbox", "archive", "trash"] | None = None,
    label_id: str | None = None,
    remove: bool = False,
) -> Email:
    """File an email as read: archive it, trash it for 30 days, move it back, change its labels.

    Args:
        email_id: The email, e.g. "eml_2210".
        folder: Folder to put it in; sent mail can only go to the trash and back.
        label_id: Label to put on it, e.g. "lbl_41"; an email has at most six.
        remove: Whether to take that label off instead.
    """
    email = box.email(email_id)
    is_sent = email.sender == box.me.address
    if is_sent and folder == "archive":
        raise Rejected("sent mail is not archived; it can only go to the trash and back")
    place = folder or email.folder
    if is_sent and folder == "inbox":
        place = "sent"

    label_ids = email.label_ids
    if label_id is not None:
        label = box.labels[label_id]
        label_ids = tuple(known for known in label_ids if known != label.id)
        if not remove:
            label_ids = (*label_ids, label.id)
    if len(label_ids) > MOST_LABELS_OF_AN_EMAIL:
        raise Rejected(f"{email.subject!r} has six labels; take one off first")
    if place == email.folder and set(label_ids) == set(email.label_ids):
        raise Rejected(f"{email.subject!r} is like that already; say what shall change")

    due = None
    if place == email.folder:
        due = email.due
    elif place == "trash":
        due = box.now + TRASH_TIME
    return box.emails.update(email_id, folder=place, due=due, label_ids=label_ids, unread=False)


@server.write
def snooze_email(box: Mailbox, /, email_id: str, until: Time) -> Email:
    """Take an email out of the inbox or archive until it comes back to the inbox as unread.

    Args:
        email_id: The email, e.g. "eml_2210".
        until: When it comes back, within a year, e.g. "2026-03-02T08:00:00Z".
    """
    email = box.email(email_id)
    if email.folder in ("sent", "trash"):
        raise Rejected(f"{email.subject!r} is in {email.folder}; only received mail is snoozed")
    box.require_soon(until)
    return box.emails.update(email_id, folder="snoozed", due=until)


@server.write
def create_email_label(box: Mailbox, /, name: Name) -> Label:
    """Make a new email label; no two have the same name.

    Args:
        name: What to call it.
    """
    if any(plain_name(label.name) == plain_name(name) for label in box.labels):
        raise Rejected(f"there is already a label {name!r}; use it or choose another name")
    return box.labels.add(name=name)


@server.write(destructive=True)
def delete_email_label(box: Mailbox, /, label_id: str) -> Label:
    """Delete an email label with its filters and take it off all emails; system ones stay.

    Args:
        label_id: The label, e.g. "lbl_41".
    """
    label = box.labels[label_id]
    if label.system:
        raise Rejected(f"{label.name} is a system label and cannot be deleted")
    for email in list(box.emails):
        if label_id in email.label_ids:
            others = tuple(known for known in email.label_ids if known != label_id)
            box.emails.update(email.id, label_ids=others)
    box.labels.remove(label_id)
    return label


@server.write
def create_email_filter(
    box: Mailbox, /, label_id: str, sender: Part = "", subject: Part = "", archive: bool = False
) -> Label:
    """Have an email label put on mail that arrives from now on, by sender, subject or both.

    Args:
        label_id: The label, e.g. "lbl_41"; it has at most four filters.
        sender: Mail from names or addresses that contain this.
        subject: Mail with subjects that contain this.
        archive: Whether to archive such mail as it arrives.
    """
    label = box.labels[label_id]
    new = Filter(sender.strip(), subject.strip(), archive)
    if not (new.sender or new.subject):
        raise Rejected("a filter needs a sender or a subject to look for")
    if any(known.condition == new.condition for known in label.filters):
        raise Rejected(f"{label.name} has a filter for that already; choose another condition")
    if len(label.filters) >= MOST_FILTERS_OF_A_LABEL:
        raise Rejected(f"{label.name} has {MOST_FILTERS_OF_A_LABEL} filters; use another label")
    return box.labels.update(label_id, filters=(*label.filters, new))
