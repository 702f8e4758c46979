"""A server that does as little as possible: fixed streams, from a process of its own.

``POST /text/…`` is answered with a short text. ``POST /tool/…`` is answered with a call of a
tool, or with the text when the last thing in the request is a tool's output. ``GET /bodies``
returns the requests since it was last asked, so that they can be sent again as they were.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from io import IOBase
from typing import Final

from benchmarks.payloads import call_stream, text_stream

ROOT: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


def _chunked(events: list[bytes]) -> bytes:
    """A whole answer: every event is a chunk of its own, as real servers have it."""
    return b"".join(
        [_HEAD, *(b"%x\r\n%b\r\n" % (len(event), event) for event in events), b"0\r\n\r\n"]
    )


_TEXT: Final = _chunked(text_stream())
_CALL: Final = _chunked(call_stream())


class _Server:
    def __init__(self) -> None:
        self._bodies: list[bytes] = []

    def serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, connection.makefile("rb", buffering=1 << 18) as stream:
            while line := stream.readline():
                path = line.split()[1]
                connection.sendall(self._answer(path, _body(stream)))

    def _answer(self, path: bytes, body: bytes) -> bytes:
        if path == b"/bodies":
            data = b"".join(b"%016d%b" % (len(kept), kept) for kept in self._bodies)
            self._bodies.clear()
            return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(data), data)
        if len(body) < 1 << 20 or not self._bodies:
            self._bodies.append(body)
        wants_call = path.startswith(b"/tool") and not _ends_with_output(body)
        return _CALL if wants_call else _TEXT


def _ends_with_output(body: bytes) -> bool:
    return body.rfind(b'"function_call_output"') > body.rfind(b'"role":"user"')


def _body(stream: IOBase) -> bytes:
    length = 0
    while (line := stream.readline()).strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    body: bytes = stream.read(length)
    return body


def serve() -> None:
    """Serve until nobody holds standard input open any more."""
    server = _Server()
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=_accept, args=(server, listener), daemon=True).start()
    sys.stdin.buffer.read()


def _accept(server: _Server, listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=server.serve, args=(connection,), daemon=True).start()


@contextmanager
def open_server() -> Generator[str, None, None]:
    """Run the server in a process of its own; it ends with the block. Gives its address."""
    command = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.stdin.close()


if __name__ == "__main__":
    serve()
