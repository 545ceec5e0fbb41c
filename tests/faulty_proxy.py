"""A store that fails now and then: a proxy on this machine before a store's server spoils what it is told to.

`FaultyProxy.fault` is asked for each request, by its number and what is asked for, and says what goes wrong with it.
"""

import http.client
import socket
import struct
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote, urlsplit

OK, RESET, CUT, SILENT = "", "reset", "cut", "silent"
EXPIRED = "403 ExpiredToken"


class FaultyProxy:
    """Between a client and the server at `url`; `fault` gives "500", "503", "403 Code", RESET, CUT, SILENT or OK."""

    def __init__(self, url: str, silence_s: float = 0) -> None:
        self.upstream = urlsplit(url).netloc
        self.silence_s = silence_s
        self.fault: Callable[[int, str], str] = lambda number, asked: OK
        self.spoiled: list[tuple[str, str, float]] = []
        """What went wrong so far: the fault, what was asked for, when."""
        self._number, self._lock = 0, Lock()
        handler = type("Handler", (_Handler,), {"proxy": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def next_fault(self, asked: str) -> str:
        with self._lock:
            self._number += 1
            number = self._number
        # Not under the lock: it may wait, and others are not to.
        fault = self.fault(number, asked)
        if fault:
            self.spoiled.append((fault, asked, time.monotonic()))
        return fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: FaultyProxy

    def do_GET(self) -> None:
        fault = self.proxy.next_fault(f"{self.command} {unquote(self.path)}")
        if fault == RESET:
            self._reset()
            return
        if fault == SILENT:
            time.sleep(self.proxy.silence_s)
        status, headers, body = self._answer(fault)
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if fault == CUT:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self._reset()
            return
        self.wfile.write(body)

    do_HEAD = do_GET

    def _answer(self, fault: str) -> tuple[int, list[tuple[str, str]], bytes]:
        if fault[:1].isdigit():
            status, _, code = fault.partition(" ")
            kind, body = "application/xml", f"<?xml version='1.0'?><Error><Code>{code}</Code></Error>".encode()
            if not code:
                # A gateway before the store, which knows nothing of the store's own answers.
                kind, body = "text/html", b"<html><body>Come back later.</body></html>"
            return int(status), [("Content-Type", kind), ("Content-Length", str(len(body)))], body
        upstream = http.client.HTTPConnection(self.proxy.upstream)
        try:
            upstream.request(self.command, self.path, headers=dict(self.headers))
            answer = upstream.getresponse()
            body = answer.read()
            passed = [
                item for item in answer.getheaders() if item[0].lower() not in ("transfer-encoding", "connection")
            ]
            if "content-length" not in {name.lower() for name, _ in passed}:
                passed.append(("Content-Length", str(len(body))))
            return answer.status, passed, body
        finally:
            upstream.close()

    def _reset(self) -> None:
        """Ends the connection as a machine does that was switched off."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        return None
