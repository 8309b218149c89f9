"""A policy of the user's own: a class or function that is imported by name, module:Class."""

import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from provegym.errors import UserError
from provegym.kernel.errors import near
from provegym.rollout import Policy
from provegym.trace import Example

NEEDED = "a policy has an `async def reply(self, messages, tools)` that returns a provegym.Reply"


@dataclass(frozen=True)
class ImportedPolicy:
    """Makes one policy per example; it can be sent to other processes, which import it again.

    The class or function gets the example if it has a parameter for it. An object that is a policy
    itself plays all examples.
    """

    name: str
    folder: Path

    def __call__(self, example: Example) -> Policy:
        """The policy of an example."""
        made = import_policy(self.name, self.folder)
        if isinstance(made, type) or not isinstance(made, Policy):
            made = made(example) if _takes_example(made) else made()
        if not isinstance(made, Policy):
            raise UserError(f"{self.name} made a {type(made).__name__}; {NEEDED}")
        return made


@cache
def import_policy(name: str, folder: Path) -> Any:
    """What `module:name` stands for; modules of the folder can be imported too."""
    module, _, wanted = name.partition(":")
    if not module or not wanted:
        raise UserError(f"{name!r} names no policy; write module:Class, as in my_policy:MyPolicy")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found = import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name not in (module, module.partition(".")[0]):
            raise
        raise UserError(
            f"no module {module!r} in {folder}, and no installed package of that name"
        ) from None
    if wanted not in vars(found):
        hint = near(wanted, [each for each in vars(found) if not each.startswith("_")])
        raise UserError(f"{module} has no {wanted!r}; {hint or NEEDED}")
    policy = vars(found)[wanted]
    if not callable(policy) and not isinstance(policy, Policy):
        raise UserError(f"{name} is a {type(policy).__name__}; {NEEDED}")
    return policy


def _takes_example(make: Any) -> bool:
    """Whether a class or function has a required parameter, or one that is called example."""
    kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    taken = [each for each in signature(make).parameters.values() if each.kind not in kinds]
    return any(each.default is Parameter.empty or each.name == "example" for each in taken)
