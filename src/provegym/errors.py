"""The base classes of errors that a user can mend."""


class UserError(Exception):
    """Something that the user can mend; the message is one sentence that says how."""


class BadFile(UserError):
    """A file cannot be read or written; the message names file, line and field, and what to do."""
