"""The server: one process on this machine's own address, with a token that nobody can guess in every address.

What stands before the pages: the address, the token, the same origin, and bounded uploads. A page elsewhere may send
requests to this server, or point a name at this machine (DNS rebinding); it knows no token, its Host is another, and
its Origin is not ours. Source: OWASP, "Cross-Site Request Forgery Prevention" (verifying the origin); Jackson et al.,
"Protecting browsers from DNS rebinding attacks", CCS 2007.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recon.io.files.writing import locked
from recon.serve.application import Desk, UploadError
from recon.serve.jobs import Workspace
from recon.serve.running import RunLimits, Runner
from solvers.foundation.errors import ReleaseError

CONNECTIONS = 100  # at once; more are refused
MOST_BYTES = 256 << 20  # of one upload
SECONDS = 300.0  # that one upload may last
DRAINED = 4 << 20  # bytes of a refused upload that are still read, so that the browser shows why
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": POLICY,
}


def serve(
    folder: str, port: int, limits: RunLimits, say: Callable[[str], None], most_bytes: int = MOST_BYTES,
    browser: bool = False, token: str | None = None,
) -> None:  # fmt: skip
    """Serve the pages over a folder until Ctrl-C; `say` is told the address first.

    `port` 0: a free one. `token`: in every address, by default a new one. Raises `ReleaseError` where the port is
    taken, or another server uses the folder.
    """
    workspace = Workspace.opened(folder)
    with locked(str(workspace.folder / "serve"), wait=0.0), _listening(port) as listener:
        workspace.recover()
        token, port = token or secrets.token_urlsafe(24), listener.getsockname()[1]
        desk = Desk(workspace, Runner(workspace, limits))
        guard = Guard(desk.application(token), token, port, most_bytes)
        server = uvicorn.Server(
            uvicorn.Config(
                guard,
                log_config=None,
                access_log=False,
                server_header=False,
                date_header=False,
                lifespan="on",
                limit_concurrency=CONNECTIONS,
                timeout_keep_alive=5,
                timeout_graceful_shutdown=5,
                ws="none",
            )
        )
        address = f"http://127.0.0.1:{port}/{token}/"
        say(address)
        if browser:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """Yield a socket on this machine's own address."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(CONNECTIONS)
    except OSError as error:
        listener.close()
        raise ReleaseError(f"port {port} cannot be used: {error.strerror}; choose another with --port") from None
    with listener:
        yield listener


@dataclass
class Guard:
    """Lets through what comes from a page of this server, and counts the bytes of what is sent."""

    app: ASGIApp
    token: str
    port: int
    most_bytes: int = MOST_BYTES
    seconds: float = SECONDS

    @property
    def hosts(self) -> set[str]:
        """Return the names under which this server answers."""
        return {f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        status, why = self._refusal(scope)
        if status:
            await PlainTextResponse(f"{why}\n", status, HEADERS)(scope, receive, send)
            return
        body = _BoundedBody(receive, self.most_bytes, self.seconds)
        body.whole = scope["method"] != "POST"
        await self.app(scope, body, _with_headers(send, body))

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return the status and sentence of a refusal, 0 and "" where there is none."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, "This server answers under 127.0.0.1 and localhost only."
        first = scope["path"].split("/")[1] if "/" in scope["path"] else ""
        if not secrets.compare_digest(first.encode(), self.token.encode()):
            return 404, "Not found. Open the address that recon serve printed: it has a token in it."
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return 405, "GET and POST only."
        if scope["method"] == "POST":
            origins = [value for name, value in headers if name == "origin"]
            if origins != [f"http://{hosts[0].lower()}"]:
                return 403, "This form was not sent by a page of this server."
        return 0, ""


class _BoundedBody:
    """Receives a body of at most so many bytes within so many seconds."""

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self.receive, self.most, self.seconds, self.met = receive, most, seconds, 0
        self.until: float | None = None
        self.whole = False

    async def __call__(self) -> Message:
        """Return the next piece; `UploadError` where it is too much or too late."""
        if self.whole:
            return await self.receive()
        loop = asyncio.get_running_loop()
        self.until = self.until or loop.time() + self.seconds
        try:
            async with asyncio.timeout_at(self.until):
                message = await self.receive()
        except TimeoutError:
            raise UploadError(408, f"the upload lasted more than {self.seconds:g} seconds") from None
        self.met += len(message.get("body", b""))
        self.whole = not message.get("more_body", False)
        if self.met > self.most:
            await self._drain()
            raise UploadError(413, f"the upload has more than {self.most >> 20:,} MB (recon serve --most)")
        return message

    async def _drain(self) -> None:
        """Read a little more, so that the answer is not lost with the connection."""
        limit = self.met + DRAINED
        try:
            async with asyncio.timeout(2.0):
                while self.met < limit and (message := await self.receive()).get("more_body"):
                    self.met += len(message.get("body", b""))
        except TimeoutError:
            pass


def _with_headers(send: Send, body: _BoundedBody) -> Send:
    """Return `send` with the headers that every answer has, unless it has its own.

    An answer to a body that was not read to its end closes the connection: the rest may never end.
    """

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own: list[Any] = list(message.get("headers", []))
            known = {name.lower() for name, _ in own}
            named = HEADERS if body.whole else HEADERS | {"Connection": "close"}
            more = [(name.lower().encode(), value.encode()) for name, value in named.items()]
            message = {**message, "headers": own + [one for one in more if one[0] not in known]}
        await send(message)

    return sending
