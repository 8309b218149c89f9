"""The verdict on one rule of a server's contract."""

import msgspec


class RuleCheck(msgspec.Struct, frozen=True):
    """One rule of the contract: whether it holds, in words, what breaks it, and what to do."""

    rule: str
    holds: bool
    says: str
    faults: tuple[str, ...] = ()
    mend: str = ""

    def __str__(self) -> str:
        if self.holds:
            return f"{self.rule}: {self.says}."
        more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
        return f"{self.rule}: {self.faults[0].rstrip('.')}{more}. {self.mend}."
