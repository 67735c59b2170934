"""Jobs are done by the commands of the command line, in processes of their own, two at a time.

The server itself reads no uploaded file. A process obeys its own limits; one that does not is ended from outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from recon.io.console.output import parse_memory
from recon.io.files.writing import writing
from recon.report.results import filled
from recon.report.stored_report import rendered
from recon.serve.jobs import AuditJob, Step, Workspace
from solvers.foundation.native import memory_of_group, started_of

AT_ONCE = 2  # jobs that run; more wait
WAITING = 100  # jobs that may wait
BASE = 1 << 30  # bytes of a process beyond --memory: libraries, and what a child of its own holds
LATE = 60.0  # seconds beyond --time after which a process is ended
SAID = 4_000  # characters of what a command said that are kept
EVENTS = 12  # last lines of progress that are shown
LOOK = 0.5  # seconds between looks at a process's memory
# The folder of the uploaded files is the working directory: without this Python would import what lies in it.
SAFE = {"PYTHONSAFEPATH": "1", "PYTHONPATH": str(Path(__file__).parents[2])}
ENDINGS = {".html": "html", ".md": "md", ".txt": "txt", ".sarif": "sarif", ".xml": "junit"}
RELEASE_FILES = (".joblib", ".pkl")  # copies of models that `recon remedy` writes


@dataclass(frozen=True)
class RunLimits:
    """What every job gets: seconds, memory (as --memory), values of single people in reports, a register's folder."""

    seconds: float = 60.0
    memory: str = "1G"
    show_rows: bool = False
    register: str | None = None


