"""The index of a register: `register.toml`, read with every key checked, and written by appending to it.

It is TOML so that an officer reads and edits it, and so that a line of version control is one fact. What somebody wrote
by hand (comments, order, corrected decisions) is never rewritten: a new release is a block at the end.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from encoders.models.related import DataSet, RelatedDataSets
from solvers.foundation.displayed import HIDDEN, quote
from solvers.foundation.errors import ReleaseError
from solvers.statements.release import RowCount

INDEX = "register.toml"
FORMAT = 1
KNOWN = ("release", "release with changes", "withdrawn")  # a copy of what was withdrawn may be anywhere
DECISIONS = (*KNOWN, "do not release")
SHA256 = re.compile("[0-9a-f]{64}")
ENTRY = (
    "file", "sha256", "date", "decision", "policy", "policy_sha256", "note", "dataset", "from", "removed", "added",
    "totals",
)  # fmt: skip
HEAD = """\
# Releases about the same rows, each as it went out, in the order in which they were registered.
# recon register FOLDER lists and checks them, recon audit NEW --register FOLDER joins them with a new one.
# decision: "release", "release with changes", "withdrawn" (released once: known for good) or "do not release".
register = 1
"""


@dataclass(frozen=True)
class RegisterEntry:
    """One release of a register: its file (relative to the folder), its hash, and what was decided on which day.

    `policy` and `policy_sha256` name the policy that it was judged by ("": none was given). `dataset`: the data set
    that it is about ("": that of all entries without one), made from the data set `origin`, `removed` rows of which
    left and `added` came (None: unknown). `totals`: the column that it adds up, of a table of totals ("": none).
    """

    file: str
    sha256: str
    date: str
    decision: str
    policy: str = ""
    policy_sha256: str = ""
    note: str = ""
    dataset: str = ""
    origin: str = ""
    removed: RowCount | None = None
    added: RowCount | None = None
    totals: str = ""

    @property
    def known(self) -> bool:
        """Return whether an adversary knows it: it was released, as it is, with changes, or until it was withdrawn."""
        return self.decision in KNOWN

    def to_json(self) -> dict[str, Any]:
        """Return file, sha256, date and decision; which data set it is about where that is said."""
        about = {"dataset": self.dataset} if self.dataset else {}
        about |= {"totals": self.totals} if self.totals else {}
        return {"file": self.file, "sha256": self.sha256, "date": self.date, "decision": self.decision, **about}

    def data_set(self, name: str) -> DataSet:
        """Return its data set under a name."""
        return DataSet(name, origin=self.origin or None, removed=self.removed, added=self.added)


@dataclass(frozen=True)
class Index:
    """What an index says: its releases, and with which domain (file, "": their own) and how many rows they are read."""

    entries: tuple[RegisterEntry, ...] = ()
    name: str = ""
    domain: str = ""
    rows: int | None = None


def parse_index(text: str, path: str) -> Index:
    """Return the index in a TOML text; `ReleaseError` naming file, place and value for whatever is wrong in it."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ReleaseError(f"is no TOML: {error}", file=path) from None
    try:
        _only(found, ("register", "name", "domain", "rows", "release"), "")
        version = found.get("register")
        if version != FORMAT or isinstance(version, bool):
            raise ReleaseError(f"must be {FORMAT}, the format that this version reads", place="register")
        listed = found.get("release", [])
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise ReleaseError("must be a list of [[release]] blocks", place="release")
        rows = found.get("rows")
        if rows is not None and (not isinstance(rows, int) or isinstance(rows, bool) or rows < 0):
            raise ReleaseError(f"must be a whole number of rows, not {_shown_value(rows)}", place="rows")
        entries = tuple(_entry_of(one, f"release {i + 1}") for i, one in enumerate(listed))
        _refuse_twins(entries)
        related_data_sets(entries)
        domain = _text_of(found, "domain", "")
        return Index(entries, _text_of(found, "name", ""), domain and _inner_path(domain, "domain"), rows)
    except ReleaseError as error:
        raise error.at(file=path) from None


