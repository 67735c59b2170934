"""How every command opens its files and ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from recon.io.console.guarding import command_line, options_of
from recon.io.console.options import (
    AdversaryFile,
    CommonOptions,
    Confidence,
    ConventionName,
    DomainFile,
    Files,
    Independent,
    KnownColumns,
    KnownRows,
    LabelName,
    LearnerRule,
    RowsOf,
    Seed,
)
from recon.io.console.output import ended_at_once, of_status

if TYPE_CHECKING:
    from encoders.domain.domain import Domain
    from encoders.encode.encoder import EncodedRelease
    from encoders.models.related import RelatedDataSets
    from solvers.foundation.limits import Limits

SHOWN = 4  # columns of a table that a refusal names


def open_files(
    files: list[str],
    domain: str | None,
    independent: bool,
    memory: int,
    confidence: float = 0.95,
    rows: int | None = None,
    label: str | None = None,
    known: str | None = None,
    limits: Limits | None = None,
    from_forest: bool = False,
    related: RelatedDataSets | None = None,
) -> EncodedRelease:
    """Return the release of the files: its domain replaced, its columns made independent, its rows known, if asked.

    `label`: the label's column in a domain that is read off data, where the data have it. `known`: a table of the
    features of everybody. `limits`: on how many processes several files are read. `from_forest`: the file is the text
    of one tree of a bootstrap forest. `related`: the data sets that the files are of, in their order.
    """
    from encoders.encode.encoder import reassembled
    from recon.io.files.opening import table_options
    from recon.readers.loading.loading import load, of_one_data_set, read_domain
    from solvers.foundation.errors import ReleaseError
    from solvers.statements.release import RowCount

    declared = None if domain is None else read_domain(domain, label, lenient=True)
    beside = known if not independent and rows is None else None
    release = load(*files, domain=declared, confidence=confidence, memory=memory, limits=limits, known_columns=beside,
                   label=label, from_forest=from_forest, rows=rows, related=related, table=table_options())  # fmt: skip
    _check_label(label, release.domain, declared)
    gc.freeze()  # it stays until the program ends: the collector need not walk its millions of objects again and again
    if not independent and rows is None:
        return release
    release = of_one_data_set(release)
    found = release.domain.as_columns() if independent else release.domain
    declared_rows = release.declared if rows is None else RowCount(rows, rows)
    try:
        again = reassembled(release, domain=found, declared=declared_rows)
    except ReleaseError as error:
        raise error.at(file=release.file) from None
    if known is None:
        return again
    from recon.readers.loading.known_positions import with_known_columns

    return with_known_columns(again, known, label)


TABLES = ("--domain", "--known", "--known-columns", "--profiles", "--data", "--truth", "--population")


def declared_domain(path: str | None, label: str | None, limits: Limits | None = None) -> Domain | None:
    """Return the domain of `--domain`, None without one; a label that no table of the command has is refused."""
    from recon.readers.loading.loading import read_domain

    if path is None:
        return None
    found = read_domain(path, label, lenient=True, limits=limits)
    _check_label(label, found)
    return found


def _check_label(label: str | None, *domains: Domain | None) -> None:
    """Refuse, as wrong usage, a label that no table of the command has: it would be ignored."""
    if label is None or label in [one.label.name for one in domains if one is not None and one.label is not None]:
        return
    from recon.io.files.sheets import is_table
    from recon.readers.frames.selections import read_table

    typed = command_line() or ""
    given = options_of(typed)
    tables = [path for path in map(given.get, TABLES) if isinstance(path, str) and is_table(path)]
    if not tables or "--adversary" in given or "--sensitive" in typed:
        return
    columns = [[str(name) for name in read_table(path).columns] for path in tables]
    if not any(label in names for names in columns):
        others = "" if len(tables) == 1 else f", nor has another of the {len(tables)} tables"
        more = "its columns are" if len(columns[0]) <= SHOWN else f"the last of its {len(columns[0])} columns are"
        listed = ", ".join(map(repr, columns[0][-SHOWN:]))
        said = f"{tables[0]} has no column '{label}'{others}: {more} {listed}"
        raise typer.BadParameter(said, param_hint="'--label'")


def open_release(
    files: list[str], domain: str | None, independent: bool, limits: Limits, confidence: float = 0.95,
    rows: int | None = None, label: str | None = None, settle: bool = True, known: str | None = None,
    related: RelatedDataSets | None = None, several: bool = False, whole: bool = False,
) -> EncodedRelease:  # fmt: skip
    """Return the release of the files, as the options say; progress says which is being read.

    `settle`: with what leaf values of boosted models prove, worked out first. `known`: a table of everybody's features.
    `related`: the data sets that the files are of. `several`: whether the command knows models of several data sets,
    `whole`: of parts of one.
    """
    from recon.readers.loading.loading import of_one_data_set

    limits.report(f"reading {files[0]}")
    with ended_at_once():
        release = open_files(
            files, domain, independent, limits.memory, confidence, rows, label, known, limits, related=related
        )
    release = release if several else of_one_data_set(release, whole)
    if not settle or not release.statements.boosted:
        return release
    from recon.readers.loading.settled import strengthened_release

    limits.report("leaf values are used")
    return strengthened_release(release, limits)


def finish(status: str) -> None:
    """End with the exit code of a status."""
    raise typer.Exit(of_status(status))


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions(CommonOptions):
    """The options of every command that asks about a release, each with its default: the files, and how to read them.

    A command has those in `recon.io.console.options.COMMON` and those that it names (`with_options`).
    """

    files: Files
    domain: DomainFile = None
    independent: Independent = False
    rows: KnownRows = None
    known: KnownColumns = None
    adversary: AdversaryFile = None
    label: LabelName = None
    of_rows: RowsOf = None
    convention: ConventionName = None
    seed: Seed = 0
    learner: LearnerRule = "none"
    confidence: Confidence = 0.95

    def release(self, limits: Limits, **more: Any) -> EncodedRelease:
        """Return the release of the files; `more`: of `open_release`, in place of what the options say too."""
        asked = {"confidence": self.confidence, "rows": self.rows, "label": self.label, "known": self.known} | more
        return open_release(self.files, self.domain, self.independent, limits, **asked)

    @contextmanager
    def opened(self, **more: Any) -> Iterator[tuple[EncodedRelease, Limits]]:
        """Yield the release and the limits, see `release` and `working`."""
        with self.working() as limits:
            yield self.release(limits, **more), limits

    @contextmanager
    def opened_beside(self, **more: Any) -> Iterator[tuple[EncodedRelease, Limits]]:
        """Yield the same, the release beside what the adversary knows where one is given."""
        with self.opened(**more) as (release, limits):
            beside = self.beside(release, limits)
            yield release if beside is None else beside, limits

    def beside(self, release: EncodedRelease, limits: Limits) -> EncodedRelease | None:
        """Return the release beside what the adversary of `--adversary` knows, None without one."""
        if self.adversary is None:
            return None
        from recon.readers.loading.adversary import Adversary

        return Adversary.read(self.adversary).beside(release, self.label, limits)


def registered_domain(register: str | None) -> str | None:
    """Return the file of the domain that a register reads its releases with, None where it names none."""
    from recon.release.registers.register import Register as Registered

    return None if register is None else Registered.read(register).domain
