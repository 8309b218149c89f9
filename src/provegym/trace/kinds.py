"""The kinds of examples in plain words, for people who read a card or a table of scores."""

from provegym.trace.records import ExampleKind

# "clarification" is the paper's word, and misleads: it is not a question to the user.
KINDS: dict[ExampleKind, str] = {
    "multi_turn": "a conversation that needs calls",
    "clarification": "the tool for one request is hidden, and the assistant must say so",
    "abstention": "no call is right: no tool fits, or a value is missing",
    "irrelevance": "no call is right: small talk, or a request for another kind of server",
}
LABELS = {"clarification": "clarification (tool hidden)"}
# Scores on such examples alone are named like their kind.
SCORES = {
    "abstention": "no call where none is right",
    "clarification": "no call where the tool is hidden",
}


def in_words(kind: ExampleKind) -> str:
    """The name of a kind, and what it means unless it is the usual one."""
    return kind if kind == "multi_turn" else f"{kind} ({KINDS[kind]})"


def label(kind: str) -> str:
    """The name of a kind, as people are shown it."""
    return LABELS.get(kind, kind)


def score_label(score: str) -> str:
    """The name of a score, as people are shown it."""
    return SCORES.get(score, score)
