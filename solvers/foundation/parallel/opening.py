"""Which pool limits ask for, made when it is needed and kept from one question to the next.

Local processes, each at the other end of a connection of its own.

Why not joblib's processes (loky): all their results come through one pipe, so that a process killed while it sends one
leaves the reader waiting for ever; the death of one ends all others with what they were doing; and they outlive a
parent that is killed. Here the end of a connection is seen at once on either side, and says whose piece is lost.

A Dask cluster: its scheduler gives jobs to workers on any machine, and those of a worker that died to another.

Pieces go to it directly, not through joblib: that leaves arguments of more than 1 kB on one worker alone, and the
pieces that need them are lost with it (`FutureCancelledError: already forgotten`, joblib 1.6.0, distributed 2026.8).
Here a piece travels whole in its task, which the scheduler keeps until the result is there; what pieces share is a
task too, which is done again where its result is lost.
Source: https://distributed.dask.org ("Resilience").
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, ClassVar
from uuid import uuid4

from solvers.foundation.errors import EngineError, Unsupported, installing
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.work import DiedError, Job, LimitShare, Pool, Reply, done

CONNECT = 10.0  # seconds to reach a scheduler
WORKERS = 30.0  # seconds to wait where no worker is there
LOOK = 1.0  # seconds between looks at who is there
CLUSTER_PATIENCE = 2.0  # seconds to reach the workers, or to take leave of the scheduler
CANCELLED = 0.5  # seconds between a worker's looks whether anybody still wants its result
KEPT = 2  # shared values that a worker keeps
NOISY = ("distributed", "tornado", "asyncio")  # loggers that print what is said here in a sentence


class Cluster(Pool):
    """The workers of one scheduler, through one client; jobs are those of all its workers' threads at most."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address, self.token = address, uuid4().hex
        self.futures: dict[Any, int] = {}
        self.shared: dict[str, Any] = {}
        self.threads, self.looked, self.seen = 0, -LOOK, time.monotonic()
        if importlib.util.find_spec("distributed") is None:
            raise Unsupported(f"a Dask cluster needs an extra: {installing('dask')}")
        self.quiet = contextlib.ExitStack()
        self.quiet.enter_context(_silenced())
        try:
            self.client = _connected(address)
        except BaseException:
            self.quiet.close()
            raise

    def free(self, under_way: int) -> int:
        """Return how many threads of workers have nothing to do; looked up now and then, as workers come and go."""
        now = time.monotonic()
        if now - self.looked >= LOOK:
            with self.reaching():
                self.threads = sum(self.client.nthreads().values())
            self.looked = time.monotonic()
        if self.threads:
            self.seen = now
        elif now - self.seen > WORKERS:
            raise Unsupported(f"the Dask scheduler at '{self.address}' has had no worker for {WORKERS:g} s")
        return self.threads - under_way

    def job(self, content: bytes, shared: str | None, limits: Limits) -> Job:
        """Return a job with its share of the limits."""
        return Job(content, LimitShare.elsewhere(limits), None if shared is None else f"{self.token}-{shared}")

    def begin(self, job: Job) -> int:
        """Hand a job to the scheduler and return its ticket."""
        ticket = next(self.tickets)
        name = f"recon-{self.token}-{ticket}"
        with self.reaching():
            future = self.client.submit(_do_job, self.token, job, self.value(job.shared), key=name, pure=False)
        self.futures[future] = ticket
        return ticket

    def value(self, name: str | None) -> Any:
        """Return what a job's shared value is to the cluster: the result of a task, sent to whom needs it."""
        if name is None:
            return None
        if name not in self.shared:
            value = self.values[name.removeprefix(f"{self.token}-")][1]
            with warnings.catch_warnings():  # that it is large is why it is sent by itself
                warnings.filterwarnings("ignore", message="(?s)Sending large graph", category=UserWarning)
                self.shared[name] = self.client.submit(bytes, value, key=f"recon-shared-{name}", pure=False)
        return self.shared[name]

    def ended(self, seconds: float) -> list[tuple[int, Reply]]:
        """Return the tickets that came back; one whose result was lost on its way comes back later."""
        from distributed import CancelledError, wait

        if not self.futures:
            time.sleep(seconds)
            return []
        with self.client.as_current(), contextlib.suppress(TimeoutError, CancelledError):
            wait(list(self.futures), timeout=seconds, return_when="FIRST_COMPLETED")  # type: ignore[no-untyped-call]
        found = []
        for future in [one for one in self.futures if one.done()]:
            with contextlib.suppress(TimeoutError):
                found.append((self.futures[future], self.reply(future)))
                del self.futures[future]
        return found

    def reply(self, future: Any) -> Reply:
        """Return what a task's result is, or that its workers died; `EngineError` where the cluster is lost."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        try:
            reply: bytes = future.result(timeout=LOOK)
        except KilledWorker as error:
            raise EngineError(
                f"{error.allowed_failures + 1} workers of '{self.address}' that worked on one piece died, most likely "
                "for want of memory"
            ) from None
        except CancelledError:
            raise self.lost() from None
        except (ImportError, AttributeError) as error:
            raise Unsupported(
                f"a worker of '{self.address}' has not the same recon: install it there ({error})"
            ) from None
        return reply

    def lost(self) -> EngineError:
        """Return the refusal of a cluster that went away; what came back before is kept by whoever got it."""
        return EngineError(f"the Dask scheduler at '{self.address}' is gone, and what it had with it")

    @contextlib.contextmanager
    def reaching(self) -> Iterator[None]:
        """Say in one sentence that the scheduler is gone, whatever distributed says."""
        try:
            yield
        except (OSError, TimeoutError, RuntimeError):
            raise self.lost() from None

    def stop(self) -> None:
        """Ask all that is under way to end with what it has."""
        sent = threading.Thread(target=self.tell_to_stop, daemon=True)
        sent.start()
        sent.join(CLUSTER_PATIENCE)

    def tell_to_stop(self) -> None:
        """Have every worker set the stop events of this pool's jobs."""
        with contextlib.suppress(Exception):
            self.client.run(stopped, self.token, on_error="ignore")

    def drop(self) -> None:
        """Take back what is under way; workers at it hear of it (`wanted`)."""
        futures, self.futures = list(self.futures), {}
        if futures:
            with contextlib.suppress(Exception):
                self.client.cancel(futures, force=True)

    def close(self) -> None:
        """Take everything back and leave."""
        self.drop()
        self.shared.clear()
        with contextlib.suppress(Exception):
            self.client.close(timeout=CLUSTER_PATIENCE)
        self.quiet.close()


