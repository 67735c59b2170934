"""Jobs on disk: what was uploaded, what was asked and what came out; nobody but the owner can read them.

A job is a folder with `job.json`, its files under `files/`, and what the commands wrote. Everything is written whole or
not at all, so that a server that is killed loses no finished report.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import secrets
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from recon.io.files.opening import read_whole
from recon.io.files.writing import writing
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ReleaseError
from solvers.foundation.native import started_of

Role = Literal["released", "domain", "data", "earlier", "beside"]
ROLES: dict[Role, str] = {
    "released": "Released files: models or tables that are judged",
    "domain": "Which values can occur: a data file or a release file (without it the values are guessed)",
    "data": "The training rows: to say whose rows are most exposed",
    "earlier": "Earlier releases about the same people: judged together with the new one",
    "beside": "Files that these name, such as a table beside a release file",
}
assert tuple(ROLES) == get_args(Role)
SINGLE: tuple[Role, ...] = ("domain", "data")
Step = Literal["understand", "audit", "remedy", "register"]
State = Literal["waiting", "running", "done", "failed", "cancelled", "interrupted"]
OPEN: tuple[State, ...] = ("waiting", "running")
IDENTIFIER = re.compile(r"[0-9a-z]{8}-[0-9a-f]{12}")
NAME_LENGTH = 120  # characters of a file's name that are kept
MOST_FILES = 40  # of one job


class UploadedFile(msgspec.Struct, frozen=True):
    """A file of a job: what it is for, the name it came with, its hash and size, its place below `files/`."""

    role: Role
    name: str
    sha256: str
    size: int
    place: str


class AuditJob(msgspec.Struct, kw_only=True):
    """What is known of a job; `message`: why a step failed, or what it printed; `pid`, `started`: its process."""

    id: str
    made: str
    files: list[UploadedFile] = []
    step: Step = "understand"
    state: State = "waiting"
    settings: dict[str, Any] = {}
    message: str = ""
    verdict: str = ""
    sentence: str = ""
    pid: int | None = None
    started: str = ""
    kept: bool = False
    dropped: bool = False
    decisions: list[str] = []

    def of(self, role: Role) -> list[UploadedFile]:
        """Return the files of a role."""
        return [file for file in self.files if file.role == role]

    @property
    def title(self) -> str:
        """Return the names of the released files."""
        return ", ".join(file.name for file in self.of("released")) or "no released file"


@dataclass(frozen=True)
class Workspace:
    """A folder of jobs and the log of decisions; one server at a time uses it."""

    folder: Path

    @classmethod
    def opened(cls, folder: str) -> Workspace:
        """Return the workspace in a folder, which is made; `ReleaseError` where it cannot be written."""
        path = Path(folder).absolute()
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (path / "jobs").mkdir(mode=0o700, exist_ok=True)
            path.chmod(0o700)
        except OSError as error:
            raise ReleaseError(f"cannot be used as a workspace: {error.strerror or error}", file=folder) from None
        return cls(path)

    @property
    def log(self) -> str:
        """Return the path of the log of decisions."""
        return str(self.folder / "decisions.jsonl")

    def place(self, job: AuditJob | str, *names: str) -> Path:
        """Return a path inside a job's folder."""
        return self.folder.joinpath("jobs", job if isinstance(job, str) else job.id, *names)

    def new(self) -> AuditJob:
        """Return a new job, whose folder is there."""
        now = datetime.datetime.now(datetime.UTC)
        job = AuditJob(id=f"{now:%y%j}{_base36(now)}-{secrets.token_hex(6)}", made=now.isoformat(timespec="seconds"))
        for path in (self.place(job), self.place(job, "files")):
            path.mkdir(mode=0o700)
        return job

    def save(self, job: AuditJob) -> None:
        """Write what is known of a job; nothing of one that was forgotten."""
        if self.place(job).is_dir():
            with writing(str(self.place(job, "job.json")), private=True, binary=True) as file:
                file.write(msgspec.json.encode(job))

    def job(self, identifier: str) -> AuditJob | None:
        """Return a job by its identifier, None where there is none."""
        if not IDENTIFIER.fullmatch(identifier):
            return None
        with contextlib.suppress(ReleaseError, msgspec.MsgspecError, OSError):
            return msgspec.json.decode(read_whole(str(self.place(identifier, "job.json"))), type=AuditJob)
        return None

    def jobs(self) -> Iterator[AuditJob]:
        """Yield all jobs, the newest first."""
        for path in sorted((self.folder / "jobs").iterdir(), reverse=True):
            if (job := self.job(path.name)) is not None:
                yield job

    def document(self, job: AuditJob, name: str) -> Any:
        """Return a JSON document that a step wrote, None where it did not."""
        with contextlib.suppress(ReleaseError, msgspec.MsgspecError, OSError):
            return msgspec.json.decode(read_whole(str(self.place(job, name))))
        return None

    def sha256(self, job: AuditJob, name: str) -> str:
        """Return the SHA-256 of what a step wrote."""
        return hashlib.sha256(read_whole(str(self.place(job, name)))).hexdigest()

    def place_for(self, job: AuditJob, role: Role, name: str) -> tuple[str, str]:
        """Return a name that a file can have and its place below `files/`; released files stand there themselves."""
        short = file_name(name)
        folder = "" if role in {"released", "beside"} else role
        taken = {file.place for file in job.files}
        for number in range(len(job.files) + 2):
            numbered = f"{number + 1}-{short}" if number else short
            place = os.path.join(folder, numbered) if folder else numbered
            if place not in taken and numbered not in ROLES:
                break
        self.place(job, "files", folder).mkdir(mode=0o700, exist_ok=True)
        return numbered, place

    def drop_files(self, job: AuditJob) -> None:
        """Take a job's uploaded files away, where nobody asked to keep them."""
        if not job.kept and not job.dropped:
            shutil.rmtree(self.place(job, "files"), ignore_errors=True)
            shutil.rmtree(self.place(job, "register"), ignore_errors=True)
            job.dropped = True
            self.save(job)

    def forget(self, job: AuditJob) -> None:
        """Take a job away with all that belongs to it; decisions stay in the log."""
        shutil.rmtree(self.place(job), ignore_errors=True)

    def recover(self) -> None:
        """Settle what a server left behind that was killed: stop its processes, keep finished reports, drop files."""
        for path in list((self.folder / "jobs").iterdir()):
            job = self.job(path.name)
            if job is None:
                shutil.rmtree(path, ignore_errors=True)
                continue
            if job.state in OPEN:
                _end_process(job)
                ended = (job.step, job.state) == ("audit", "running") and self.document(job, "result.json") is not None
                job.state = "done" if ended else "interrupted"
                job.message = "" if ended else "the server was stopped while this ran"
                if ended:
                    self.note_verdict(job)
                self.save(job)
            self.drop_files(job)

    def note_verdict(self, job: AuditJob) -> None:
        """Note the verdict of an audit's document in its job."""
        assessment = (self.document(job, "result.json") or {}).get("assessment") or {}
        job.verdict, job.sentence = assessment.get("verdict", ""), assessment.get("sentence", "")


