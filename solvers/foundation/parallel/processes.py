"""Local processes, each at the other end of a connection of its own.

Why not joblib's processes (loky): all their results come through one pipe, so that a process killed while it sends one
leaves the reader waiting for ever; the death of one ends all others with what they were doing; and they outlive a
parent that is killed. Here the end of a connection is seen at once on either side, and says whose piece is lost.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pools import DiedError, Pool, Reply
from solvers.foundation.parallel.work import Job, LimitShare, done

PATIENCE = 2.0  # seconds that an idle process gets to end by itself
# One thread each: as many processes as were asked for share the processors.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
           "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")  # fmt: skip
START = (  # the path comes first on the connection, because `solvers` need not be importable without it
    "import sys; from multiprocessing.connection import Connection; there = Connection(int(sys.argv[1])); "
    "sys.path[:] = there.recv(); from solvers.foundation.parallel.processes import serve; serve(there)"
)


class Process:
    """One process and what it works on; started with its first job."""

    def __init__(self) -> None:
        self.running: subprocess.Popen[bytes] | None = None
        self.connection: Connection
        self.ticket: int | None = None
        self.has: set[str] = set()  # names of the shared values that it was sent

    def begin(self, ticket: int, job: Job, values: dict[str, tuple[Any, bytes]]) -> None:
        """Send a job, and the shared value that it wants before it where it was not sent yet."""
        self.ticket = ticket
        with contextlib.suppress(OSError):  # it died: `reply` will say so
            if self.running is None:
                self.start()
            if job.shared is not None and job.shared not in self.has:
                self.connection.send(("shared", job.shared))
                self.connection.send_bytes(values[job.shared][1])
                self.has.add(job.shared)
            self.connection.send(("job", job))

    def start(self) -> None:
        """Start the process in a session of its own, so that Ctrl-C in a terminal is heard by its parent alone."""
        self.connection, there = Pipe()
        with there:
            self.running = subprocess.Popen(
                [sys.executable, "-P", "-c", START,
                 str(there.fileno())],  # -P: see `solvers.foundation.native.processes`
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(there.fileno(),),
                env={**os.environ, **dict.fromkeys(THREADS, "1")}, start_new_session=True,
            )  # fmt: skip
        self.connection.send([os.path.abspath(place) for place in sys.path if isinstance(place, str)])

    def reply(self) -> Reply:
        """Return what it answered, or that it died; what it sent in part is lost with it."""
        try:
            return self.connection.recv_bytes()
        except (EOFError, OSError):
            code = self.kill()
            return DiedError(f"exit code {code}" if code >= 0 else f"signal {-code}")

    def came(self) -> tuple[int, Reply]:
        """Return the ticket of what it worked on and the reply; it can begin something else."""
        ticket = self.ticket
        assert ticket is not None
        reply = self.reply()
        self.ticket = None
        return ticket, reply

    def tell_to_stop(self) -> None:
        """Ask it to end its piece with what it has."""
        if self.running is not None:
            with contextlib.suppress(OSError):
                self.connection.send(("stop", None))

    def kill(self, patience: float = 0.0) -> int:
        """End it and all that it started, after `patience` seconds, and return its exit code; it can begin anew."""
        if self.running is None:
            return 0
        process, self.running, self.ticket = self.running, None, None
        self.connection.close()  # what ends an idle process
        self.has.clear()
        with contextlib.suppress(subprocess.TimeoutExpired):
            if patience:
                process.wait(patience)
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


class Processes(Pool):
    """So many processes of this machine, each started when there is a piece for it."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self.processes = [Process() for _ in range(workers)]

    def free(self, under_way: int) -> int:
        """Return how many processes have nothing to do."""
        return len(self.processes) - under_way

    def job(self, content: bytes, shared: str | None, limits: Limits) -> Job:
        """Return a job with its share of the limits."""
        return Job(content, LimitShare.here(limits), shared)

    def begin(self, job: Job) -> int:
        """Hand a job to an idle process, one that runs already where there is any, and return its ticket."""
        idle = [one for one in self.processes if one.ticket is None]
        idle.sort(key=lambda one: (one.running is None, job.shared not in one.has))
        ticket = next(self.tickets)
        idle[0].begin(ticket, job, self.values)
        return ticket

    def ended(self, seconds: float) -> list[tuple[int, Reply]]:
        """Return the tickets that came back."""
        busy = list(self.busy())
        heard = set(map(id, wait([one.connection for one in busy], seconds)))
        return [one.came() for one in busy if id(one.connection) in heard]

    def busy(self) -> Iterator[Process]:
        """Yield the processes at work."""
        yield from (one for one in self.processes if one.ticket is not None)

    def stop(self) -> None:
        """Ask all that is under way to end with what it has."""
        for one in self.busy():
            one.tell_to_stop()

    def drop(self) -> None:
        """Kill what is at work."""
        for one in self.busy():
            one.kill()

    def close(self) -> None:
        """End all processes."""
        self.drop()
        for one in self.processes:
            one.kill(PATIENCE)


# ---------------------------------------------------------------- in the new process


def serve(connection: Connection) -> None:
    """Do the jobs that come until the connection ends; called by the new process alone."""
    jobs: queue.SimpleQueue[tuple[Job, threading.Event]] = queue.SimpleQueue()
    values: dict[str, bytes] = {}
    read: dict[str, Any] = {}

    def shared(name: str) -> Any:
        if name not in read:
            read[name] = pickle.loads(values.pop(name))
        return read[name]

    def listen() -> None:
        """Hear the parent while a job is done: it may ask to stop, and it may die."""
        stop = threading.Event()
        try:
            while True:
                what, content = connection.recv()
                if what == "job":
                    stop = threading.Event()
                    jobs.put((content, stop))
                elif what == "shared":
                    values[content] = connection.recv_bytes()
                else:
                    stop.set()
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        connection.send_bytes(done(*jobs.get(), shared))
