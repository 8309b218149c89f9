"""Plain words for what commands report: why something was left out, and what figures mean."""

from collections import Counter
from collections.abc import Iterator, Mapping

# Why `synth` dropped a candidate, by the reason that a corpus records.
DROPPED = {
    "of a kind that was complete": "there were enough examples of that kind",
    "no goal found": "the world had nothing suitable to ask for",
    "breaks the contract": "verification failed",
    "breaks the contract under other names": "verification failed under other names",
    "too many errors": "too many of its calls fail",
    "the same words twice": "another example has the same words",
    "a common sequence of calls": "many examples have the same sequence of calls",
    "a tool that is called too often": "one of its tools is in many examples already",
    "a near copy": "another example has nearly the same calls",
    "the server crashed or hung": "the server crashed or hung",
}
# Why `worlds admit` refused a world, by the reason that its file records.
REFUSED = {
    "it breaks the contract": "random calls broke a rule that every server has to keep",
    "the spec is wrong": "its file has a mistake",
    "its name is taken": "another server has its name",
    "too few writes": "too few of its tools change something",
    "too few rules refuse": "too few of its rules refuse a call",
    "no chain of three": "no three of its tools depend on each other in a row",
    "a tool is in no verified example": "no verified example was found for one of its tools",
    "mutants go unnoticed": "its examples do not notice when one of its rules is taken out",
}
SERVES = "A call serves a step if it does what that step of the example does."
SUCCESS = (
    "success: the final world is right (state), the replies say what they should\n"
    "(answer), and the conversation came to its end (ended). Where no reply has to\n"
    "say anything (no answer due), the answer is right unless a claim is false"
)


def counted(counts: Mapping[str, int], words: Mapping[str, str]) -> Iterator[str]:
    """One line per reason in plain words, the most frequent first."""
    wide = len(str(max(counts.values(), default=0)))
    for why, count in Counter(counts).most_common():
        yield f"  {count:>{wide}}: {words.get(why, why)}"
