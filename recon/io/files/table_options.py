"""What a person says of a table that the file does not: which column counts, what hides a cell, how it was rounded."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from solvers.foundation.errors import ReleaseError

SHOWN, ALL = "shown", "all"
_RANGE = re.compile(r"(\d{1,15})(?:(\.\.)(\d{1,15})?)?")


@dataclass(frozen=True, slots=True)
class HiddenRange:
    """Between which counts a hidden cell lies: of one mark, or ("") of all; `high` None: no end."""

    mark: str
    low: int
    high: int | None


@dataclass(frozen=True)
class TableOptions:
    """What is said of a table.

    `count_columns`: the columns of counts. `hidden`: what marks hide. `totals`: "shown" (they add up what is shown),
    "all", or "" (not said). `total_labels`: labels that stand for all values; "none": no others do. `rounding`: to
    multiples of this number (1: not at all; None: not said), `nearest` to the nearest. `sheet`: the sheet's name.
    `hierarchies`: "district=districts.hrc", "district=region" (see `recon.readers.formats.tables.hierarchies`).
    `metadata`: the .rda file of a table file of τ-ARGUS.

    >>> import recon
    >>> said = recon.TableOptions.said(suppressed=["1..4"], rounding=5)
    >>> said.hidden[0].high, said.rounding
    (4, 5)
    """

    count_columns: tuple[str, ...] = ()
    hidden: tuple[HiddenRange, ...] = ()
    totals: str = ""
    total_labels: tuple[str, ...] = ()
    rounding: int | None = None
    nearest: bool = False
    sheet: str | None = None
    hierarchies: tuple[str, ...] = ()
    metadata: str | None = None

    @classmethod
    def said(
        cls,
        count_column: Sequence[str] = (),
        suppressed: Sequence[str] = (),
        totals: str | None = None,
        total_label: Sequence[str] = (),
        rounding: str | int | None = None,
        sheet: str | None = None,
        hierarchy: Sequence[str] = (),
        metadata: str | None = None,
    ) -> TableOptions:
        """Return the options as a person writes them: "1..4", "x=0..", "5", "5:nearest". `ReleaseError` for others."""
        for one in hierarchy:
            if not all(one.partition("=")[::2]):
                raise ReleaseError(f"--hierarchy is COLUMN=FILE, or COLUMN=COLUMN of the table, not {one!r}")
        if totals not in {None, SHOWN, ALL}:
            raise ReleaseError(f"--totals is shown or all, not {totals!r}")
        base, _, how = str(1 if rounding is None else rounding).partition(":")
        if not re.fullmatch(r"[1-9]\d{0,5}", base) or how not in {"", "nearest", "random"}:
            raise ReleaseError(f"--rounding is a whole number such as 5 (or 5:nearest), not {rounding!r}")
        return cls(
            tuple(count_column),
            tuple(map(_hidden_range, suppressed)),
            totals or "",
            tuple(total_label),
            None if rounding is None else int(base),
            how == "nearest",
            sheet,
            tuple(hierarchy),
            metadata,
        )

    def of_some(self) -> dict[str, str]:
        """Return what is said of some tables, not of all: a key for anyone who uses it, and how it was said."""
        marks = {f"mark {one.mark.lower()}": f"--suppressed '{one.mark}=...'" for one in self.hidden if one.mark}
        labels = {f"label {one}": f"--total-label '{one}'" for one in self.total_labels if one != "none"}
        trees = {f"column {one.partition('=')[0]}": f"--hierarchy {one}" for one in self.hierarchies}
        sheet = {} if self.sheet is None else {"sheet": f"--sheet '{self.sheet}'"}
        return marks | labels | trees | sheet | ({} if self.metadata is None else {"metadata": "--metadata"})

    def without_effect(self, heeded: frozenset[str], columns: Sequence[str]) -> str:
        """Return why something that is said of some tables is about none of them, "" where all of it was heeded.

        `heeded`: the keys of `of_some` that a table heeded, `columns`: what the tables' columns are called.
        """
        reasons = {
            "column": f"no table has a column '{{}}': there are {', '.join(map(repr, columns))}",
            "mark": "no cell of a count is '{}'",
            "label": "no attribute has the value '{}'",
            "sheet": "none of the files is a spreadsheet",
            "metadata": "no table file (.tab) of τ-ARGUS was read",
        }
        left = ((*key.partition(" ")[::2], how) for key, how in self.of_some().items() if key not in heeded)
        kind, name, how = next(left, ("", "", ""))
        return f"{how} has no effect: {reasons[kind].replace('{}', name)}" if how else ""

    def range_of(self, mark: str) -> HiddenRange | None:
        """Return what is said of a mark: of itself, else of all."""
        own = [one for one in self.hidden if one.mark and one.mark.lower() == mark.lower()]
        return next(iter([*own, *(one for one in self.hidden if not one.mark)]), None)


def _hidden_range(text: str) -> HiddenRange:
    mark, _, said = text.rpartition("=")
    found = _RANGE.fullmatch(said.strip())
    if found is None or (found[3] is not None and int(found[3]) < int(found[1])):
        raise ReleaseError(f"--suppressed is a range of counts such as 1..4, or of one mark 'x=1..4', not {text!r}")
    low = int(found[1])
    high = low if not found[2] else None if found[3] is None else int(found[3])
    return HiddenRange(mark.strip(), low, high)


_CURRENT: ContextVar[TableOptions] = ContextVar("table_options", default=TableOptions())  # noqa: B039 (frozen)


def table_options() -> TableOptions:
    """Return what is said of the tables that are read now."""
    return _CURRENT.get()


@contextlib.contextmanager
def table_read_as(options: TableOptions | None) -> Iterator[None]:
    """Read the tables of the block as the options say (None: as before)."""
    if options is None:
        yield
        return
    token = _CURRENT.set(options)
    try:
        yield
    finally:
        _CURRENT.reset(token)
