"""The options of a corpus, and the parts that they ask for: training and held-out examples."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from provegym import servers
from provegym.conversation.kinds import SHARES
from provegym.corpus.quotas import CorpusPart
from provegym.corpus.split import HELD_OUT, split_worlds
from provegym.trace import BadFile
from provegym.worlds.files import admitted

MIXES = {"paper": SHARES, "multi_turn": {"multi_turn": 1}}


@dataclass(frozen=True)
class Order:
    """The options of a corpus: its size, and its servers (all servers if none is named).

    `mix` is the paper's mix of kinds, or multi-turn conversations alone. With `split`, four servers
    are held out. The held-out part is a tenth of the training part, on worlds of its own. `aliases`
    is the share of examples under other names.

    `worlds` is a folder of admitted worlds that are data; they get `worlds_share` of the examples.
    With `split`, a tenth of them is held out.
    """

    size: int
    seed: int
    out: Path
    servers: tuple[str, ...] = ()
    workers: int = 1
    mix: str = "paper"
    split: str = ""
    aliases: float = 0.0
    worlds: Path | None = None
    worlds_share: float = 0.5

    @cached_property
    def drawn(self) -> dict[str, str]:
        """The hashes of the admitted worlds, by name."""
        if self.worlds is None:
            return {}
        found = {world.spec.name: world.hash for world in admitted(self.worlds)}
        if not found:
            raise BadFile(f"{self.worlds} holds no admitted world; run `provegym worlds admit`")
        return found

    @property
    def parts(self) -> tuple[CorpusPart, ...]:
        """The parts of the corpus, in the order they are made."""
        chosen = tuple(dict.fromkeys(self.servers)) or servers.names()
        mix = MIXES[self.mix]
        drawn = tuple(self.drawn)
        share = self.worlds_share if drawn else 0.0
        if not self.split:
            return (CorpusPart("train", self.size, chosen, mix, (), self.aliases, drawn, share),)
        train = tuple(name for name in chosen if name not in HELD_OUT)
        apart = tuple(name for name in chosen if name in HELD_OUT)
        if not train or not apart:
            raise BadFile(
                f"split by servers holds out {', '.join(HELD_OUT)};"
                " name some of them and some other servers"
            )
        held_out = max(len(apart), self.size // 10)
        seen = tuple(name for name in servers.names() if name not in HELD_OUT)
        known, unknown = split_worlds(drawn)
        return (
            CorpusPart("train", self.size, train, mix, seen, self.aliases, known, share),
            CorpusPart("heldout", held_out, apart, mix, (), self.aliases, unknown, share),
        )
