"""A server of `recon serve` for tests: a process of its own, asked over HTTP as a browser asks."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Served:
    """A running server; `address` is what it printed."""

    def __init__(self, folder: Path, *options: str):
        command = [sys.executable, "-P", "-m", "recon", "serve", str(folder), *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder.parent,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(self.process.communicate()[1])
        self.address = line.split()[1]
        self.port, self.token = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/", self.address).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, number: int = signal.SIGINT) -> int:
        """End the server and return its exit code."""
        if self.process.stdout.closed:
            return self.process.returncode
        self.process.send_signal(number)
        code = self.process.wait(30)
        self.process.stdout.close()
        self.said = self.process.stderr.read()
        self.process.stderr.close()
        return code

    def ask(self, method: str, path: str, body=None, token: str | None = None, **headers):
        """Return the answer to a request: status, headers, bytes."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.port), timeout=120)
        known = {"Host": f"127.0.0.1:{self.port}"}
        if method == "POST":
            known["Origin"] = f"http://127.0.0.1:{self.port}"
        known |= {name.replace("_", "-"): value for name, value in headers.items()}
        prefix = self.token if token is None else token
        connection.request(method, f"/{prefix}/{path}", body, {k: v for k, v in known.items() if v is not None})
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def get(self, path: str = ""):
        """Return the text of a page that is there."""
        status, _, data = self.ask("GET", path)
        assert status == 200, (path, status, data[:300])
        return data.decode()

    def post(self, path: str, fields=(), files=()):
        """Send a form; return the status, where it leads to and the answer's text."""
        border = uuid.uuid4().hex
        parts = []
        for name, value in dict(fields).items() if isinstance(fields, dict) else fields:
            parts.append(f'--{border}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode())
        for role, name, data in files:
            head = f'--{border}\r\nContent-Disposition: form-data; name="{role}"; filename="{name}"\r\n\r\n'
            parts.append(head.encode() + data + b"\r\n")
        body = b"".join(parts) + f"--{border}--\r\n".encode()
        status, headers, data = self.ask("POST", path, body, Content_Type=f"multipart/form-data; boundary={border}")
        return status, headers.get("location", ""), data.decode()

    def upload(self, *files, **fields) -> str:
        """Upload files (role, name, bytes) and return the job's identifier."""
        status, where, text = self.post("files", fields, files)
        assert status == 303, text
        return where.removeprefix("jobs/")

    def settled(self, job: str, seconds: float = 120) -> dict:
        """Wait until a job does nothing any more, and return its state."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            found = json.loads(self.get(f"jobs/{job}/state"))
            if found["state"] not in {"waiting", "running"}:
                return found
            time.sleep(0.1)
        raise AssertionError(f"job {job} did not end")


def known(folder: Path, job: str) -> dict:
    """Return what stands in a job's file."""
    return json.loads((folder / "jobs" / job / "job.json").read_text())
