"""The bytes of a small corpus and of rollouts on it, as they were when they were written down.

A change of these hashes is a change of every corpus and of scores. If it is wanted, say so in
CHANGELOG.md under Scores and in docs/log.md, and write the new hashes here.
"""

from hashlib import sha256
from pathlib import Path

from rich.progress import Progress

from provegym.corpus.corpus import Corpus, Order
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, line, read

SERVERS = ("banking", "crm", "filesystem", "maps", "payments", "vehicle")
CORPUS = "232688a9c48fd6f9532b1d5cbb3491f754c4cbecf90035d450c27429235cf7fe"
ROLLOUTS = "59ecbbaa639905c28b109890889f0a0bdf1dfe49416fac3e41b21a95a1877004"


def test_a_corpus_and_the_rollouts_on_it_are_the_same_to_the_last_byte(tmp_path: Path) -> None:
    order = Order(size=24, seed=11, out=tmp_path, servers=SERVERS)
    Corpus(order).make(Progress(disable=True))
    (shard,) = tmp_path.glob("*.jsonl")
    assert sha256(shard.read_bytes()).hexdigest() == CORPUS
    examples = list(read(tmp_path, Example))
    played = sha256()
    for script in SCRIPTS.values():
        for example in examples:
            played.update(line(play_script(example, script)))
    assert played.hexdigest() == ROLLOUTS
