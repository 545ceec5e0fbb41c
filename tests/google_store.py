"""Google's store on this machine, in a process of its own: `python -m tests.google_store LOG` prints its port.

Arrow asks it while it holds the interpreter's lock, so it cannot be a thread of the tests. Each request goes to LOG as
a line of JSON. What has `refused` in its name is refused, by an answer that repeats who asked. Of what has `flaky-503`
in its name every fourth request fails so, of `down-503` each that asks for a Parquet file; `reset` ends the connection.
"""

import json
import re
import socket
import struct
import sys
from functools import partial
from http.server import ThreadingHTTPServer
from itertools import count

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

BUCKET = "lake"


class _Handler(RequestHandler):  # type: ignore[misc]
    log = ""
    numbers = count(1)

    def do_GET(self) -> None:
        who = self.headers.get("Authorization", "")
        with open(self.log, "a") as file:
            file.write(json.dumps({"path": self.path, "who": who}) + "\n")
        if "refused" in self.path:
            self._fail(403, f"no right to read, said to {who}")
            return
        asked = re.search(r"(flaky|down)-(503|500|reset)", self.path)
        if asked is None or (next(self.numbers) % 4 if asked[1] == "flaky" else ".parquet" not in self.path):
            super().do_GET()
        elif asked[2] == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        else:
            self._fail(int(asked[2]), "come back later")

    def _fail(self, status: int, message: str) -> None:
        body = json.dumps({"error": {"code": status, "message": message}}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    storage = Storage(use_memory_fs=True)
    buckets.create_bucket(BUCKET, storage)
    _Handler.log = sys.argv[1]
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, storage))
    print(server.server_port, flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
