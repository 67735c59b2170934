"""A log of decisions about releases: JSON lines, only ever added to, each with the hash of the line before.

Whoever changes, takes out or puts in a line breaks the chain behind it; a log that was cut off at its end no longer has
the last hash, which is shown to whoever signs. Source: Haber, Stornetta, "How to time-stamp a digital document",
Journal of Cryptology 3, 1991 (linked hashes).
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import msgspec

from recon.io.console.version import VERSION
from recon.io.files.opening import read_whole
from recon.io.files.writing import appended, locked
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ReleaseError

FIRST = "0" * 64  # what the first line has in the place of a hash
LONGEST = 10_000  # characters of a comment, or of a name
Answer = Literal["release", "do not release", "ask back"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)


class DecidedFile(msgspec.Struct, frozen=True):
    """A file that was decided about: its name and the SHA-256 of its bytes."""

    name: str
    sha256: str


class SignedDecision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signed decision, one line of a log.

    `policy`: name and SHA-256; `verdict`: what the audit said, `result_sha256`: of its JSON document; `recon`: the
    version that audited; `previous`: the SHA-256 of the line before, 64 zeros for the first.
    """

    recon_decision: Literal[1] = 1
    number: int
    at: str
    decision: Answer
    by: str
    comment: str
    files: tuple[DecidedFile, ...]
    policy: DecidedFile
    verdict: str
    result_sha256: str
    recon: str
    previous: str


@dataclass(frozen=True)
class DecisionLog:
    """What a log says: its decisions in their order, the hash of its last line, and what is wrong with it.

    `problems`: a sentence per line that does not fit the chain, none where the log is whole. `cut_off`: bytes behind
    the last whole line, of a decision whose writing was interrupted and never confirmed.
    """

    decisions: tuple[SignedDecision, ...]
    head: str
    problems: tuple[str, ...]
    cut_off: int = 0

    @property
    def whole(self) -> bool:
        """Return whether nothing is wrong with the log."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """Return the log as JSON."""
        found = msgspec.to_builtins(self.decisions)
        return {"whole": self.whole, "head": self.head, "problems": list(self.problems), "decisions": list(found)}


def read_decisions(path: str | os.PathLike[str], head: str | None = None) -> DecisionLog:
    """Return a log with everything that is wrong with it; `head`: the hash that its last line, or an earlier one, had.

    Raises `ReleaseError` where the file cannot be read. Cost: linear in the log.
    """
    data = read_whole(os.fspath(path))
    *lines, rest = data.split(b"\n")
    decisions, problems, hashes = list[SignedDecision](), list[str](), [FIRST]
    for number, line in enumerate(lines, 1):
        try:
            one = msgspec.json.decode(line, type=SignedDecision)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problems.append(f"line {number}: is no decision: {quote(error, 200)}")
        else:
            decisions.append(one)
            if one.previous != hashes[-1]:
                problems.append(f"line {number}: does not follow line {number - 1}: one of them was changed or moved")
            if one.number != number:
                problems.append(f"line {number}: says that it is decision {one.number}")
        hashes.append(hashlib.sha256(line).hexdigest())
    if head is not None and head.lower() not in hashes[1:]:
        problems.append(f"no line has the hash {quote(head, 70)}: the log was cut off or changed after it was noted")
    return DecisionLog(tuple(decisions), hashes[-1], tuple(problems), len(rest))


def add_decision(
    path: str | os.PathLike[str], answer: Answer, by: str, comment: str, files: Sequence[DecidedFile],
    document: Mapping[str, Any], result_sha256: str,
) -> tuple[SignedDecision, str]:  # fmt: skip
    """Sign a decision about the audit with this JSON document, and return it with its hash, which is then on the disk.

    Raises `ReleaseError` for a decision without a name or comment, and for a log that is not whole.
    """
    path = os.fspath(path)
    by, comment = " ".join(by.split()), comment.strip()
    for text, what in ((by, "name"), (comment, "comment")):
        if not text:
            raise ReleaseError(f"a decision needs a {what}")
        if len(text) > LONGEST:
            raise ReleaseError(f"the {what} has {len(text):,} characters; at most {LONGEST:,} are kept")
    assessment = document["assessment"]
    with locked(path):
        log = read_decisions(path) if os.path.lexists(path) else DecisionLog((), FIRST, ())
        if log.problems:
            raise ReleaseError(f"nothing is added to a log that is not whole: {log.problems[0]}", file=path)
        if log.cut_off:
            os.truncate(path, os.path.getsize(path) - log.cut_off)
        decision = SignedDecision(
            number=len(log.decisions) + 1,
            at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            decision=answer, by=by, comment=comment, files=tuple(files),
            policy=DecidedFile(assessment["policy"]["name"], assessment["policy"]["sha256"]),
            verdict=assessment["verdict"], result_sha256=result_sha256, recon=VERSION, previous=log.head,
        )  # fmt: skip
        line = json.dumps(msgspec.to_builtins(decision), ensure_ascii=True, separators=(",", ":"))
        appended(path, f"{line}\n")
    return decision, hashlib.sha256(line.encode()).hexdigest()
