"""The help of the command line: commands in groups, with whole sentences, and `-h` everywhere."""

from typing import Any

from typer.core import TyperGroup

from provegym.errors import UserError
from provegym.kernel.errors import near

# The groups of `provegym --help`, in this order. A command that is in none is listed last.
GROUPS = {
    "Start here": ("quickstart", "demo", "servers"),
    "Worlds and their tools": (
        *("call", "serve", "graph", "worlds", "new-server", "check-server", "bench"),
    ),
    "Make examples": ("synth", "samples", "verify", "export", "import", "decontaminate"),
    "Play and reward": ("rollout", "score", "audit", "compare"),
    "Train and evaluate": ("recipes", "train", "compress", "eval"),
    "Look at it": ("view", "report"),
}
OTHERS = "Other commands"
FIRST = "quickstart"
SETTINGS = {"help_option_names": ["-h", "--help"]}


# Options of `provegym` that may also stand after a command.
EVERYWHERE = "--servers-from"


def _taken(args: list[str], option: str) -> list[str]:
    """Take an option and its values out of a command line, and return them."""
    taken: list[str] = []
    end = args.index("--") if "--" in args else len(args)
    at = 0
    while at < min(end, len(args)):
        size = 2 if args[at] == option else 1 if args[at].startswith(f"{option}=") else 0
        taken += args[at : at + size]
        del args[at : at + size]
        end -= size
        at += not size
    return taken


class Commands(TyperGroup):
    """A group of commands; for an unknown command the error suggests a similar one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Let an option of `provegym` itself stand after the name of the command, too."""
        return super().parse_args(ctx, [*_taken(args, EVERYWHERE), *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name."""
        # Shell completion asks with half a name, too.
        if args[0] not in self.commands and not ctx.resilient_parsing:
            hint = near(args[0], list(self.commands)) or f"`{ctx.command_path} --help` lists them"
            raise UserError(f"no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """List the commands in groups; their summaries are wrapped and never cut."""
        told = {name: _summary(command.help) for name, command in self.commands.items()}
        longest = max(map(len, told))
        for title, names in grouped(list(told)).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), told[name]) for name in names])


def grouped(names: list[str]) -> dict[str, list[str]]:
    """The commands by group; those of a subcommand such as `eval` are one group."""
    if FIRST not in names:
        return {"Commands": names}
    found = {title: [name for name in group if name in names] for title, group in GROUPS.items()}
    listed = {name for group in found.values() for name in group}
    found[OTHERS] = [name for name in names if name not in listed]
    return {title: group for title, group in found.items() if group}


def _summary(told: str | None) -> str:
    """The first paragraph of a command's help, without its full stop."""
    return " ".join((told or "").partition("\n\n")[0].split()).rstrip(".")