def _connected(address: str) -> Any:
    """Return a client of the scheduler at an address; `Unsupported` where there is none.

    Somebody must answer there before there is a client: one that fails to start leaves a thread and complaints.
    """
    import asyncio

    from distributed import Client

    try:
        with ThreadPoolExecutor(1) as apart:  # whoever calls may run an event loop
            apart.submit(asyncio.run, _answering(address)).result()
        return Client(address, timeout=CONNECT, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError, AttributeError, EOFError) as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise Unsupported(f"no Dask scheduler answers at '{address}': {reason}") from None


async def _answering(address: str) -> None:
    """Raise, in one of many ways, unless somebody at an address speaks as a Dask scheduler does."""
    import asyncio

    from distributed.comm.core import connect
    from distributed.security import Security

    with_what = Security().get_connection_args("client")  # type: ignore[no-untyped-call]  # TLS, where it is set up
    comm = await asyncio.wait_for(connect(address, timeout=CONNECT, **with_what), CONNECT)  # type: ignore[no-untyped-call]
    comm.abort()


@contextlib.contextmanager
def _silenced() -> Iterator[None]:
    """Keep distributed's loggers quiet for the block: what fails is said in a sentence."""
    import distributed  # noqa: F401 - sets its loggers up

    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in NOISY]
    loggers = [logging.getLogger(name) for name in {*names, *NOISY}]
    before = [(one, one.disabled) for one in loggers]
    for one in loggers:
        one.disabled = True
    try:
        yield
    finally:
        for one, was in before:
            one.disabled = was


# ---------------------------------------------------------------- where a worker runs


class WorkerState:
    """What a worker keeps from one job to the next: shared values, and the events that stop jobs under way."""

    one_at_a_time = threading.Lock()  # what jobs remember in a shared value is no place for two threads
    values: ClassVar[OrderedDict[str, Any]] = OrderedDict()
    events: ClassVar[dict[str, list[threading.Event]]] = {}  # by pool
    stopped: ClassVar[set[str]] = set()  # pools


def _do_job(token: str, job: Job, value: bytes | None) -> bytes:
    """Do a job of a pool on a worker, one at a time, however many threads it has."""
    event = threading.Event()

    def shared(name: str) -> Any:
        if name not in WorkerState.values:
            assert value is not None
            WorkerState.values[name] = pickle.loads(value)
            while len(WorkerState.values) > KEPT:
                WorkerState.values.popitem(last=False)
        return WorkerState.values[name]

    WorkerState.events.setdefault(token, []).append(event)
    if token in WorkerState.stopped:
        event.set()
    try:
        with _cancelled_event(event), WorkerState.one_at_a_time:
            return done(job, event, shared)
    finally:
        WorkerState.events[token].remove(event)


def stopped(token: str) -> None:
    """Stop all jobs of a pool on this worker, those that come later too."""
    WorkerState.stopped.add(token)
    for event in WorkerState.events.get(token, ()):
        event.set()


@contextlib.contextmanager
def _cancelled_event(event: threading.Event) -> Iterator[None]:
    """Set the event when the job under way is cancelled, or its client is gone: nobody waits for its result."""
    from distributed import get_worker
    from distributed.worker import thread_state  # type: ignore[attr-defined]

    worker, key = get_worker(), thread_state.key
    over = threading.Event()

    def look() -> None:
        while not over.wait(CANCELLED):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                event.set()
                return

    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        over.set()


PATIENCE = 2.0  # seconds that an idle process gets to end by itself
# One thread each: as many processes as were asked for share the processors.
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "NUMEXPR_NUM_THREADS",
           "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS")  # fmt: skip
START = (  # the path comes first on the connection, because `solvers` need not be importable without it
    "import sys; from multiprocessing.connection import Connection; there = Connection(int(sys.argv[1])); "
    "sys.path[:] = there.recv(); from solvers.foundation.parallel.opening import serve; serve(there)"
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
                 str(there.fileno())],  # -P: see `solvers.foundation.native`
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
