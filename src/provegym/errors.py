"""The base class of errors that a user can mend."""


class UserError(Exception):
    """Something that the user can mend; the message is one sentence that says how."""