def _entry_of(found: Mapping[str, Any], place: str) -> RegisterEntry:
    """Return one [[release]] block; `ReleaseError` with its place for what is wrong."""
    _only(found, ENTRY, place)
    for key in ("file", "sha256", "date", "decision"):
        if key not in found:
            raise ReleaseError(f"'{key}' is missing", place=place)
    hashes = {key: _text_of(found, key, place) for key in ("sha256", "policy_sha256")}
    for key, digest in hashes.items():
        if (digest or key == "sha256") and not SHA256.fullmatch(digest):
            raise ReleaseError(
                f"must be 64 digits of hexadecimal in lower case, not {quote(digest)}", place=f"{place}, {key}"
            )
    return RegisterEntry(
        _inner_path(_text_of(found, "file", place), f"{place}, file"),
        hashes["sha256"],
        date_of(found["date"], f"{place}, date"),
        decision_of(_text_of(found, "decision", place), f"{place}, decision"),
        _text_of(found, "policy", place),
        hashes["policy_sha256"],
        _text_of(found, "note", place),
        **_relation_of(found, place),
        totals=_text_of(found, "totals", place),
    )


def _relation_of(found: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return which data set an entry is about, and how that is made from another one."""
    numbers = {key: _row_count(found[key], f"{place}, {key}") for key in ("removed", "added") if key in found}
    texts = {"dataset": _text_of(found, "dataset", place), "origin": _text_of(found, "from", place)}
    if (numbers or texts["origin"]) and not texts["dataset"]:
        given = ", ".join(key for key in ("from", "removed", "added") if key in found)
        raise ReleaseError(f"{given} of which data set? give 'dataset'", place=place)
    if numbers and not texts["origin"]:
        raise ReleaseError("'removed' and 'added' are numbers since which data set? give 'from'", place=place)
    return {**texts, **numbers}


def _row_count(value: Any, place: str) -> RowCount:
    """Return a number of rows, or an interval of them; `ReleaseError` for what is neither."""
    ends = value if isinstance(value, dict) else {"at_least": value, "at_most": value}
    low, high = ends.get("at_least", 0), ends.get("at_most")
    whole = all(isinstance(end, int) and not isinstance(end, bool) and end >= 0 for end in ends.values())
    if not ends or not whole or set(ends) - {"at_least", "at_most"} or (high is not None and low > high):
        what = "a whole number of rows or {at_least = 0, at_most = 20}"
        raise ReleaseError(f"must be {what}, not {_shown_value(value)}", place=place)
    return RowCount(low, high)


def _only(found: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    """Refuse keys that mean nothing."""
    for key in found:
        if key not in known:
            raise ReleaseError(f"'{quote(key)}' is not understood; there are {', '.join(known)}", place=place)


def _text_of(found: Mapping[str, Any], key: str, place: str) -> str:
    """Return the text of a key, "" where it is left out."""
    value = found.get(key, "")
    if not isinstance(value, str):
        raise ReleaseError(
            f"must be a text in quotes, not {_shown_value(value)}", place=", ".join(filter(None, (place, key)))
        )
    return value


def _shown_value(value: Any) -> str:
    """Return a value as a sentence can hold it."""
    return quote(repr(value), 60)


def _inner_path(path: str, place: str) -> str:
    """Return a path that stays inside the folder; `ReleaseError` for any other."""
    parts = path.split("/")
    if "\\" in path or "\0" in path or ":" in parts[0] or any(p in ("", ".", "..") for p in parts):
        raise ReleaseError(
            f"must be a path inside the register's folder, such as tree.json, not {quote(path)}", place=place
        )
    return path


def date_of(value: Any, place: str = "") -> str:
    """Return a date as YYYY-MM-DD; `ReleaseError` for what is none."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value.isoformat()
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        try:
            return datetime.date.fromisoformat(value).isoformat()
        except ValueError:
            pass
    raise ReleaseError(f"must be a date such as 2026-03-02, not {_shown_value(value)}", place=place)


def decision_of(text: str, place: str = "") -> str:
    """Return a decision; `ReleaseError` for what is none."""
    if text not in DECISIONS:
        raise ReleaseError(f"must be one of {', '.join(DECISIONS)}, not {quote(text)}", place=place)
    return text


def _refuse_twins(entries: tuple[RegisterEntry, ...]) -> None:
    """Refuse one file or one content that is listed twice."""
    files, hashes = dict[str, int](), dict[str, int]()
    for i, one in enumerate(entries, 1):
        for seen, key, what in ((files, one.file, "file"), (hashes, one.sha256, "content")):
            if key in seen:
                raise ReleaseError(f"has the same {what} as release {seen[key]}", place=f"release {i}")
            seen[key] = i


def related_data_sets(entries: Sequence[RegisterEntry]) -> RelatedDataSets | None:
    """Return the data sets that entries say they are about, None where none says it; `ReleaseError` where they differ.

    Entries without `dataset` are about one data set of their own, called by the first one's file.
    """
    if not any(one.dataset for one in entries):
        return None
    found = dict[str, tuple[DataSet, int]]()
    for i, one in enumerate(entries, 1):
        name = one.dataset or unnamed_data_set(entries)
        said, plain = one.data_set(name), DataSet(name)
        known, at = found.setdefault(name, (said, i))
        if known == plain:
            found[name] = said, i
        elif said not in (known, plain):
            raise ReleaseError(
                f"says of the data set '{quote(name)}' otherwise than release {at}", place=f"release {i}"
            )
    return RelatedDataSets(tuple(one for one, _ in found.values()), stated=True)


def unnamed_data_set(entries: Sequence[RegisterEntry]) -> str:
    """Return what the data set of entries that name none is called."""
    first = next((one.file for one in entries if not one.dataset), "")
    return first.rpartition("/")[2].partition(".")[0] or first


def appended(text: str, entry: RegisterEntry) -> str:
    """Return the text of an index with one more release at its end."""
    lines = [
        "[[release]]",
        f"file = {_quoted(entry.file)}",
        f"sha256 = {_quoted(entry.sha256)}",
        f"date = {entry.date}",
        f"decision = {_quoted(entry.decision)}",
    ]
    texts = {key: getattr(entry, key) for key in ("policy", "policy_sha256", "note", "dataset", "totals")} | {
        "from": entry.origin
    }
    lines += [f"{key} = {_quoted(text)}" for key, text in texts.items() if text]
    numbers = (("removed", entry.removed), ("added", entry.added))
    lines += [f"{key} = {_rows_toml(rows)}" for key, rows in numbers if rows is not None]
    return "\n".join((text.rstrip("\n"), "", *lines, ""))


def _rows_toml(rows: RowCount) -> str:
    """Return a number of rows, or an interval, as TOML."""
    if rows.exact:
        return str(rows.low)
    most = "" if rows.high is None else f", at_most = {rows.high}"
    return f"{{at_least = {rows.low}{most}}}"


def with_domain(text: str, domain: str) -> str:
    """Return the text of an index with the domain set; it stands before the first block, as TOML asks."""
    at = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    head, rest = (text, "") if at is None else (text[: at.start()], text[at.start() :])
    blank = "\n" if rest else ""
    return f"{head.rstrip(chr(10))}\ndomain = {_quoted(domain)}\n{blank}{rest}"


def _quoted(text: str) -> str:
    """Return a text as a TOML string in which nothing hidden stands as it is; it reads back the same."""
    plain = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + HIDDEN.sub(lambda found: _unicode_escape(ord(found[0])), plain) + '"'


def _unicode_escape(code: int) -> str:
    """Return a character as TOML's escape of its code."""
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
