"""A project's register: a folder with the earlier releases about the same rows, and an index of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from recon.io.console.guarding import suggestion
from recon.io.files.named_files import lies_inside
from recon.io.files.opening import read_bytes
from recon.io.files.sheets import is_table
from recon.io.files.writing import LOCK, locked, writing
from recon.readers.formats.tables.hierarchies import read_text_file
from recon.readers.formats.tables.magnitudes import earlier_totals
from recon.readers.loading.loading import load, read_domain
from recon.release.registers.index import (
    HEAD,
    INDEX,
    Index,
    RegisterEntry,
    appended,
    date_of,
    decision_of,
    parse_index,
    with_domain,
)
from solvers.foundation.displayed import quote
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.release import RowCount

AS_REGISTERED, CHANGED, MISSING = "as registered", "changed", "missing"


@dataclass(frozen=True)
class Register:
    """The releases of one project, all about the same rows: `folder`, the entries of its index, and what they share.

    `text` is the index as it is written in the folder ("": there is none yet). `limits` bound what reading takes.
    """

    folder: str
    index: Index = field(default_factory=Index)
    text: str = ""

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Register:
        """Return the register in a folder; hashes are not looked at yet (`states`).

        Raises `ReleaseError` where the folder has no index: what lies in it is never guessed to be a release.
        """
        where = os.fspath(folder)
        path = os.path.join(where, INDEX)
        if not os.path.lexists(path):
            start = f"{suggestion('register', [where])} --add FILE --decision release"
            raise ReleaseError(f"{_absence(where)}; start one: {start}", file=where)
        text = _index_text(read_bytes(path)[0], path)
        return cls(where, parse_index(text, path), text)

    @classmethod
    def opened(cls, folder: str | os.PathLike[str]) -> Register:
        """Return the register in a folder, an empty one where there is no index yet; nothing is written."""
        where = os.fspath(folder)
        if os.path.lexists(os.path.join(where, INDEX)):
            return cls.read(where)
        if os.path.lexists(where) and not os.path.isdir(where):
            raise ReleaseError("is a file; a register is a folder", file=where)
        return cls(where)

    @property
    def entries(self) -> tuple[RegisterEntry, ...]:
        """Return all entries, in the order in which they were registered."""
        return self.index.entries

    @property
    def released(self) -> tuple[RegisterEntry, ...]:
        """Return the entries about rows that an adversary knows; what was not released is none of them."""
        return tuple(one for one in self.entries if one.known and not one.totals)

    @property
    def totals(self) -> tuple[RegisterEntry, ...]:
        """Return the tables of totals that an adversary knows."""
        return tuple(one for one in self.entries if one.known and one.totals)

    @property
    def domain(self) -> str | None:
        """Return the path of the domain that all of them are read with; None: each has its own."""
        return self.inner(self.index.domain, f"{INDEX}: domain") if self.index.domain else None

    def path(self, entry: RegisterEntry) -> str:
        """Return the path of an entry's file; `ReleaseError` where a link leads out of the folder."""
        return self.inner(entry.file, f"{INDEX}: file")

    def inner(self, file: str, place: str) -> str:
        """Return the path of a file of the folder; `ReleaseError` where a link leads out of it."""
        path = os.path.join(self.folder, *file.split("/"))
        if not lies_inside(os.path.realpath(path), os.path.realpath(self.folder)):
            raise ReleaseError(f"{quote(file)} is a link that leads out of the folder", place=place, file=self.folder)
        return path

    def state(self, entry: RegisterEntry) -> str:
        """Return whether an entry's file is as registered, changed or missing. Cost: that of reading it."""
        path = self.path(entry)
        if not os.path.lexists(path):
            return MISSING
        return AS_REGISTERED if read_bytes(path)[1] == entry.sha256 else CHANGED

    def states(self, limits: Limits | None = None) -> list[str]:
        """Return the state of every entry; see `state`."""
        found = []
        for one in self.entries:
            if limits is not None:
                limits.check(f"the files of {self.folder} were compared with their hashes")
            found.append(self.state(one))
        return found

    def check(self, entries: tuple[RegisterEntry, ...] | None = None) -> None:
        """Refuse with `ReleaseError` where a file of the entries (None: of all) is missing or changed, naming each."""
        wrong = [(one, self.state(one)) for one in (self.entries if entries is None else entries)]
        said = [f"{quote(one.file)} is {_entry_problem(one, state)}" for one, state in wrong if state != AS_REGISTERED]
        if said:
            advice = "put the file back as it was released, or register what was released under another name"
            raise ReleaseError(f"{'; '.join(said)}; {advice}", file=self.folder)

    def unregistered(self) -> list[str]:
        """Return the files of the folder that no entry names, hidden ones left out, in the order of their names."""
        listed = {INDEX, INDEX + LOCK, self.index.domain, *(one.file for one in self.entries)}
        found = []
        for folder, _, files in os.walk(self.folder):
            inner = os.path.relpath(folder, self.folder).replace(os.sep, "/")
            found += [name if inner == "." else f"{inner}/{name}" for name in files if not name.startswith(".")]
        return sorted(set(found) - listed)

    def add(
        self,
        file: str | os.PathLike[str],
        decision: str,
        *,
        date: str,
        note: str = "",
        policy: str | None = None,
        domain: str | None = None,
        dataset: str = "",
        origin: str = "",
        removed: RowCount | None = None,
        added: RowCount | None = None,
        totals: str = "",
    ) -> Register:
        """Return the register with one more release, written: the file copied into the folder, the index appended to.

        `date` (YYYY-MM-DD) is the day of the decision, `policy` the path of the policy that it rests on (its name and
        hash are kept), `domain` a file whose domain all releases are read with (copied; only where the register has
        none), `dataset` what it is about, `removed` and `added` how that differs from the data set `origin` (see
        `RegisterEntry`), `totals` the column that a table of totals adds up. A file that lies in the folder already
        stays where it is. Raises `ReleaseError` for a content that is registered already, naming the entry; for a name
        that another content has; and for a file that is to count as known and that recon does not read.
        """
        path = os.fspath(file)
        data, sha256 = read_bytes(path)
        entry = RegisterEntry(
            self.place_of(path), sha256, date_of(date, "date"), decision_of(decision, "decision"), note=note,
            dataset=dataset, origin=origin, removed=removed, added=added, totals=totals,
        )  # fmt: skip
        if policy is not None:
            entry = replace(entry, policy=os.path.basename(policy), policy_sha256=read_bytes(policy)[1])
        before = Register.opened(self.folder)  # as it is now: another process may have added to it
        before.refuse_known(entry, path)
        copies = {entry.file: (path, data)}
        shared = None if domain is None else before.domain_to_add(domain)
        if shared is not None:
            copies[shared[0]] = str(domain), shared[1]
        for inner, (_, content) in copies.items():
            before.refuse_other(inner, content)
        before.refuse_unreadable(entry, path, domain)
        with before.by_itself():
            now = Register.opened(self.folder)
            if now.index.domain != before.index.domain:
                raise ReleaseError("got another domain meanwhile: run it again", file=self.folder)
            now.refuse_known(entry, path)
            text = now.text or HEAD
            return now.written(appended(with_domain(text, shared[0]) if shared else text, entry), copies)

    def refuse_known(self, entry: RegisterEntry, path: str) -> None:
        """Refuse a content that is registered already."""
        for i, one in enumerate(self.entries, 1):
            if one.sha256 == entry.sha256:
                known = f"release {i}, {quote(one.file)}, {one.date}, decision: {one.decision}"
                again = f"to change the decision, edit {INDEX}"
                raise ReleaseError(f"is in the register already: {known}; {again}", file=path)

    def refuse_unreadable(self, entry: RegisterEntry, path: str, domain: str | None) -> None:
        """Refuse a release that counts as known and is not read with the register's domain, or one that is added.

        What was registered before is read with a domain that is added, too.
        """
        if entry.known and entry.totals:
            earlier_totals(read_text_file(path), entry.totals, path)
        elif entry.known:
            _readable(path, domain or self.domain)
        if domain is not None:
            for one in self.released:
                _readable(self.path(one), domain)

    @contextlib.contextmanager
    def by_itself(self) -> Iterator[None]:
        """Let the block be the only one that writes into the folder, which is made; `ReleaseError` after 10 s."""
        new = not os.path.lexists(self.folder)
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise ReleaseError(f"cannot be made: {error.strerror or error}", file=self.folder) from None
        try:
            with locked(os.path.join(self.folder, INDEX)):
                yield
        except BaseException:
            if new:
                with contextlib.suppress(OSError):  # not empty: another process is at work in it
                    os.rmdir(self.folder)
            raise

    def written(self, text: str, copies: Mapping[str, tuple[str, bytes]]) -> Register:
        """Return the register after its copies and then its index were written: it never names what is not there.

        `copies`: the content by name, with the path that it is from, whose permissions it keeps.
        """
        path = os.path.join(self.folder, INDEX)
        index = parse_index(text, path)  # before anything is written
        with contextlib.ExitStack() as made:  # copies that are taken away where the index does not come to name them
            for inner, (source, data) in copies.items():
                self.refuse_other(inner, data)
                target = os.path.join(self.folder, *inner.split("/"))
                if not os.path.lexists(target):
                    with writing(target, binary=True, like=source) as out:
                        out.write(data)
                    made.callback(Path(target).unlink, missing_ok=True)
            if Register.opened(self.folder).text != self.text:  # by hand: an editor asks for no lock
                raise ReleaseError("was edited while a release was added: run it again", file=path)
            with writing(path) as out:
                out.write(text)
            made.pop_all()
        return Register(self.folder, index, text)

    def place_of(self, path: str) -> str:
        """Return where a file stands in the folder, or would be copied to."""
        real, root = os.path.realpath(path), os.path.realpath(self.folder)
        if path != "-" and lies_inside(real, root) and os.path.isdir(root):
            name = os.path.relpath(real, root).replace(os.sep, "/")
        else:
            name = "" if path == "-" else os.path.basename(path)
        if not name:
            raise ReleaseError("standard input has no name to register: save it as a file first")
        if name.startswith(".") or name == INDEX:
            raise ReleaseError("hidden files and the index itself are no releases: give it another name", file=path)
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise ReleaseError("its name is not in UTF-8: rename it first", file=quote(path)) from None
        return name

    def refuse_other(self, inner: str, data: bytes) -> None:
        """Refuse a name that another content has in the folder."""
        target = self.inner(inner, "file")
        if os.path.lexists(target) and read_bytes(target)[0] != data:
            stem, suffix = os.path.splitext(inner)
            raise ReleaseError(
                f"another file is called {quote(inner)} in the register and is never written over: "
                f"give this one another name, such as {quote(stem)}-2{suffix}",
                file=self.folder,
            )

    def domain_to_add(self, domain: str) -> tuple[str, bytes]:
        """Return name and content of a domain file for the folder; `ReleaseError` for what is none, or comes second."""
        if self.index.domain:
            message = f"the register is read with {quote(self.index.domain)} already: edit {INDEX} to change that"
            raise ReleaseError(message, file=self.folder)
        if is_table(domain):
            raise ReleaseError(
                "is a table of rows, which are never copied into a register: "
                f"{suggestion('domain', [domain], {'--out': 'domain.json'})}, and give that",
                file=domain,
            )
        read_domain(domain)
        return os.path.basename(domain), read_bytes(domain)[0]

    def to_json(self, states: list[str]) -> dict[str, Any]:
        """Return the register as JSON: what it shares, its entries with their states, files that nobody registered."""
        entries = [
            {
                **one.to_json(),
                "known": one.known,
                "policy": one.policy or None,
                "policy_sha256": one.policy_sha256 or None,
                "note": one.note,
                "state": state,
            }
            for one, state in zip(self.entries, states, strict=True)
        ]
        shared: Mapping[str, Any] = {"name": self.index.name or None, "domain": self.index.domain or None}
        return {"register": self.folder, **shared, "rows": self.index.rows, "entries": entries,
                "unregistered": self.unregistered()}  # fmt: skip


