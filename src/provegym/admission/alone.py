"""Admission of one world in a process of its own, which is ended after a time limit.

A spec that a stranger or a model wrote may be slow to admit, or bring out a bug of ours. Neither
must stop the program that asked.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE

import msgspec

from provegym.admission.admit import METHOD, admit
from provegym.worlds.files import Admission, WorldFile

SECONDS = 60.0
READ = msgspec.json.Decoder(WorldFile).decode


async def admit_alone(world: WorldFile, seconds: float = SECONDS) -> WorldFile:
    """The world with its admission; one that takes too long, or breaks it off, is refused."""
    command = (sys.executable, "-m", __name__)
    child = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(seconds):
            out, told = await child.communicate(msgspec.json.encode(world))
    except TimeoutError:
        return _refused(world, "it is slow", f"its admission took more than {seconds:g} s")
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        last = told.decode("utf-8", "replace").strip().splitlines()[-1:]
        return _refused(world, "its admission broke off", " ".join(last)[:300])
    return READ(out)


def _refused(world: WorldFile, reason: str, detail: str) -> WorldFile:
    admission = Admission(method=METHOD, admitted=False, reasons=(reason,), details=(detail,))
    return msgspec.structs.replace(world, admission=admission)


def main() -> None:
    """Admit the world on stdin, and write it to stdout."""
    world = admit(READ(sys.stdin.buffer.read()))
    sys.stdout.buffer.write(msgspec.json.encode(world))


if __name__ == "__main__":
    main()