@dataclass
class Runner:
    """Runs the steps of jobs, and says how far they are."""

    workspace: Workspace
    limits: RunLimits
    progress: dict[str, deque[tuple[float, str]]] = field(default_factory=dict)
    _tasks: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @property
    def full(self) -> bool:
        """Return whether no more jobs are taken."""
        return len(self._tasks) >= WAITING

    def submit(self, job: AuditJob, step: Step) -> None:
        """Begin a step of a job as soon as there is room; its state is on the disk from here on."""
        if job.id in self._tasks:
            return
        job.step, job.state, job.message = step, "waiting", ""
        self.workspace.save(job)
        self.progress[job.id] = deque(maxlen=EVENTS)
        self._tasks[job.id] = asyncio.create_task(self._work(job, step))

    def cancel(self, job: AuditJob) -> None:
        """Stop what a job does."""
        if (task := self._tasks.get(job.id)) is not None:
            task.cancel()

    async def close(self) -> None:
        """Stop all jobs and wait until they have ended."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _work(self, job: AuditJob, step: Step) -> None:
        """Do one step and write down how it ended."""
        try:
            async with self._slots:
                job.state = "running"
                self.workspace.save(job)
                await self._do(job, step)
        except asyncio.CancelledError:
            job.state, job.message = "cancelled", "cancelled"
        except Exception as error:  # a job that breaks says so, and the server goes on
            job.state, job.message = "failed", f"an error of recon itself: {type(error).__name__}: {error}"[:SAID]
        finally:
            job.pid = None
            with contextlib.suppress(Exception):
                self.workspace.save(job)
            self._tasks.pop(job.id, None)

    async def _do(self, job: AuditJob, step: Step) -> None:
        """Run the commands of a step."""
        place = self.workspace.place
        if step == "understand":
            code, out, said = await self._run(job, self._understanding(job))
            with writing(str(place(job, "understood.json")), private=True) as file:
                file.write(out)
            job.state, job.message = ("done", "") if code == 0 else ("failed", said)
        elif step == "audit":
            for name in ("result.json", "report.html"):
                (place(job) / name).unlink(missing_ok=True)
            for command in self._registering(job):
                code, out, said = await self._run(job, command)
                if code:
                    job.state, job.message = "failed", said or out
                    return
            code, _, said = await self._run(job, self._audit(job))
            if not (place(job) / "result.json").is_file():
                job.state, job.message = "failed", said or f"recon audit ended with exit code {code}"
                return
            self.workspace.note_verdict(job)
            await self.convert(job, "report.html")
            job.state, job.message = "done", ""
        else:
            commands = [self._remedy(job)] if step == "remedy" else self._adding(job)
            job.state, job.message = "done", ""
            for command in commands:
                code, out, said = await self._run(job, command)
                job.message = f"{job.message}\n{out if code == 0 else said or out}".strip()[:SAID]
                if code:
                    job.state = "failed"
                    return

    async def convert(self, job: AuditJob, name: str) -> Path:
        """Return the report of a finished audit in another format, by the ending of its name; made once."""
        path = self.workspace.place(job, name)
        if not path.is_file():
            document = self.workspace.document(job, "result.json")
            text = await asyncio.to_thread(rendered, filled(document), ENDINGS[path.suffix])
            with writing(str(path), private=True) as file:
                file.write(text)
        return path

    def _recon(self, *rest: str) -> list[str]:
        """Return a command of recon."""
        return [sys.executable, "-P", "-m", "recon", *rest]

    def _within(self) -> list[str]:
        """Return the options of limits."""
        return ["--time", f"{self.limits.seconds:g}", "--memory", self.limits.memory]

    def _domain(self, job: AuditJob) -> list[str]:
        """Return the option of the domain, nothing without one."""
        return [part for file in job.of("domain") for part in ("--domain", file.place)]

    def _released(self, job: AuditJob) -> list[str]:
        """Return the released files."""
        return [f"./{file.place}" for file in job.of("released")]

    def _understanding(self, job: AuditJob) -> list[str]:
        """Return the command that says what files are."""
        return [
            sys.executable, "-P", "-m", "recon.serve.understanding", *self._within(), *self._domain(job), "--",
            *self._released(job),
        ]  # fmt: skip

    def _registering(self, job: AuditJob) -> list[list[str]]:
        """Return the commands that make a register of the earlier releases of a job."""
        folder = self.workspace.place(job, "register")
        if job.of("earlier"):
            shutil.rmtree(folder, ignore_errors=True)
        base = ["register", "../register", "--decision", "release", "--date", job.made[:10]]
        return [self._recon(*base, "--add", f"./{file.place}", *self._domain(job)) for file in job.of("earlier")]

    def _adding(self, job: AuditJob) -> list[list[str]]:
        """Return the commands that add the released files to the server's register."""
        folder, policy = os.path.abspath(self.limits.register or ""), job.settings["policy"]
        base = ["register", folder, "--decision", "release", "--policy", policy, *self._domain(job)]
        return [self._recon(*base, "--add", file) for file in self._released(job)]

    def _audit(self, job: AuditJob) -> list[str]:
        """Return the command of an audit with all that the form said."""
        said = job.settings
        command = ["audit", *self._released(job), "--policy", said["policy"], *self._domain(job), *self._within()]
        command += [part for file in job.of("data") for part in ("--data", file.place)]
        command += [f"--label={said['label']}"] if said.get("label") else []
        command += ["--rows", str(said["rows"])] if said.get("rows") else []
        if job.of("earlier"):
            command += ["--register", "../register"]
        elif self.limits.register is not None and said.get("with_register"):
            command += ["--register", os.path.abspath(self.limits.register)]
        command += ["--remedies"] if said.get("remedies") else []
        command += ["--show-rows"] if self.limits.show_rows and said.get("show_rows") else []
        return self._recon(*command, "--json", "--out", "../result.json", "--log-json")

    def _remedy(self, job: AuditJob) -> list[str]:
        """Return the command that mends the released file."""
        place = job.of("released")[0].place
        self.workspace.place(job, "remedied").mkdir(mode=0o700, exist_ok=True)
        return self._recon(
            "remedy", f"./{place}", "--policy", job.settings["policy"], *self._domain(job), *self._within(),
            "--out", f"../remedied/{remedied_name(place)}", "--log-json",
        )  # fmt: skip

    async def _run(self, job: AuditJob, command: Sequence[str]) -> tuple[int, str, str]:
        """Return the exit code of a command, what it printed, and what it said of errors."""
        process = await asyncio.create_subprocess_exec(
            *command, cwd=self.workspace.place(job, "files"), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
            env=os.environ | SAFE,
        )  # fmt: skip
        job.pid, job.started = process.pid, started_of(process.pid)
        self.workspace.save(job)
        watch = asyncio.create_task(self._watch(process))
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            out, said = await asyncio.gather(_read(process.stdout), self._listen(job, process.stderr))
            code = await process.wait()
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            ended = watch.done() and not watch.cancelled() and watch.result()
            watch.cancel()
            await process.wait()
        return code, out, f"{ended}" if ended else said

    async def _watch(self, process: asyncio.subprocess.Process) -> str:
        """End a process that takes more time or memory than it was given, and return why."""
        most, until = parse_memory(self.limits.memory) + BASE, time.monotonic() + self.limits.seconds * 1.2 + LATE
        while True:
            await asyncio.sleep(LOOK)
            late = time.monotonic() > until
            if late or memory_of_group(process.pid) > most:
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                return f"was ended: it took more {'time' if late else 'memory'} than it was given"

    async def _listen(self, job: AuditJob, stream: asyncio.StreamReader) -> str:
        """Follow a command's progress, and return what else it said on standard error."""
        said = ""
        async for line in _lines(stream):
            event = None
            with contextlib.suppress(ValueError):
                event = json.loads(line)
            if isinstance(event, dict) and event.get("event") == "progress":
                self.progress.setdefault(job.id, deque(maxlen=EVENTS)).append((event["elapsed"], str(event["text"])))
            elif len(said) < SAID:
                said += line
        return said[:SAID].strip()


def remedied_name(name: str) -> str:
    """Return the name of a remedied copy: of a model of its own kind, else of a release file.

    >>> remedied_name("tree.joblib"), remedied_name("tree.pmml")
    ('tree-remedied.joblib', 'tree-remedied.json')
    """
    stem, ending = os.path.splitext(name)
    return f"{stem}-remedied{ending if ending in RELEASE_FILES else '.json'}"


async def _read(stream: asyncio.StreamReader, most: int = 16 << 20) -> str:
    """Return what a command printed, at most so many bytes; the rest is read and dropped."""
    parts, size = list[bytes](), 0
    while part := await stream.read(1 << 16):
        if size < most:
            parts.append(part)
        size += len(part)
    return b"".join(parts).decode("utf-8", "replace")


async def _lines(stream: asyncio.StreamReader) -> AsyncIterator[str]:
    """Yield lines; a line that is too long is dropped."""
    while True:
        try:
            line = await stream.readline()
        except ValueError:
            continue
        if not line:
            return
        yield line.decode("utf-8", "replace")
