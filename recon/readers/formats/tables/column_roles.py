"""Columns of a table that are about its lines, not about people: units, measures, times, codes that repeat a label."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from recon.io.files.opening import TableOptions
from recon.io.files.sheets import Sheet
from recon.readers.formats.tables.bodies import YEAR, TableBody
from recon.readers.formats.tables.dialects import Dialects, comparable
from solvers.foundation.errors import ReleaseError

FIGURES, TEXTS, NOBODY = "figures beside counts", "notes on the lines", "no counts of people"
POWERS = {"scalar_factor", "unit_mult"}  # columns of powers of ten, or of their names
UNREAD = (FIGURES, TEXTS, NOBODY, "no counts")  # what is set apart and says more than the counts


@dataclass
class ColumnRoles:
    """Columns that may be attributes: their names, the cells of every line, which are left, which lines are.

    What is found not to be an attribute leaves `left` and stands in `apart` with the reason.
    """

    sheet: Sheet
    body: TableBody
    names: list[str]
    cells: list[list[str]]
    left: list[int]
    known: Dialects
    apart: dict[str, str]
    kept: set[int] = field(init=False)

    def __post_init__(self) -> None:
        """Keep all lines until a unit says that some count no people."""
        self.kept = set(range(len(self.cells)))

    def values(self, k: int) -> list[str]:
        """Return the different cells of a column, as they occur."""
        return list(dict.fromkeys(line[k] for line in self.cells))

    def told_apart(self, k: int) -> bool:
        """Return whether the columns tell all lines apart without column k: an attribute of people does not."""
        return len({tuple(line[j] for j in self.left if j != k) for line in self.cells}) == len(self.cells)

    def set_apart(self, k: int, why: str) -> None:
        """Take a column out of those that are left, and say why."""
        self.apart[self.names[k]] = why
        self.left.remove(k)

    def take_named(self) -> None:
        """Call a column of values what another says in every line (GENESIS: "1_variable_label")."""
        for one in self.known.words["named"]:
            for k in list(self.left):
                found = re.fullmatch(one["column"], comparable(self.names[k]))
                if found is None:
                    continue
                wanted = {form.format(*found.groups()) for form in one["by"]}
                for j in [j for j in self.left if comparable(self.names[j]) in wanted]:
                    (name, *more) = self.values(j)
                    if name and not more and name not in self.names:
                        self.set_apart(j, f"it says what '{self.names[k]}' is of")
                        self.names[k] = name

    def take_units(self) -> None:
        """Keep the lines whose unit is persons; units are set apart, with what they say of other lines."""
        known = self.known
        for k in [k for k in self.left if known.like("apart", "unit", self.names[k])]:
            values = set(map(comparable, self.values(k)))
            scalar = comparable(self.names[k]) in POWERS
            numbers = known.words["apart"]["numbers"]
            counted = {v for v in values if v in numbers or known.counts(v) or known.scale(v) > 1}
            if not scalar and not counted:
                if not values & {"pc", "percent", "%", "rate", *known.words["apart"]["money"]}:
                    continue  # an attribute that is called so
                raise ReleaseError(
                    f"'{self.names[k]}' is {sorted(values)[0]!r} in every line: no line counts people",
                    place=self.sheet.place(self.body.rows[0].number, k),
                )
            if not scalar and values - counted and counted:
                self.kept -= {i for i, line in enumerate(self.cells) if comparable(line[k]) not in counted}
                lines = f"lines whose '{self.names[k]}' is {', '.join(sorted(values - counted)[:5])}"
                self.apart[lines] = NOBODY
            self.set_apart(k, "the unit of the lines")
        for k in [k for k in self.left if known.like("apart", "measure", self.names[k]) and len(self.left) > 1]:
            measures = set(self.values(k))
            others = {one for one in measures if known.figure(one)}
            if len(measures) == 1:
                self.set_apart(k, f"it is {measures.pop()} in every line")
            elif others and len(measures - others) == 1:
                self.kept -= {i for i, line in enumerate(self.cells) if line[k] in others}
                lines = f"lines whose '{self.names[k]}' is {', '.join(sorted(others)[:5])}"
                self.apart[lines] = NOBODY
                self.set_apart(k, f"it is {(measures - others).pop()} in every line that is left")

    def scale(self) -> int:
        """Return of how many people one is, as columns of units say; `ReleaseError` where lines differ."""
        out = 1
        for k, name in enumerate(self.names):
            if not self.known.like("apart", "unit", name):
                continue
            power = comparable(name) in POWERS
            said = {self.cells[i][k] for i in self.kept}
            each = {10 ** int(v) if power and re.fullmatch(r"\d", v) else self.known.scale(v) for v in said}
            if len(each) > 1:
                raise ReleaseError(
                    f"'{name}' has several scales ({', '.join(sorted(said)[:3])}): keep the lines of one",
                    place=self.sheet.place(self.body.head[-1].number, k),
                )
            out = max(out, *each)
        return out

    def take_times(self) -> None:
        """Set a column of one time apart; `ReleaseError` where it has several: those are other people."""
        for k in list(self.left):
            if not self.known.like("apart", "time", self.names[k]) or len(self.left) == 1:
                continue
            values = self.values(k)
            stamps = all(re.fullmatch(r"\d{4}.*|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*|[AMQ]", v) for v in values if v)
            if len(values) > 1 and stamps:
                raise ReleaseError(
                    f"'{self.names[k]}' has several times ({', '.join(values[:3])}, ...): counts of other times are "
                    f"not of the same people: keep the lines of one ('{values[0]}', for instance)",
                    place=self.sheet.place(self.body.head[-1].number),
                )
            if len(values) == 1:
                self.set_apart(k, f"it is {values[0]} in every line")

    def take_codes(self, options: TableOptions) -> None:
        """Set columns of codes apart that say the same as another column, or nothing.

        A column is one of codes by its name, or where a label of its own stands beside every total of the other's.
        """
        stacked = {self.left[k] for k in self.known.stacked([self.names[k] for k in self.left]) or ()}
        for k in [k for k in self.left if k not in stacked]:
            if len(self.left) < 2:
                return
            named = self.is_code(k)
            for j in [j for j in self.left if j != k and not self.is_code(j)]:
                pairs = {(line[j], line[k]) for line in self.cells}
                same = len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
                if same and (named or _codes_totals(pairs, self.known, options)):
                    self.set_apart(k, f"it says the same as '{self.names[j]}'")
                    break
            else:
                beside = {comparable(name) for name in self.apart}  # the code of a label that is the same in every line
                labelled = re.sub(r"code$", "label", comparable(self.names[k])) in beside - {comparable(self.names[k])}
                of_lines = comparable(self.names[k]) in {"dguid", "vector", "coordinate", "uom_id", "scalar_id"}
                if named and (of_lines or (labelled and len(self.values(k)) == 1)):
                    self.set_apart(k, "codes of the lines")

    def is_code(self, k: int) -> bool:
        """Return whether a column is one of codes by its name."""
        return bool(self.known.like("apart", "codes", self.names[k]))

    def take_notes(self) -> None:
        """Set columns of notes apart that no line needs to be told apart."""
        for k in [k for k in self.left if self.known.like("apart", "notes", self.names[k])]:
            if self.told_apart(k):
                self.set_apart(k, note_of(self.names[k], self.known, TEXTS))

    def take_statuses(self, counts: list[str]) -> None:
        """Set columns apart that say why a count is not shown, and write that into `counts` where a cell is empty.

        By their name; or by what they say: something only where a count is empty.
        """
        some = {i for i, count in enumerate(counts) if not count}
        for k in list(self.left):
            said = {i for i, line in enumerate(self.cells) if line[k]}
            if not self.known.like("apart", "status", self.names[k]) and not (said and said <= some):
                continue
            if len(self.left) < 2 or not self.told_apart(k):
                continue
            for i in some & said:
                code = comparable(self.cells[i][k])
                if not counts[i] and code not in self.known.words["apart"]["shown"]:
                    counts[i] = self.cells[i][k] if code in self.known.marks else "x"
            self.set_apart(k, "it says why a count is not shown")


def of_years(name: str, cells: list[str], known: Dialects) -> bool:
    """Return whether numbers of a column are years, no counts: by its name, or the same one in every line."""
    years = bool(cells) and all(re.fullmatch(YEAR, cell) for cell in cells)
    return years and (bool(known.like("apart", "time", name)) or (len(cells) > 2 and len(set(cells)) == 1))


def _codes_totals(pairs: set[tuple[str, str]], known: Dialects, options: TableOptions) -> bool:
    """Return whether some label is a total, and its code is not: read as a value, it would be of further people."""

    def whole(label: str) -> bool:
        return known.total(label) or label in options.total_labels

    return len(pairs) > 1 and any(whole(label) and not whole(code) for label, code in pairs)


def note_of(name: str, known: Dialects, why: str) -> str:
    """Return why a column is set apart: `why`, but where by its name it only says where its line is from."""
    about = known.like("apart", "notes", name) and not known.like("apart", "texts", name)
    return "it says where the line is from" if about else why
