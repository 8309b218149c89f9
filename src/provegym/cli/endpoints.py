"""The options `--deadline` and `--max-answer` of every command that asks a model at an endpoint."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

MEGABYTE = 2**20


@dataclass(frozen=True, kw_only=True)
class EndpointLimits:
    """Options: how long an endpoint may take for a reply, and how much it may send.

    A group of options that chooses a model inherits from this one.
    """

    deadline: Annotated[
        float | None, typer.Option(help="Most seconds for a reply, with all its tries.", min=0.1)
    ] = None
    max_answer: Annotated[
        float | None, typer.Option(help="Most megabytes of an answer; else 16.", min=0.001)
    ] = None

    @property
    def reply_limits(self) -> dict[str, Any]:
        """The limits that were given, by the names of `EndpointConfig`."""
        bytes_given = None if self.max_answer is None else int(self.max_answer * MEGABYTE)
        named = {"deadline": self.deadline, "max_bytes": bytes_given}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def given_limits(self) -> list[str]:
        """The options that were given, as a user writes them."""
        named = {"--deadline": self.deadline, "--max-answer": self.max_answer}
        return [name for name, value in named.items() if value is not None]
