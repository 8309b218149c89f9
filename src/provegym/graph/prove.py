"""Proof of explicit edges: a value that one call returned works as an argument of another.

A lock is an argument that accepts few values. A value opens a lock if the call then works.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from provegym.graph.observe import Branch, Observer, Origin, Tried, attempt, echoes, stem_of
from provegym.graph.slots import Scalar, Slot, filled, taken
from provegym.language.values import leaves


class Proof(NamedTuple):
    """A value in a result that makes a call work, and a run without it that fails."""

    source: Origin
    slot: Slot
    worked: Tried
    failed: Tried

    @property
    def is_new(self) -> bool:
        """Whether the value is new: the same call fails before the first call."""
        return self.failed.arguments == self.worked.arguments


class Key(NamedTuple):
    """A call whose value opens a lock, one whose value does not, and if that was "not found"."""

    known: Tried
    failed: Tried
    looked_up: bool


class Lock(NamedTuple):
    """An argument that accepts only few values, with calls that show it."""

    slot: Slot
    keys: list[Key]


class Prover:
    """Proves explicit edges from what an observer has seen."""

    def __init__(self, seen: Observer) -> None:
        self.seen = seen
        self.effort = seen.effort
        self.kin: dict[str, set[Origin]] = {}

    def proofs(self, targets: Iterable[str]) -> Iterator[Proof]:
        """Every explicit edge to some tools.

        Values from writes are tried first. A call that works only after a write then serves as a
        template when values from reads are tried.
        """
        writes = [write for tool in self.seen.writes for write in self.seen.made(tool.name)]
        for lock in self._locks(targets):
            done = {lock.slot.tool}
            for write in writes:
                if write.tool not in done and (proof := self._written(write, lock)):
                    done.add(write.tool)
                    yield proof
        for lock in self._locks(targets):
            done = {lock.slot.tool}
            for source in list(self.seen.yields):
                if source.tool not in done and (proof := self._read(source, lock)):
                    done.add(source.tool)
                    yield proof

    def _locks(self, targets: Iterable[str]) -> list[Lock]:
        able = [name for name in targets if self.seen.can_fail(name)]
        needed = [slot for name in able for slot in self.seen.slots[name] if slot.required]
        return [lock for slot in needed if (lock := self._lock(slot)).keys]

    def _lock(self, slot: Slot) -> Lock:
        """The calls that fail with nearly every value of another kind in this argument."""
        lock = Lock(slot, [])
        worked, refused = self.effort.templates, self.effort.refused
        for calls, most in ((self.seen.worked, worked), (self.seen.refused, refused)):
            held = [t for t in calls[slot.tool] if isinstance(taken(t.arguments, slot.path), str)]
            keys = (self._key(t, slot, taken(t.arguments, slot.path)) for t in held[:most])
            lock.keys.extend(key for key in keys if key)
        return lock

    def _key(self, tried: Tried, slot: Slot, value: str) -> Key | None:
        kin = self._kin(value)
        others = dict.fromkeys(
            next(iter(values)) for source, values in self.seen.yields.items() if source not in kin
        )
        most = self.effort.others
        some = list(others)[:: max(1, len(others) // most)][:most]
        swaps = [_swap(tried.before, tried, slot, other) for other in some]
        swaps = [swap for swap in swaps if swap.outcome.error != "invalid_argument"]
        failed = [s for s in swaps if not (s.outcome.ok if tried.outcome.ok else s.recognised)]
        if not failed or 4 * len(failed) < 3 * len(swaps):
            return None
        unknown = [swap for swap in failed if not swap.recognised]
        return Key(tried, (unknown or failed)[0], 2 * len(unknown) >= len(failed))

    def _kin(self, value: str) -> set[Origin]:
        """The places that yield values of the same kind: half are equal, or they look alike."""
        if value not in self.kin:
            yields = self.seen.yields
            homes = [values.keys() for values in yields.values() if value in values]
            stem = stem_of(value)
            self.kin[value] = {
                source
                for source, values in yields.items()
                if any(
                    2 * len(values.keys() & home) >= min(len(values), len(home)) for home in homes
                )
                or (stem and stem_of(next(iter(values))) == stem)
            }
        return self.kin[value]

    def _read(self, source: Origin, lock: Lock) -> Proof | None:
        """A proof that values from a read open a lock, with the read made before the call."""
        for key in lock.keys:
            values = self._yielded(source, key.known, lock.slot)
            swaps = {v: _swap(key.known.before, key.known, lock.slot, v) for v in values}
            good = [v for v, s in swaps.items() if s.outcome.ok or (key.looked_up and s.recognised)]
            if 2 * len(good) < len(values) or (len(good) < 2 and not key.looked_up):
                return None
            for value in good:
                yielding = attempt(key.known.before, source.tool, values[value].arguments)
                worked = _swap(yielding.after, key.known, lock.slot, value)
                shown = (source.pointer, value) in self._spots(yielding)
                if shown and self.seen.works(worked):
                    return Proof(source, lock.slot, worked, key.failed)
        return None

    def _yielded(self, source: Origin, tried: Tried, slot: Slot) -> dict[str, Tried]:
        """Some values of a place and the calls that yield them; the value in use comes first."""
        values, used = self.seen.yields[source], taken(tried.arguments, slot.path)
        own = self.effort.own
        some = list(values)[:: max(1, len(values) // own)][:own]
        sample = {value: values[value] for value in [used, *some] if value in values}
        for call in self.seen.worked[source.tool][:own] if tried.before.path else ():
            again = attempt(tried.before, source.tool, call.arguments)
            if again.outcome.ok and not echoes(used, call.arguments):
                found = (source.pointer, used) in self._spots(again)
                sample |= {used: again} if found and used not in sample else {}
        return sample

    def _written(self, write: Tried, lock: Lock) -> Proof | None:
        """A proof that a value returned by a write opens a lock on the world after it."""
        unknown = {str(leaf) for leaf in leaves(write.arguments)}
        for key in lock.keys:
            made = _again(write, key.known.before)
            for pointer, leaf in self._spots(made):
                if not isinstance(leaf, str) or leaf in unknown:
                    continue
                worked = _swap(made.after, key.known, lock.slot, leaf)
                if not worked.recognised:
                    unknown.add(leaf)
                if not self.seen.works(worked):
                    continue
                if failed := self._missing(made, worked, key, leaf):
                    self.seen.note(worked)
                    return Proof(Origin(write.tool, pointer), lock.slot, worked, failed)
        return None

    def _spots(self, tried: Tried) -> Iterator[tuple[str, Scalar | bool]]:
        """The values in the result of a call, with their JSON pointers."""
        return self.seen.spots(tried.outcome.value if tried.outcome.ok else None)

    def _missing(self, write: Tried, worked: Tried, key: Key, leaf: str) -> Tried | None:
        """The failing run without the write: with the same value if it is new, else another."""
        bare = attempt(write.before, worked.tool, worked.arguments)
        if not bare.recognised:
            return bare
        return None if echoes(leaf, write.arguments) or not key.looked_up else key.failed


def _swap(world: Branch, tried: Tried, slot: Slot, value: str) -> Tried:
    return attempt(world, tried.tool, filled(tried.arguments, slot.path, value))


def _again(write: Tried, world: Branch) -> Tried:
    """The same write on the world that another call needs, unless that is the fresh world."""
    return attempt(world, write.tool, write.arguments) if world.path else write