def file_name(name: str) -> str:
    """Return a name as a file can have it here: its last part, without what hides or begins an option.

    >>> file_name("../../etc/-passwd")
    'passwd'
    >>> file_name("")
    'file'
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(one if one.isalnum() or one in " ._-+()" else "_" for one in last).strip(" .-_")
    stem, dot, ending = kept.rpartition(".")
    return (f"{stem[: NAME_LENGTH - 20]}{dot}{ending[:20]}" if stem else kept[:NAME_LENGTH]) or "file"


def _end_process(job: AuditJob) -> None:
    """Stop the process of a job and all that it started, where it still is the one that was started."""
    if job.pid is not None and job.started and started_of(job.pid) == job.started:
        with contextlib.suppress(OSError):
            os.killpg(job.pid, signal.SIGKILL)


def _base36(now: datetime.datetime) -> str:
    """Return the second of the day in letters and digits, three of them, so that names sort by time."""
    digits, seconds, found = "0123456789abcdefghijklmnopqrstuvwxyz", now.hour * 1_800 + now.minute * 30, ""
    for _ in range(3):
        seconds, digit = divmod(seconds + (now.second // 2 if not found else 0), 36)
        found = digits[digit] + found
    return found


def refuse_files(job: AuditJob) -> str:
    """Return why the files of a job cannot be judged, "" where they can."""
    if not job.of("released"):
        return "there is no released file: choose the model or table that is to be judged"
    for role in SINGLE:
        if len(job.of(role)) > 1:
            return f"there are {len(job.of(role))} files for one purpose: {quote(ROLES[role])}; choose one"
    return ""
