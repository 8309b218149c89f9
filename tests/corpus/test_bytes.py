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
CORPUS = "4e3a8f9da90099c63fb87217d241816573c48ac99ec6a5615a00db9556427071"
ROLLOUTS = "5dbc24669fc377d4c0d4c0edbf9d85598c8104de2418959982b78fbfa51eec7b"


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
