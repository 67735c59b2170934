"""Guards of readers of tables: each table here is read wrongly, or not refused, if its guard is left out."""

from __future__ import annotations

from fractions import Fraction as F

import pytest

from recon.io.files.opening import TableOptions, table_read_as
from recon.io.files.sheets import Sheet, text_sheet
from recon.readers.formats.tables import hierarchies, magnitudes
from recon.readers.formats.tables.counted import counted_table
from recon.readers.formats.tables.hierarchies import CategoryTree
from recon.readers.formats.tables.magnitudes import (
    RespondentColumns,
    earlier_totals,
    lines_of_earlier,
    table_of_argus,
    table_of_rows,
)
from recon.readers.formats.tables.status_tables import (
    SdcProblem,
    WrittenVariable,
    metadata_of,
    sdc_files,
    table_files,
)
from solvers.foundation.errors import ReconError

REFUSED = {
    "beyond 2^53": ("region,n\nA,99999999999999999\n", {}, "more than 2^53"),
    "a range beyond 2^53": ("region,n\nA,<99999999999999999\n", {}, "more than 2^53"),
    "a range that ends beyond 2^53": ("region,n\nA,3-99999999999999999\n", {}, "more than 2^53"),
    "rounded to nothing said": ("Counts are rounded\nregion,n\nA,7\nB,12\n", {}, "give --rounding N"),
    "adjusted, and no multiples": (
        "Counts were randomly adjusted to base 5\nregion,n\nA,7\nB,12\n", {}, "give --rounding N",
    ),
    "a sum of all others twice": ("sex,region,n\nf,A,1\nf,B,2\nf,X,3\nm,A,1\nm,B,1\nm,X,2\n", {}, "'X' is the sum"),
    "a count of 400 digits": (f"region,n\nA,{'9' * 400}\n", {"count_column": ["n"]}, "the count has 400 digits"),
    "counts of nobody": ("n\n3\n4\n", {}, "no attribute says of whom"),
    "below none": ("region,n\nA,<0\nB,3\n", {}, "'<0' is impossible"),
    "from more to less": ("region,n\nA,9-3\nB,3\n", {}, "'9-3' is not an interval"),
    "no such column": ("region,n\nA,3\n", {"count_column": ["m"]}, "there is no column 'm'"),
    "two columns of counts": ("region,cases,cases (n)\nA,3,4\n", {}, "may all be counts: name the one"),
    "a column twice": ("region,region,n\nA,B,3\n", {}, "the column 'region' stands twice"),
    "counts alone": ("n,2021\n3,4\n", {"count_column": ["n", "2021"]}, "columns of counts alone"),
    "a part too few": ("sex,age,geo\\time\t2020\nF,x,A\t5\nM,y\t6\n", {}, "has not 3 parts"),
    "one name twice": ("sex\\sex,a,b,Total\nx,1,2,3\ny,3,4,7\nTotal,4,6,10\n", {}, "two attributes are called 'sex'"),
    "two years": ("Persons by region and year\nregion,2020,2021\nA,3,4\nB,5,6\n", {}, "several times"),
    "no lines": ("region,n\n", {}, "no lines"),
    "three numbers of whom": ("region,kind,f,m\nA,x,3,4\n,y,3,5\nB,x,6,7\n", {}, "the first cell is empty"),
    "money": ("region,unit,n\nA,EUR,3\nB,EUR,4\n", {}, "no line counts people"),
    "more than all of the base": (
        "Percent of people by answer\nanswer,A,B,Base\nyes,101,20,100\nno,20,80,100\n", {},
        "line 3, column 'A': '101' is no percentage of '100'",
    ),
    "a range in another manner": ("region;n\nA;<1.000\nB;2,345\n", {}, "manner of two languages"),
    "a power that is no whole number as a range": ("region,n\nA,<1.5e+00\nB,3\n", {}, "is not a whole number"),
    "a range that ends in a part of a person": ("region,n\nA,1-1.5e+00\nB,3\n", {}, "is not a whole number"),
    "a line with more cells than all before it": (
        "region,n\nA,3\nB,4\nC,5\nD,6\nE,7,8\n", {}, "line 6: has 3 cells, the header 2",
    ),
    "thousands with a part of a person": (
        "Counts in thousands\nregion,n\nA,1.2345\nB,2.1\n", {}, "is not a whole number",
    ),
    "two manners": ("region;n\nA;1.234\nB;2,345\n", {}, "manner of two languages"),
    "a sum of all others, beside two that are alike": (
        "sex,region,n\nf,A,1\nf,B,2\nf,X,3\nm,A,1\nm,B,1\nm,X,2\nd,A,5\nd,X,5\n", {}, "'X' is the sum",
    ),
    "a sum of all others": (
        "sex,region,n\nf,A,10\nf,B,20\nf,X,30\nm,A,5\nm,B,*\nm,X,5\n", {}, "'X' is the sum of the other values",
    ),
    "a band that holds all others": (
        "age,n\n0-9,20\n10-21,13\n0-120,33\n", {}, "'0-120' is the sum of the other values",
    ),
    "ages not known beside their total": (
        "age,n\n0-9,20\n10-21,13\nunknown,4\n0-120,37\n", {}, "'0-120' is the sum of the other values",
    ),
}  # fmt: skip
READ = {
    "a band as large as all others, which lie outside it": (
        "age,n\n0-9,20\n10-21,33\n22 and over,13\n", {}, ["20", "33", "13"],
    ),
    "2^53": ("region,n\nA,9007199254740992\nB,<=9007199254740992\n", {}, ["9007199254740992", "0..9007199254740992"]),
    "a range of thousands, beside none": (
        "region;n\nA;<1.000\nB;1.000-1.999\nC;2\n", {}, ["0..999", "1000..1999", "2"],
    ),
    "a range of thousands in English": ('region,n\nA,"<1,000"\nB,<1e+05\n', {}, ["0..999", "0..99999"]),
    "decimals beside a range": ("region,n\nA,12.000\nB,7.000\nC,<5\n", {}, ["12", "7", "0..4"]),
    "all of the base": (
        "Percent of people by answer\nanswer,A,B,Base\nyes,100,20,100\nno,20,80,100\n", {"rounding": "1"},
        ["100", "20", "20", "80", "100", "100"],
    ),
    "shares of a base that was rounded": (
        "Percent of people by answer\nanswer,A,B,Base\nyes,33,67,200\nno,20,80,*\n", {"rounding": "5"},
        ["61..71", "129..139", "?", "?", "196..204", "?"],
    ),
    "one number as a range": ("region,n\nA,5-5\nB,>0\nC,<1\n", {}, ["5", "1..", "0"]),
    "a note behind a count, and nobody below 0": ("region,n\nA,12 [note 1]\nB,-0\n", {}, ["12", "0"]),
    "a number that hides": ("region,n\nA,99\nB,x\n", {"suppressed": ["99=1..4", "x=0"]}, ["1..4", "0"]),
    "a sum by chance": ("region,n\nA,1\nB,2\nX,3\n", {}, ["1", "2", "3"]),
    "adjusted to multiples": (
        "Counts were randomly adjusted to base 5\nregion,n\nA,5\nB,10\nC,15\n", {}, ["1..9", "6..14", "11..19"],
    ),
    "a sample that somebody knows is none": (
        "Estimates are based on a sample\nregion,n\nA,5\nB,7\n", {"rounding": "1"}, ["5", "7"],
    ),
    "a hidden total keeps its rule": (
        "region,f,m,Total\nA,x,1,1\nB,2,3,5\nTotal,x,4,6\n", {"suppressed": ["1..4"], "totals": "shown"},
        ["1..4", "1", "1..", "2", "3", "5", "1..4", "4", "6.."],
    ),
    "at least twelve": ("region,n\nA,12+\nB,3\n", {}, ["12..", "3"]),
    "estimates that somebody calls counts": (
        "region,estimate,margin of error\nA,5,1\nB,7,2\n", {"count_column": ["estimate"]}, ["5", "7"],
    ),
    "a unit of people": ("region,unit,n\nA,north,3\nA,south,4\n", {}, ["3", "4"]),
    "a status that is what people are": ("status,n\nmarried,3\nsingle,4\n", {}, ["3", "4"]),
    "before and after, by region": ("region,period,n\nA,before,3\nA,after,4\n", {}, ["3", "4"]),
    "years alone": ("year,n\n2020,3\n2021,4\n", {}, ["3", "4"]),
    "why a count is not there": ("region,why,n\nA,,5\nB,c,\nC,,4\n", {}, ["5", "?", "4"]),
    "before and after": ("period,n\nbefore,3\nafter,4\n", {}, ["3", "4"]),
    "a code alone": ("vector,n\nv1,3\nv2,4\n", {}, ["3", "4"]),
    "a hidden part is no difference": (
        "region,f,m,Total\nA,10,x,20\nB,5,15,20\n", {}, ["10", "?", "20", "5", "15", "20"],
    ),
    "a share of a base that is hidden": (
        "region,n,Yes %,No %\nA,*,40,60\nB,50,20,80\n", {}, ["?", "?", "10", "40", "?", "50"],
    ),
}  # fmt: skip


