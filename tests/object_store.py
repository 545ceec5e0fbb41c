"""An S3 server on this machine: moto, behind a proxy that writes down each request and refuses what a test tells it to.

Nothing leaves the machine. Tables are copied into its buckets from local folders.
"""

import logging
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import unquote

import boto3
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "lake"


class _Quiet(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        return None


class ObjectStore:
    """The server, its requests so far as (method, what was asked for), and the parts of them that it refuses."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.keys_seen: set[str] = set()
        """The access keys that requests were signed with."""
        self.tokens_seen: set[str] = set()
        """The session tokens that came with them."""
        self.missing: set[str] = set()
        """Parts of requests that are answered as if the object were not there."""
        self.besides = ""
        """What stands in the answer to a refused request behind its code and message."""
        self._s3 = DomainDispatcherApplication(create_backend_app)
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet)
        Thread(target=self._server.serve_forever, daemon=True).start()
        key, secret = self.environment["AWS_ACCESS_KEY_ID"], self.environment["AWS_SECRET_ACCESS_KEY"]
        self._client = boto3.client(
            "s3", "us-east-1", endpoint_url=self.url, aws_access_key_id=key, aws_secret_access_key=secret
        )
        self._client.create_bucket(Bucket=BUCKET)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs to know to read from it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "a key",
            "AWS_SECRET_ACCESS_KEY": "a secret",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def put(self, folder: str | os.PathLike[str], name: str, bucket: str = BUCKET) -> str:
        """Copy a folder into a bucket; gives the table's location."""
        root = Path(folder)
        if bucket != BUCKET:
            self._client.create_bucket(Bucket=bucket)
        for file in root.rglob("*"):
            if file.is_file():
                key = f"{name}/{file.relative_to(root).as_posix()}".lstrip("/")
                self._client.put_object(Bucket=bucket, Key=key, Body=file.read_bytes())
        self.requests.clear()
        return f"s3://{bucket}/{name}"

    def keys(self, name: str) -> list[str]:
        answer = self._client.list_objects_v2(Bucket=BUCKET, Prefix=f"{name}/")
        return [entry["Key"] for entry in answer["Contents"]]

    def remove(self, key: str) -> None:
        self._client.delete_object(Bucket=BUCKET, Key=key)

    def asked(self, *parts: str) -> list[str]:
        """The requests since the last call whose text has all these parts."""
        requests = [f"{method} {what}" for method, what in self.requests]
        self.requests.clear()
        return [text for text in requests if all(part in text for part in parts)]

    def stop(self) -> None:
        self._server.shutdown()

    def _answer(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"].encode("latin-1").decode()
        asked = f"{path} {unquote(environ['QUERY_STRING'])} {environ.get('HTTP_RANGE', '')}".strip()
        self.requests.append((method, asked))
        signed = re.search("Credential=([^/]*)/", environ.get("HTTP_AUTHORIZATION", ""))
        self.keys_seen |= {signed[1]} if signed else set()
        self.tokens_seen |= {environ["HTTP_X_AMZ_SECURITY_TOKEN"]} if "HTTP_X_AMZ_SECURITY_TOKEN" in environ else set()
        for parts, status, code in (
            (self.refused, "403 Forbidden", "AccessDenied"),
            (self.missing, "404 Not Found", "NoSuchKey"),
        ):
            if any(part in asked for part in parts):
                said = f"<Code>{code}</Code><Message>{code}</Message>{self.besides}"
                body = f"<?xml version='1.0'?><Error>{said}</Error>".encode()
                start(status, [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))])
                return [b"" if method == "HEAD" else body]
        answer: Iterable[bytes] = self._s3(environ, start)
        return answer