def _absence(folder: str) -> str:
    """Return in words that a folder has no index, and what is in it instead."""
    if not folder:
        return "an empty text was given as the name of a register: a register is a folder, give its name"
    if not os.path.lexists(folder):
        return "there is no such register"
    if not os.path.isdir(folder):
        return "is a file; a register is a folder"
    files = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    if not files:
        return f"the folder is empty, it has no {INDEX}"
    listed = ", ".join(quote(name, 60) for name in files[:3]) + (", ..." if len(files) > 3 else "")
    return f"the folder has no {INDEX}: which of its files ({listed}) were released, and when, is not guessed"


def _entry_problem(entry: RegisterEntry, state: str) -> str:
    """Return what is wrong with an entry's file."""
    return MISSING if state == MISSING else f"not the file that was registered on {entry.date} (its SHA-256 changed)"


def _index_text(data: bytes, path: str) -> str:
    """Return the text of an index; `ReleaseError` where it is not in UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise ReleaseError("is not in UTF-8", file=path) from None


def _readable(path: str, domain: str | None) -> None:
    """Refuse a released file that recon does not read, with this domain if there is one: nothing could be joined."""
    try:
        load(path, domain=domain)
    except ContradictionError:  # it was released all the same
        return
    except (ReleaseError, Unsupported) as error:
        advice = "write what it publishes as a release file (recon schema) and register that"
        if domain is not None:
            advice = f"its domain is that of {quote(domain)}; {advice}"
        raise ReleaseError(f"{error}; a release that counts as known must be one that recon reads: {advice}") from None
