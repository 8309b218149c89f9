"""What worker processes of an admission share; a fork server imports this module once."""

from provegym.admission import admit  # noqa: F401
