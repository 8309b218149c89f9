"""Sentence embeddings from a sentence-transformers model in T-Eval's virtual environment."""

import subprocess
from collections.abc import Sequence
from typing import Any

import msgspec

from provegym.evals.environments import TEVAL, BenchmarkError
from provegym.evals.sandbox import RUNNERS


class Sentences:
    """An embedding model in a child process, which ends with `close` or with this process."""

    def __init__(self, model: str) -> None:
        TEVAL.need()
        self._process = subprocess.Popen(
            [str(TEVAL.python), "-s", str(RUNNERS / "sentences.py"), model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        problem = self._hear()["problem"]
        if problem:
            self.close()
            raise BenchmarkError(f"no sentence-transformers model {model}: {problem}")

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """The embeddings of some texts, one vector each."""
        if self._process.stdin:
            self._process.stdin.write(msgspec.json.encode(list(texts)) + b"\n")
            self._process.stdin.flush()
        vectors: list[list[float]] = self._hear()
        return vectors

    def close(self) -> None:
        """End the process."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait()

    def _hear(self) -> Any:
        line = self._process.stdout.readline() if self._process.stdout else b""
        if not line:
            raise BenchmarkError("the embedding process has ended; run the command again")
        return msgspec.json.decode(line)
