"""Tables as R, pandas and Stata print them: every print of one table is read alike, or refused with what helps."""

from __future__ import annotations

import random
from pathlib import Path

import pandas as pd
import pytest

from recon.readers.formats.detection import read_draft
from recon.readers.formats.printed.console_tables import printed_sheet
from recon.readers.formats.tables.counted import counted_table
from solvers.foundation.errors import ReconError

PRINTS = {
    part.partition("\n")[0]: part.partition("\n")[2]
    for part in Path(__file__).with_name("tables").joinpath("prints.txt").read_text(encoding="utf-8").split("=====")[1:]
}
TITANIC = {
    ("1st", "Male"): (0, 5, 118, 57), ("1st", "Female"): (0, 1, 4, 140), ("2nd", "Male"): (0, 11, 154, 14),
    ("2nd", "Female"): (0, 13, 13, 80), ("3rd", "Male"): (35, 13, 387, 75), ("3rd", "Female"): (17, 14, 89, 76),
    ("Crew", "Male"): (0, 0, 670, 192), ("Crew", "Female"): (0, 0, 3, 20),
}  # fmt: skip
AGES = (("Child", "No"), ("Child", "Yes"), ("Adult", "No"), ("Adult", "Yes"))
PEOPLE = {("North East", "Female"): 12, ("North East", "Male"): 14, ("South", "Female"): 38, ("South", "Male"): 4,
          ("West Midlands", "Female"): 5, ("West Midlands", "Male"): 8}  # fmt: skip
BY_REGION = {("North East", ""): 26, ("South", ""): 42, ("West Midlands", ""): 13}
BY_SEX = {("", "Female"): 55, ("", "Male"): 26, ("", ""): 81}


def reading(text):
    """Return the names of a printed table, and its counts by their labels."""
    assert read_draft(text.encode(), 1 << 30).origin.format == "table of counts"
    found = counted_table(printed_sheet(text))
    return found.names, {line.cells: line.count.low if line.count.exact else None for line in found.lines}


@pytest.mark.parametrize("name", ["R pages", "R flat"])
def test_a_table_of_four_attributes_is_read_alike_however_r_prints_it(name):
    names, counts = reading(PRINTS[name])
    order = [names.index(one) for one in ("Class", "Sex", "Age", "Survived")]
    told = {tuple(cells[k] for k in order): count for cells, count in counts.items()}
    assert told == {(*who, *age): n for who, each in TITANIC.items() for age, n in zip(AGES, each, strict=True)}


@pytest.mark.parametrize(
    ("name", "names", "counts"),
    [
        ("R", ("region", "sex"), PEOPLE | BY_REGION | BY_SEX),
        ("R unnamed", ("row", "column"), PEOPLE),
        ("R matrix", ("row", "sex"), PEOPLE),
        ("R missing", ("region", "sex"), PEOPLE | {("North East", "Male"): None}),
        ("R flat, one of each", ("region", "sex"), PEOPLE),
        ("R written", ("region", "sex"), PEOPLE),
        ("R in the console", ("region", "sex"), PEOPLE),
        ("R wrapped", ("region", "sex"), PEOPLE),
        ("pandas", ("region", "sex"), PEOPLE),
        ("Stata", ("region", "sex"), PEOPLE | BY_REGION | BY_SEX),
        ("R frame", ("region", "sex"), PEOPLE),
        ("R frame without numbers", ("region", "sex"), PEOPLE),
        ("R in one way", ("region",), {k[:1]: n for k, n in BY_REGION.items()}),
        ("Stata in one way", ("region",), {k[:1]: n for k, n in BY_REGION.items()} | {("",): 81}),
        ("knitr", ("region", "sex"), PEOPLE),
    ],
)
def test_every_print_of_a_table_is_read_right(name, names, counts):
    from recon.readers.formats.detection import uncommented

    assert reading(uncommented(PRINTS[name])) == (names, counts)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("SAS", "PROC EXPORT"), ("SAS list", "PROC EXPORT"), ("Stata with shares", "export delimited"),
        ("tibble", "write.csv"), ("pandas, two indices", "to_csv"), ("pandas, lines left out", "to_csv"),
        ("two tables", "one table"), ("R, lines left out", "write.csv"), ("R shares", "shares and means are no counts"),
    ],
)  # fmt: skip
def test_what_is_not_read_is_refused_with_the_step_that_helps(name, step):
    with pytest.raises(ReconError) as error:
        read_draft(PRINTS[name].encode(), 1 << 30)
    assert step in str(error.value)


