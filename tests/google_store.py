"""Google's store on this machine, in a process of its own: `python -m tests.google_store LOG` prints its port.

Arrow asks it while it holds the interpreter's lock, so it cannot be a thread of the tests. Each request goes to LOG as
a line of JSON. What has `refused` in its name is refused, by an answer that repeats who asked.
"""

import json
import sys
from functools import partial
from http.server import ThreadingHTTPServer

from gcp_storage_emulator.handlers import buckets
from gcp_storage_emulator.server import RequestHandler
from gcp_storage_emulator.storage import Storage

BUCKET = "lake"


class _Handler(RequestHandler):  # type: ignore[misc]
    log = ""

    def do_GET(self) -> None:
        who = self.headers.get("Authorization", "")
        with open(self.log, "a") as file:
            file.write(json.dumps({"path": self.path, "who": who}) + "\n")
        if "refused" not in self.path:
            super().do_GET()
            return
        body = json.dumps({"error": {"code": 403, "message": f"no right to read, said to {who}"}}).encode()
        self.send_response(403)
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
