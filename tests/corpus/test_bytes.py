"""The bytes of a small corpus and of rollouts on it, as they were when they were written down.

A change of these hashes is a change of every corpus and of scores. If it is wanted, say so in
CHANGELOG.md under Scores and in docs/log.md, and write the new hashes here.
"""

from hashlib import sha256
from pathlib import Path

from rich.progress import Progress

from provegym.corpus.corpus import Corpus
from provegym.corpus.order import Order
from provegym.players.scripted import SCRIPTS
from provegym.rollout import play_script
from provegym.trace import Example, line, read

SERVERS = ("banking", "crm", "filesystem", "maps", "payments", "vehicle")
CORPUS = "b7c3363d879eebe771bec36c788947ffdc286580af24b742b745fddf1d85e84a"
ROLLOUTS = "61d951bf959400335883fd5480bcbecfd9345417d5ef7a7d1a9f494b067eeef3"


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