def told(text, options):
    with table_read_as(TableOptions.said(**options)):
        return [str(line.count) for line in counted_table(text_sheet(text)).lines]


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_table_says_is_refused(name):
    text, options, why = REFUSED[name]
    with pytest.raises(ReconError) as error:
        told(text, options)
    assert why in str(error.value)


@pytest.mark.parametrize("name", READ)
def test_what_a_table_leaves_open_is_left_open(name):
    text, options, counts = READ[name]
    assert told(text, options) == counts


IN_THOUSANDS = {
    "5": lambda n: n == 5, "5.3": lambda n: n == F("5.3"), "5.30": lambda n: n == F("5.3"), "0": lambda n: n == 0,
    "5.3000": lambda n: n == F("5.3"), "5+": lambda n: n >= 5, "<5": lambda n: n < 5, "<=5": lambda n: n <= 5,
    ">5": lambda n: n > 5, ">=5": lambda n: n >= 5, "0-2": lambda n: n <= 2, "5 to 7": lambda n: 5 <= n <= 7,
}  # fmt: skip


@pytest.mark.parametrize("cell", IN_THOUSANDS)
def test_thousands_leave_open_what_rounds_to_them(cell):
    """Every number of people that a cell shows when it is rounded down or up, and no others beyond these."""
    unit = 10 ** len(cell.partition(".")[2])
    rounded = ((n, F(n * unit // 1_000, unit), F(-(-n * unit // 1_000), unit)) for n in range(9_001))
    left = [n for n, down, up in rounded if IN_THOUSANDS[cell](down) or IN_THOUSANDS[cell](up)]
    found = counted_table(text_sheet(f"Counts in thousands\nregion,n\nA,{cell}\nB,1\n")).lines[0].count
    assert (found.low, 9_000 if found.high is None else found.high) == (left[0], left[-1])


SCALES = {  # lines above or below a table, or a unit of its lines -> of how many people one is
    "title": {
        "Counts in thousands": 1_000, "Persons in 1000": 1_000, "Personen (in 1 000)": 1_000, "Persons ('000)": 1_000,
        "Numbers in thousands.": 1_000, "Anzahl in Tsd.": 1_000, "en milliers de personnes": 1_000,
        "1 000 Personen": 1_000,
        "Unit: thousand persons": 1_000, "Thousands of persons": 1_000, "Einheit: 1 000": 1_000, "thousands": 1_000,
        "Population (millions)": 10**6, "Mio. Personen": 10**6, "Persons in hundreds": 100, "Einwohner in Mrd.": 10**9,
        "Counts (persons)": 1, "Towns of more than one thousand": 1, "Census 1000": 1,
        "Persons within thousands of miles": 1,
    },
    "below": {"Note: numbers are in thousands.": 1_000, "Source: census": 1},
    "unit": {
        "THS_PER": 1_000, "thousand persons": 1_000, "millions": 10**6, "MIO_PER": 10**6, "hundred": 100, "persons": 1,
    },
    "UNIT_MULT": {"0": 1, "2": 100, "3": 1_000, "6": 10**6},
    "SCALAR_FACTOR": {"units": 1, "thousands": 1_000, "millions": 10**6},
    "head": {"count (thousands)": 1_000, "n_(millions)": 10**6, "count": 1},
}  # fmt: skip


@pytest.mark.parametrize(("where", "said"), [(where, said) for where, each in SCALES.items() for said in each])
def test_numbers_are_of_so_many_people_as_the_table_says(where, said):
    one = SCALES[where][said]
    if where in ("title", "below", "head"):
        above, below = f"{said}\n" * (where == "title"), f"\n{said}\n" * (where == "below")
        text = f"{above}region,{said if where == 'head' else 'n'}\nA,12\nB,0\n{below}"
    else:
        text = f"region,{where},n\nA,{said},12\nB,{said},0\n"
    found = counted_table(text_sheet(text))
    assert found.names == ("region",)
    assert [(line.count.low, line.count.high) for line in found.lines] == [
        (12 * one - one + 1, 12 * one + one - 1), (0, one - 1)]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [("region,UNIT_MULT,n\nA,3,12\nB,0,5\n", r"'UNIT_MULT' has several scales \(0, 3\)"),
     ("Persons in thousands\nregion,unit,n\nA,millions,12\nB,millions,5\n", "counts are in 1,000s and 1,000,000s"),
     ("Persons by region\nregion,Men (thousands),Women (millions)\nA,12,3\nB,5,4\n", "some columns are in thousands"),
     ("Death rate per 100 000 by region\nregion,f,m\nA,12,3\nB,5,4\n", "estimates or rates"),
     ("region;n\nA;9,1\nB;5,2\n", "is not a whole number")],
)  # fmt: skip
def test_numbers_of_several_scales_or_of_none_are_refused(text, why):
    with pytest.raises(ReconError, match=why):
        told(text, {})


def test_a_row_of_units_stands_over_counts_and_is_no_attribute():
    text = "Population by region and sex\nregion,Thousands,\n,Males,Females\nN,12,5\nS,3,4\n"
    assert told(text, {}) == ["11001..12999", "4001..5999", "2001..3999", "3001..4999"]
    assert told("Deaths per region\nregion,n,rate per 1000\nA,12,3\nB,5,4\n", {}) == ["12", "5"]


ATTRIBUTES = {  # tables, and the columns that are attributes of people
    "region,why,n\nA,,5\nB,c,\nC,,4\n": ("region",), "region,why,n\nA,,5\nB,c,4\nC,c,\n": ("region", "why"),
    "region,blank,n\nA,,5\nB,,\n": ("region", "blank"), "status,n\nmarried,3\n": ("status",),
    "region,status,n\nA,married,3\nA,single,4\n": ("region", "status"), "region,status,n\nA,,3\nB,c,\n": ("region",),
}  # fmt: skip


@pytest.mark.parametrize("text", ATTRIBUTES)
def test_what_says_why_a_count_is_not_there_is_no_attribute(text):
    assert counted_table(text_sheet(text)).names == ATTRIBUTES[text]


def test_an_empty_cell_that_a_rule_is_of_hides_its_count():
    with table_read_as(TableOptions.said(suppressed=["1..4"])):
        first, _ = counted_table(text_sheet("region,n\nA,\nB,7\n")).lines
    assert (first.count.low, first.count.high, first.count.mark) == (1, 4, "(empty)")
    for rule, said in (("x=3..", "3 to any number"), ("x=0..", "any number"), ("x=1..4", "1 to 4")):
        with table_read_as(TableOptions.said(suppressed=[rule])):
            understood = counted_table(text_sheet("region,n\nA,x\nB,7\n")).understood
        assert any(line.startswith(f"'x' hides 1 count: {said}") for line in understood)


def test_a_sheet_without_rows_is_no_table():
    with pytest.raises(ReconError, match="no lines"):
        counted_table(Sheet(()))


@pytest.mark.parametrize(
    ("form", "text", "lowest"),
    [
        ("h.hrc", "A\n\n@A1\n@A2\nB\n", ("A1", "A2", "B")),
        ("h.csv", "code,parent\nA1,A\nA2,A\nB\n", ("A1", "A2", "B")),
        ("h.csv", "code,parent\nA1,A\nA2,A\nA,\nB,\n", ("A1", "A2", "B")),
    ],
)
def test_blank_lines_and_short_ones_of_a_hierarchy_say_nothing(tmp_path, form, text, lowest):
    (tmp_path / form).write_text(text)
    trees, _ = hierarchies.hierarchies_of([f"c={tmp_path / form}"], ["c"], {"c": ["A"]}, frozenset())
    assert trees["c"].column(["A"], frozenset())[1].values == lowest
    assert set(trees["c"].parents) == {"A", *lowest}


@pytest.mark.parametrize("text", ["code,parent\n", "", "A\nB\n"])
def test_a_file_without_codes_and_parents_is_no_hierarchy(tmp_path, text):
    (tmp_path / "h.csv").write_text(text)
    with pytest.raises(ReconError, match="is no hierarchy: columns of a code and of what it lies in are needed"):
        hierarchies.hierarchies_of([f"c={tmp_path / 'h.csv'}"], ["c"], {"c": ["A"]}, frozenset())


def test_lines_of_all_say_nothing_of_parents():
    columns = {"d": ["D1", "D1", "total", "D2"], "r": ["total", "N", "N", "S"]}
    _, (found,) = hierarchies.hierarchies_of(["d=r"], ["d", "r"], columns, frozenset({"total"}))
    assert found.parents == {"D1": "N", "D2": "S"}


def test_a_file_of_a_hierarchy_may_not_be_of_any_size(tmp_path, monkeypatch):
    monkeypatch.setattr(hierarchies, "LONGEST", 3)
    (tmp_path / "h.hrc").write_text("A\nB\n")
    with pytest.raises(ReconError, match="has 4 bytes"):
        hierarchies.read_text_file(str(tmp_path / "h.hrc"))
    monkeypatch.setattr(hierarchies, "LONGEST", 4)
    assert hierarchies.read_text_file(str(tmp_path / "h.hrc")) == "A\nB\n"


RDA = '<SEPARATOR> ";"\na\n  <RECODEABLE>\nb\n  <RECODEABLE>\nv\n  <NUMERIC>\nn\n  <FREQUENCY>\nm\n  <MAXSCORE>\n'
TAB = "Total;Total;10;3;5\nx;Total;6;2;5\ny;Total;4;1;4\n"
ARGUS = {
    "two values": (RDA + "w\n  <NUMERIC>\n", TAB.replace("\n", ";1\n"), None, "has 2 values (v, w): name one"),
    "no such value": (RDA, TAB, "w", "has no value 'w': there are v"),
    "no counts": (RDA.replace("<FREQUENCY>", "<COST>"), TAB, None, "has no <FREQUENCY>"),
    "no totals": (RDA.replace("<NUMERIC>", "<COST>"), TAB, None, "names no table of totals"),
    "a cell twice": (RDA, TAB + "y;Total;4;1;4\n", None, "line 4: the cell stands twice"),
    "half a contributor": (RDA, TAB.replace("6;2;5", "6;2.5;5"), None, "'n' holds numbers that are not whole"),
    "more than the total": (RDA, TAB.replace("6;2;5", "6;2;7"), None, "line 2: the largest contributions do not fall"),
    "a cell too few": (RDA, TAB + "z;Total;4\n", None, "line 4: has 3 cells, the metadata 5 variables"),
    "no number": (RDA, TAB.replace("6;2;5", "6;2;x"), None, "line 2: 'x' is no number of 'v'"),
    "seven decimals": (RDA, TAB.replace("6;2;5", "6.1234567;2;5"), None, "more than 6 decimals"),
}  # fmt: skip


def argus(folder, rda, tab, value=None, *hierarchy):
    (folder / "t.rda").write_text(rda)
    (folder / "t.tab").write_text(tab)
    return table_of_argus(str(folder / "t.tab"), str(folder / "t.rda"), value, hierarchy)


@pytest.mark.parametrize("name", ARGUS)
def test_what_is_no_table_of_totals_is_refused(tmp_path, name):
    rda, tab, value, why = ARGUS[name]
    with pytest.raises(ReconError) as error:
        argus(tmp_path, rda, tab, value)
    assert why in str(error.value)


def test_codes_and_parents_of_a_table_of_totals(tmp_path):
    assert argus(tmp_path, RDA, f"{TAB}\n\n").hidden is None  # blank lines are none
    gone = argus(
        tmp_path, RDA + "s\n  <STATUS>\n", TAB.replace(";5\nx", ";5;S\nx").replace(";5\ny", ";5;U\ny")[:-1] + ";S\n"
    )
    assert gone.hidden.tolist() == [False, True, False]
    assert gone.of(gone.hidden.nonzero()[0], ["a"]).hidden.tolist() == [True]
    (tmp_path / "h.hrc").write_text("x\n")
    with pytest.raises(ReconError, match=r"'y' of 'a' is not in the hierarchy"):
        argus(tmp_path, RDA, TAB, None, f"a={tmp_path / 'h.hrc'}")
    (tmp_path / "h.csv").write_text("a,group\nx,g\ny,g\n")
    with pytest.raises(ReconError, match=r"is needed as \.hrc or as code and parent"):
        argus(tmp_path, RDA, TAB, None, f"a={tmp_path / 'h.csv'}")


ROWS = {"a": ["x", "x", "y"], "b": ["p", "q", "p"], "v": ["5", "1", "4"], "w": ["1", "2", "3"]}


def test_rows_beyond_what_is_added_up_exactly_are_refused(monkeypatch):
    with pytest.raises(ReconError, match=r"may add up to more than 2\^50"):
        table_of_rows({**ROWS, "v": [str(1 << 49), "1", "4"]}, [("a",)], RespondentColumns("v", weight="w"), (), 3, "f")
    for most in (7, 8):  # a and b: 2 codes of each and everybody, but for y and q
        monkeypatch.setattr(magnitudes, "MOST_CELLS", most)
        if most == 8:
            assert len(table_of_rows(ROWS, [("a", "b")], RespondentColumns("v"), (), 3, "f").codes) == 8
            continue
        with pytest.raises(ReconError, match="more than 7 cells"):
            table_of_rows(ROWS, [("a", "b")], RespondentColumns("v"), (), 3, "f")


UNITS = {
    "1.50": (1, 15), "1.000001": (6, 1_000_001), "-0.0": (0, 0), "1e+05": (0, 100_000), str(1 << 50): (0, 1 << 50),
    "0.1000000": (1, 1), "1.0000001": None, str((1 << 50) + 1): None, "1e+20": None, "1125899906.8426249": None,
    "123456789.0000000000000000000000001": None,
}  # fmt: skip


@pytest.mark.parametrize("text", UNITS)
def test_numbers_are_added_up_in_units_of_the_last_decimal_exactly(text):
    rows = {"a": ["x", "y"], "v": [text, "0"]}
    if UNITS[text] is None:
        with pytest.raises(ReconError, match=r"more than 6 decimals, or adds up to more than 2\^50"):
            table_of_rows(rows, [("a",)], RespondentColumns("v"), (), 3, "f")
        return
    table = table_of_rows(rows, [("a",)], RespondentColumns("v"), (), 3, "f")
    assert (table.decimals, int(table.totals[0])) == UNITS[text]


def test_codes_of_rows_are_the_lowest_of_their_hierarchy(tmp_path):
    (tmp_path / "h.hrc").write_text("N\n@x\n@y\n")
    tree = f"a={tmp_path / 'h.hrc'}"
    found = table_of_rows(ROWS, [("a",)], RespondentColumns("v"), (tree,), 3, "f")
    assert dict(zip(found.codes, found.totals.tolist(), strict=True)) == {("x",): 6, ("y",): 4, ("N",): 10, ("",): 10}
    for code in ("N", "z"):
        with pytest.raises(ReconError, match=f"'{code}' is none of the lowest codes of"):
            table_of_rows({**ROWS, "a": ["x", code, "y"]}, [("a",)], RespondentColumns("v"), (tree,), 3, "f")


def test_one_of_several_values_of_an_argus_table_is_read_by_its_name(tmp_path):
    found = argus(tmp_path, RDA + "w\n  <NUMERIC>\n", TAB.replace("\n", ";6\n"), "w")
    assert (found.value, found.totals.tolist()) == ("w", [6, 6, 6])


def test_weights_of_values_that_the_rules_look_at_are_added_up_exactly_too():
    rows = {"a": ["x", "y"], "v": ["1", "1"], "s": ["3", "1"], "w": [str(1 << 49), "1"]}
    for what in (RespondentColumns("v", weight="w", shadow="s"), RespondentColumns("s", weight="w", shadow="v")):
        with pytest.raises(ReconError, match=r"may add up to more than 2\^50"):
            table_of_rows(rows, [("a",)], what, (), 2, "f")


def test_a_weight_times_its_value_adds_up_to_2_to_the_50_at_most():
    for weight, fits in ((1 << 48, True), ((1 << 48) + 1, False)):
        rows = {"a": ["x", "y"], "v": ["3", "1"], "w": [str(weight), "1"]}
        if fits:
            assert table_of_rows(rows, [("a",)], RespondentColumns("v", weight="w"), (), 2, "f").totals[0] == 3 << 48
            continue
        with pytest.raises(ReconError, match=r"may add up to more than 2\^50"):
            table_of_rows(rows, [("a",)], RespondentColumns("v", weight="w"), (), 2, "f")


@pytest.mark.parametrize(
    ("text", "why"),
    [("a\nx\n", "is no table of totals"), ("v\n3\n", "is no table of totals"), ("a,b\nx,3\n", "is no table of totals"),
     ("", "is no table of totals"), ("a,v\nz,*\n", "line 2: nobody is in a = z"),
     ("a,v\nx,6.5\n", "a = x is 6.5 here and 6"), ("a,v\nx\n", "line 2: has 1 cells"),
     ("a,z,v\nx,q,6\n", "a column 'z'"), ("a,v\nz,6\n", "nobody is in a = z")],
)  # fmt: skip
def test_what_is_out_must_be_a_table_of_the_same_respondents(text, why):
    table = table_of_rows(ROWS, [("a",)], RespondentColumns("v"), (), 3, "f")
    with pytest.raises(ReconError) as error:
        lines_of_earlier(table, [earlier_totals(text, "v", "o.csv")])
    assert why in str(error.value)


def test_a_cell_that_is_out_and_hidden_or_of_nobody_says_nothing():
    table = table_of_rows(ROWS, [("a",)], RespondentColumns("v"), (), 3, "f")
    for hidden in ("*", ""):
        shown, gone = lines_of_earlier(table, [earlier_totals(f"a,v\nz,0\nx,{hidden}\ny,4.0\n", "v", "o.csv")])
        assert (shown.sum(), gone.sum()) == (1, 1)
    at = [codes[0] for codes in table.codes]
    assert [at[k] for k in shown.nonzero()[0]] == ["y"]
    assert [at[k] for k in gone.nonzero()[0]] == ["x"]


def test_files_that_would_say_something_else_are_not_written():
    one, two = WrittenVariable("a b", (), ["x"]), WrittenVariable("a_b", (), ["y"])
    with pytest.raises(ReconError, match="would be called 'a_b'"):
        table_files([one, two], [], "t")
    for cell in (",;|\t", 'say "x"', "two\nlines"):
        with pytest.raises(ReconError, match="cannot be written to a"):
            table_files([WrittenVariable("a", (), ["x", cell])], [], "t")
    parts = SdcProblem(("a",), ("T",), [["x", "y"]], ["2", "3"], {}, ["s"] * 2, {})  # without a line of everybody
    assert ".R" in sdc_files([parts], "t")
    problem = SdcProblem(("freq",), ("T",), [["T", "x", "y"]], ["5", "2", "3"], {}, ["s"] * 3, {})
    with pytest.raises(ReconError, match="keeps the name 'freq'"):
        sdc_files([problem], "t")
    missing = SdcProblem(("a",), ("T",), [["T", "x", "y"]], ["6", "2", "3"], {}, ["s"] * 3, {})
    with pytest.raises(ReconError, match="do not add up to everybody's"):
        sdc_files([missing], "t")
    tree = CategoryTree.of("a", "h", {"x": None, "x1": "x", "x2": "x"})
    whole = SdcProblem(("a",), ("T",), [["T", "x", "x1", "x2"]], ["5", "5", "2", "3"], {}, ["s"] * 4, {"a": tree})
    assert ".R" in sdc_files([whole], "t")


@pytest.mark.parametrize(
    "text", ["n\n  <FREQUENCY>\n", "a\n  <RECODEABLE>\n", RDA.replace("<MAXSCORE>", "<FREQUENCY>")]
)
def test_metadata_without_codes_or_with_several_counts_are_of_no_table(text):
    with pytest.raises(ReconError, match="names no table of counts: <RECODABLE> variables and one <FREQUENCY>"):
        metadata_of(text, "f")


def test_metadata_have_blank_lines():
    assert [one.name for one in metadata_of(RDA.replace("\n", "\n\n"), "f", values=True).variables] == list("abvnm")


SECTIONS = {
    "a heading twice": ("Kind,f,m\nMales,,\nA,3,4\nMales,,\nA,5,6\n", "stands alone"),
    "a heading of nothing": ("Kind,f,m\nMales,,\nA,3,4\nFemales,,\n", "stands alone"),
    "sums of other people": ("Kind,f,m\nSex,,\nA,30,14\nB,10,10\nAge,,\nC,9,12\nD,10,12\n", "stands alone"),
    "sums of few people": ("Kind,f,m\nSex,,\nA,1,1\nB,1,0\nAge,,\nC,1,1\nD,1,0\n", "stands alone"),
    "a total of others": ("Kind,f,m\nSex,,\nA,30,14\nB,10,10\nAge,,\nC,20,12\nD,20,12\nTotal,41,24\n", "alone"),
    "a label of two of three": (
        "Kind,f,m\nSex,,\nA,30,14\nB,10,10\nAge,,\nC,20,12\nD,20,12\nTown,,\nA,5,4\nE,35,20\n",
        "stands alone",
    ),
    "one label alone": ("Kind,f,m\nSex,,\nA,40,24\nAge,,\nC,20,12\nD,20,12\n", "stands alone"),
    "sums that are hidden": ("Kind,f,m\nSex,,\nA,*,14\nB,10,10\nAge,,\nC,*,12\nD,10,12\n", "stands alone"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_lines_without_counts_are_headings_only_where_sums_or_labels_show_it(name):
    text, why = SECTIONS[name]
    with pytest.raises(ReconError, match=why):
        counted_table(text_sheet(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [("Kind,f,m\nSex,,\nA,5,5\nB,5,5\nAge,,\nC,4,6\nD,6,4\n", ("Sex", "Age")),  # 20 people by chance seldom
     ("Kind,f,m\nSex,,\nA,1,1\nB,1,0\nAge,,\nC,1,1\nD,1,0\nTotal,2,1\n", ("Sex", "Age")),
     ("Kind,f,m\nN,,\nA,1,1\nB,1,0\nS,,\nA,5,1\nB,7,0\n", ("section", "Kind")),
     ("Kind,n\nN,*\n  A,3\n  B,*\nS,*\n  A,4\n  B,5\n", ("Kind", "Kind 2"))],
)  # fmt: skip
def test_headings_that_sums_or_labels_show_are_read(text, names):
    assert counted_table(text_sheet(text)).names[: len(names)] == names


def test_an_indented_line_below_one_of_nobody_shows_nothing():
    rows = "Kind,n\nAll,0\n  A,0\n  B,0\nRest,7\n  C,7\n"
    assert told(rows, {})[:1] == ["0"]
    with pytest.raises(ReconError, match="is indented below"):
        told("Kind,n\nAll,x\n  A,3\n  B,4\nRest,7\n", {})
