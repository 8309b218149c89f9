"""A model behind an OpenAI-compatible endpoint that says, or fails, as a test wants it to."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Body = dict[str, Any]


class Failure(NamedTuple):
    """A status instead of an answer, or a wait before one."""

    status: int = 500
    headers: tuple[tuple[str, str], ...] = ()
    wait: float = 0


Answer = str | bytes | Body | Failure
TOKENS = 7


class FakeModel(ThreadingHTTPServer):
    """Answers each request by a function of its body; it keeps every body it has seen."""

    def __init__(self, answer: Callable[[Body], Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.seen: list[Body] = []
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: FakeModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.seen.append(body)
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.at_once, self.server.most_at_once)
            answer = self.server.answer(body)
        if isinstance(answer, Failure):
            time.sleep(answer.wait)
        with self.server.lock:
            self.server.at_once -= 1
        if isinstance(answer, Failure):
            self._send(answer.status, b"{}", answer.headers)
        elif isinstance(answer, bytes):
            self._send(200, answer)
        else:
            message = (
                {"role": "assistant", "content": answer} if isinstance(answer, str) else answer
            )
            said = {"choices": [{"message": message}], "usage": {"completion_tokens": TOKENS}}
            self._send(200, json.dumps(said).encode())

    def _send(self, status: int, body: bytes, headers: tuple[tuple[str, str], ...] = ()) -> None:
        try:
            self.send_response(status)
            for name, value in (*headers, ("content-length", str(len(body)))):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # whoever asked had no patience

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def fake_model(answer: Callable[[Body], Answer]) -> Iterator[FakeModel]:
    """A running model."""
    server = FakeModel(answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def in_turn(*answers: Answer) -> Callable[[Body], Answer]:
    """One answer after the other, the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]