def as_r_prints(names, rows, columns, counts):
    """Return a table in two ways as R's `print` writes it."""
    stub = max(len(names[0]), *(len(row) + 2 for row in rows))
    widths = [max(len(column), *(len(str(line[k])) for line in counts)) for k, column in enumerate(columns)]
    lines = [
        " " * stub + " " + names[1],
        names[0].ljust(stub) + "".join(f" {c:>{w}}" for c, w in zip(columns, widths, strict=True)),
    ]
    for row, line in zip(rows, counts, strict=True):
        lines.append(f"  {row}".ljust(stub) + "".join(f" {n:>{w}}" for n, w in zip(line, widths, strict=True)))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("program", ["R", "pandas"])
def test_random_tables_are_read_as_they_were_printed(program):
    rng, words = (
        random.Random(7),
        ["a", "bb", "North", "East", "x y", "of", "65+", "under 5", "Ü", "no", "1 to 4", "12"],
    )
    for _ in range(150):
        names = rng.sample(["region", "sex of child", "age", "b"], 2)
        rows, columns = (
            sorted({" ".join(rng.sample(words, rng.randint(1, 3))) for _ in range(rng.randint(2, 5))}) for _ in "ab"
        )
        counts = [[rng.choice([0, 7, 12, 345, 6789]) for _ in columns] for _ in rows]
        if program == "R":
            text = as_r_prints(names, rows, columns, counts)
        else:
            text = (
                pd.DataFrame(counts, pd.Index(rows, name=names[0]), pd.Index(columns, name=names[1])).to_string() + "\n"
            )
        right = {(r, c): n for r, line in zip(rows, counts, strict=True) for c, n in zip(columns, line, strict=True)}
        try:
            sheet = printed_sheet(text)
        except ReconError:
            assert len(columns) < 2 or " " in names[0] or program == "pandas", text  # never guessed
            continue
        assert sheet.rows[0].cells == (*names, "count"), text
        assert {row.cells[:2]: int(row.cells[2]) for row in sheet.rows[1:]} == right, text


@pytest.mark.parametrize(
    "text",
    [
        ", , a = x\n\nprose\n", "       sex\nregion f m\n",
        "     sex\nreg  f m\n  A  1 q\n", "     sex\nreg  f f\n  A  1 2\n",
        "sex  f  m\nreg\n  A  1  2\nB    3  4\n", "      s f m\nr     \na     1 q\n", "      s\nr     \na     1 2\n",
        "a   n\n\nx   3\ny   4\n", "a   b\nx   q\ny   r\n", "     n\n-----+--\n   x | 3\n",
    ],
)  # fmt: skip
def test_what_is_no_table_in_columns_is_never_guessed(text):
    with pytest.raises(ReconError):
        counted_table(printed_sheet(text))


@pytest.mark.parametrize(
    "text",
    [
        "     sex\nreg  f m\n  A  1 q\n  B  3 4\n",  # a cell that is no count
        "     sex\nreg  f f\n  A  1 2\n  B  3 4\n",  # two columns of one name
        "     b\na    x y\n     b\na    x y\n",  # heads, and no line below them
        "sex  f  m\nreg\n A   1  2\n B   3  4\n",  # labels that stand further in than their heading
        "             Female Male\nregion\nSouth            38    4\nWest              5    8\n",  # whose labels?
        "         sex Female Male\nregion\nSouth            38    4\n\nWest              5    8\n",  # no counts
        "reg  f m\n  A  1 2\n",  # one line
        " name  city\n  Ann  Rome\n  Bob  Oslo\n",  # nothing is counted
        "------+------\n North |   26\n South |   42\n",  # Stata's, without its head
    ],
)
def test_columns_that_cannot_be_told_are_said_to_be_none(text):
    with pytest.raises(ReconError, match="its columns cannot be told"):
        printed_sheet(text)
