"""Tables as offices publish them: the corpus in tests/tables, each with its right reading or its true refusal."""

from __future__ import annotations

import csv
import io
import json
import tempfile
import tomllib
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import recon
from encoders.domain.values import Categorical, Grid
from recon.io.files.opening import TableOptions, budget_within, table_read_as
from recon.io.files.sheets import text_sheet, workbook_sheet
from recon.readers.formats.printed.count_table import read_count_table
from recon.readers.formats.tables.cells import NumberForm, count_cell
from recon.readers.formats.tables.counted import counted_table
from recon.readers.formats.tables.dialects import dialects
from recon.readers.loading.loading import read_domain
from solvers.foundation.errors import ReconError

CORPUS = [
    one | {"file": path.stem}
    for path in sorted(Path(__file__).with_name("tables").glob("*.toml"))
    for one in tomllib.loads(path.read_text(encoding="utf-8"))["table"]
]
LISTS = ("count_column", "suppressed", "total_label", "hierarchy")


def options_of(said):
    given = {}
    for name, value in zip(said[::2], said[1::2], strict=True):
        key = name.removeprefix("--").replace("-", "_")
        given[key] = [*given.get(key, []), value] if key in LISTS else value
    return TableOptions.said(**given)


def written(case, text):
    """Return the bytes of a case: its text, or a workbook of it (merged cells are "<" and "^")."""
    text = text.removeprefix("\n")
    if case.get("delimiter") == "tab":
        text = "\n".join(line.replace("|", "\t") for line in text.split("\n"))
    if case.get("form") not in {"xlsx", "ods"}:
        return text.encode()
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Table"
    for i, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        for k, cell in enumerate(row, start=1):
            if cell in {"<", "^"}:
                continue
            value = int(cell) if cell.isdecimal() else cell or None
            sheet.cell(i, k, value)
    for span in case.get("merged", []):
        sheet.merge_cells(span)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def read(case):
    data = written(case, case["text"])
    with table_read_as(options_of(case.get("options", []))):
        return counted_table(workbook_sheet(data) if case.get("form") == "xlsx" else text_sheet(data.decode()))


def reading(names, lines):
    return {
        (frozenset((n.lower(), c) for n, c in zip(names, cells, strict=True) if c), count) for cells, count in lines
    }


def right(case):
    header, *rows = csv.reader(io.StringIO(case["right"].strip()))
    return reading(header[:-1], [([c if c != "total" else "" for c in row[:-1]], row[-1]) for row in rows])


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: f"{case['file']}-{case['name']}")
def test_tables_are_read_right_or_refused_with_what_helps(case):
    if "refused" in case:
        with pytest.raises(ReconError) as error:
            read(case)
        assert case["refused"] in str(error.value)
        return
    found = read(case)
    assert reading(found.names, [(line.cells, str(line.count)) for line in found.lines]) == right(case)


def test_the_corpus_is_of_ten_offices_and_a_third_was_written_blind():
    assert len(CORPUS) >= 60
    assert 3 * sum(case["file"] == "guides" for case in CORPUS) >= 60
    assert len({case["office"] for case in CORPUS}) >= 10
    assert sum(case["file"] == "cases" for case in CORPUS) == 17


@pytest.mark.parametrize("mark", sorted(dialects().marks))
def test_no_mark_is_ever_counted_as_nobody(mark):
    for text in (mark, mark.upper()):
        found = count_cell(text, "line 2", NumberForm(), TableOptions())
        assert (found.low, found.high, bool(found.mark)) == (0, None, True)
    said = count_cell(mark, "line 2", NumberForm(), TableOptions.said(suppressed=["1..4"]))
    assert (said.low, said.high) == (1, 4)


@pytest.mark.parametrize(
    "text", ["q", "?", "12*", "12 qq", "1,23,4", "1.2.3", "-3", "3.5", "10^3", "½", "[n", "< five"]
)
def test_what_is_not_understood_is_refused_with_its_place(text):
    with pytest.raises(ReconError, match="line 2") as error:
        counted_table(text_sheet(f'region,count\nA,"{text}"\nB,12\n'))
    assert text[:4] in str(error.value)


def test_powers_of_ten_of_r_are_numbers_and_those_of_a_spreadsheet_are_not():
    found = counted_table(text_sheet("region,n\nA,1e+05\nB,1.5e+05\nC,17\n"))
    assert [str(line.count) for line in found.lines] == ["100000", "150000", "17"]
    for text in ("1E+05", "1.25e+01", "0e+05", "1e-05"):
        with pytest.raises(ReconError, match="line 2"):
            counted_table(text_sheet(f"region,n\nA,{text}\nB,17\n"))


def test_a_hidden_range_is_said_of_all_marks_or_one():
    text = "region,sex,count\nA,f,x\nA,m,*\nB,f,9\nB,m,-\n"
    with table_read_as(TableOptions.said(suppressed=["1..4", "x=1..9", "-=0"])):
        found = counted_table(text_sheet(text))
    assert [str(line.count) for line in found.lines] == ["1..9", "1..4", "9", "0"]


@pytest.mark.parametrize(
    "said",
    [{"suppressed": ["4..1"]}, {"suppressed": ["few"]}, {"totals": "some"}, {"rounding": "x"}],
)
def test_options_that_say_nothing_are_refused(said):
    with pytest.raises(ReconError, match="--"):
        TableOptions.said(**said)


TOTALS = st.lists(st.lists(st.integers(0, 3000), min_size=2, max_size=4), min_size=2, max_size=4).filter(
    lambda rows: len({len(row) for row in rows}) == 1
)
MANNERS = {"en": (",", ","), "de": (".", ";"), "fr": ("\u00a0", ";"), "ch": ("'", ","), "plain": ("", ",")}


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(TOTALS, st.sampled_from(sorted(MANNERS)), st.sampled_from([1, 3, 5, 10]), st.randoms(use_true_random=False))
def test_the_true_counts_are_never_excluded(rows, manner, base, rng):
    """Whatever is hidden, rounded up or down, and written in whichever manner."""
    thousands, mark = MANNERS[manner]

    def shown(count):
        rounded = (count // base + rng.randint(0, count % base > 0)) * base
        return '"' + f"{rounded:,}".replace(",", thousands) + '"'

    def cell(count):
        return "x" if rng.random() < 0.2 else shown(count)

    columns = [f"b{k}" for k in range(len(rows[0]))]
    truth = {(f"a{i}", b): n for i, row in enumerate(rows) for b, n in zip(columns, row, strict=True)}
    truth |= {(f"a{i}", ""): sum(row) for i, row in enumerate(rows)}
    truth |= {("", b): sum(row[k] for row in rows) for k, b in enumerate(columns)} | {("", ""): sum(map(sum, rows))}
    text = mark.join(["a", *columns, "Total"]) + "\n"
    for a in [*(f"a{i}" for i in range(len(rows))), ""]:
        text += mark.join([a or "Total", *(cell(truth[a, b]) for b in columns), shown(truth[a, ""])]) + "\n"
    with table_read_as(TableOptions.said(rounding=base, total_label=["none"])):
        found = counted_table(text_sheet(text))
    for line in found.lines:
        assert line.count.low <= truth[line.cells]
        assert line.count.high is None or truth[line.cells] <= line.count.high


CELLS = {
    "bool": st.booleans(), "int": st.integers(-(10**6), 10**6), "float": st.integers(-9999, 9999).map(lambda k: k / 64),
    "text": st.sampled_from(["a", "b", "c d", "é", "x,y", "=1+2", "'q", "x;y"]),
    "bool or none": st.sampled_from([True, False, None]), "int or none": st.one_of(st.integers(-9, 9), st.none()),
    "text or none": st.sampled_from(["a", "b", None]),
}  # fmt: skip


@st.composite
def frames(draw):
    size = draw(st.integers(1, 8))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=2, max_size=4))
    columns = {f"c{i}": draw(st.lists(CELLS[kind], min_size=size, max_size=size)) for i, kind in enumerate(kinds)}
    return pd.DataFrame(columns | {"y": draw(st.lists(st.sampled_from([0, 1]), min_size=size, max_size=size))})


def attributes_of(read):
    try:
        return read().all
    except ReconError:
        return "refused"


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(frames())
def test_a_frame_and_its_own_csv_are_read_alike(frame):
    """True and False are bits in both; texts that read as numbers or truths are the one thing that CSV cannot tell."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "rows.csv"))
        frame.to_csv(path, index=False)
        assert attributes_of(lambda: recon.Domain.from_frame(frame, "y")) == attributes_of(
            lambda: read_domain(path, "y")
        )


def test_people_are_read_from_sheets_and_semicolons_as_from_csv(tmp_path):
    frame = pd.DataFrame({"age": [30, 41, 41], "city": ["A", "B", "A"], "share": [0.5, 1.25, 2.0], "y": [0, 1, 1]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_csv(tmp_path / "semicolons.csv", index=False, sep=";", decimal=",")
    frame.to_csv(tmp_path / "tabs.tsv", index=False, sep="\t")
    frame.to_excel(tmp_path / "rows.xlsx", index=False)
    expected = read_domain(str(tmp_path / "rows.csv"), "y").all
    for name in ("semicolons.csv", "tabs.tsv", "rows.xlsx"):
        assert read_domain(str(tmp_path / name), "y").all == expected, name


def workbook(sheets, formulas=()):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
        for place, formula in formulas:
            sheet[place] = formula
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


COUNTS = [["region", "count"], ["A", 12], ["B", 9]]


@pytest.mark.parametrize(("data", "sheet", "words"), [
    (workbook({"2022": COUNTS, "2023": COUNTS}), None, ["2 sheets with a table", "--sheet '2022'"]),
    (workbook({"T": COUNTS}), "U", ["no sheet 'U'", "'T'"]),
    (workbook({"T": COUNTS}, [("B3", "=1+8")]), None, ["sheet 'T', row 3, column B", "'=1+8'", "value: open the file"]),
    (workbook({"T": [["region", "count"], ["A", 12.5]]}), None, ["sheet 'T', row 2, column B", "'12.5'"]),
    (workbook({"T": [["notes"], ["nothing"]]}), None, ["no column of counts"]),
    (workbook({"T": COUNTS})[:400] + b"PK", None, ["not a spreadsheet"]),
])  # fmt: skip
def test_workbooks_that_cannot_be_read_are_refused_by_sheet_row_column_and_value(data, sheet, words):
    with table_read_as(TableOptions.said(sheet=sheet)), pytest.raises(ReconError) as error:
        counted_table(workbook_sheet(data))
    assert all(word in str(error.value) for word in words), error.value
    assert "(holds" not in str(error.value)
    assert "(sheet" not in str(error.value)


def test_text_in_a_code_page_is_told_from_bytes(tmp_path, run):
    for name, data, words in (
        (
            "t.csv",
            "Région,count\nNord,3\nSüd,4\n".encode("cp1252"),
            "is text, but not in UTF-8 (byte 1): save it as UTF-8",
        ),
        ("b.bin", b"\x00\x01\xe9abc", "neither text nor a stored model"),
    ):
        (tmp_path / name).write_bytes(data)
        assert words in run("audit", tmp_path / name, "--show-table", code=3).stderr


def test_a_sheet_is_chosen_by_name_or_number_and_the_others_are_said():
    data = workbook({"2022": COUNTS, "2023": [*COUNTS, ["C", 5]], "notes": [["x"]]})
    for sheet in ("2023", "2"):
        with table_read_as(TableOptions.said(sheet=sheet)):
            found = counted_table(workbook_sheet(data))
        assert len(found.lines) == 3
        assert any("the sheet '2023' was read, '2022', 'notes' not" in note for note in found.notes)


SPACE = "urn:oasis:names:tc:opendocument:xmlns:"
ODS = f"""<office:document-content xmlns:office="{SPACE}office:1.0" xmlns:table="{SPACE}table:1.0"
 xmlns:text="{SPACE}text:1.0"><office:body><office:spreadsheet><table:table table:name="T">
 <table:table-row><table:table-cell><text:p>Deaths by area and sex</text:p></table:table-cell></table:table-row>
 <table:table-row table:number-rows-repeated="2"><table:table-cell table:number-columns-repeated="16384"/>
 </table:table-row>
 <table:table-row><table:table-cell><text:p>area</text:p></table:table-cell><table:table-cell><text:p>f</text:p>
 </table:table-cell><table:table-cell><text:p>m</text:p></table:table-cell></table:table-row>
 <table:table-row><table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell office:value-type="float"
 office:value="1234"><text:p>1,234</text:p></table:table-cell><table:table-cell><text:p>[c]</text:p></table:table-cell>
 </table:table-row></table:table></office:spreadsheet></office:body></office:document-content>"""


def zipped(content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
    return out.getvalue()


def test_ods_is_read_without_a_library():
    found = counted_table(workbook_sheet(zipped(ODS)))
    assert found.names == ("area", "sex")
    assert [(line.cells, str(line.count)) for line in found.lines] == [(("A", "f"), "1234"), (("A", "m"), "?")]
    assert found.lines[0].place == "sheet 'T', row 5, column B"


def test_a_sheet_that_unpacks_to_too_much_is_refused_before_it_is_unpacked():
    with budget_within(memory=1 << 20), pytest.raises(ReconError, match="MB"):
        workbook_sheet(zipped(ODS + " " * (8 << 20)))


def test_means_become_statements_over_a_domain_that_has_their_attribute(tmp_path):
    path = tmp_path / "means.csv"
    path.write_text("region,sex,count,mean_income\nA,F,3,41000\nB,F,1,73000\n", encoding="utf-8")
    domain = recon.Domain(
        (Categorical("region", ("A", "B")), Categorical("sex", ("F", "M")), Grid.between("income", 0, 200_000, 1000))
    )
    release = recon.load(path, domain=domain)
    found = recon.bound(release, {"region": "B", "income": 73_000})
    assert (found.min, found.max) == (1, 1)
    assert recon.load(path).domain.place.keys() == {"region", "sex"}


MEANS = {  # cells of a column of means -> what they are and how far they may be off, none where that is open
    ("35", "36.5"): [(35, 0.05), (36.5, 0.05)], ("120", "40"): [(120, 5), (40, 5)], ("0", "0"): [(0, 0.5), (0, 0.5)],
    ("-35", "\u22126.5"): [(-35, 0.05), (-6.5, 0.05)], ("+1", ".."): [(1, 0.5)],
    ("1,236.5", "7"): [(1236.5, 0.05), (7, 0.05)],
    ("1,236", "7.5"): [(1236, 0.05), (7.5, 0.05)], ("1.236", "7,5"): [(1236, 0.05), (7.5, 0.05)],
    ("1.234", "5,678"): [], ("35%", "36 %"): [], ("1.5e+02", "12"): [], ("1.234", "5.678"): [], ("1.5", "5,6"): [],
    ("1.234", "5.67"): [(1.234, 0.0005), (5.67, 0.0005)],
    ("nan", "12"): [(12, 0.5)], ("Inf", "12"): [(12, 0.5)],
}  # fmt: skip


@pytest.mark.parametrize("cells", MEANS)
def test_means_are_off_by_half_of_what_their_last_digit_shows(cells):
    draft = read_count_table('region,n,mean age\nA,5,"{}"\nB,6,"{}"\n'.format(*cells))
    assert [(one.statistic.value, one.statistic.within) for _, one in draft.means] == MEANS[cells]
    assert [one.what for one in draft.origin.unused] == ["the column 'mean age'"]


def test_nobody_has_no_mean():
    ((_, only),) = read_count_table("region,n,mean age\nA,5,35\nB,0,12\n").means
    assert only.statistic.value == 35


@pytest.mark.parametrize("labels", [("1.0", "1"), ("-0", "0"), ("1.50", "1.5")])
def test_labels_of_two_lines_are_two_values_though_they_are_one_number(labels):
    (table,) = read_count_table("grade,n\n{},5\n{},7\n".format(*labels)).models
    assert [(one.condition[0][1].values, one.count) for one in table.statements] == [
        ((labels[0],), 5), ((labels[1],), 7)]  # fmt: skip


WITHOUT_EFFECT = {  # options -> what is said of them, of a table without a hidden count
    ("--hierarchy", "nope=none.hrc"): "no table has a column 'nope': there are 'region', 'sex'",
    ("--suppressed", "q=1..4"): "no cell of a count is 'q'",
    ("--total-label", "England"): "no attribute has the value 'England'",
    ("--sheet", "T1"): "none of the files is a spreadsheet",
}


@pytest.mark.parametrize("said", WITHOUT_EFFECT)
def test_an_option_that_is_about_no_table_is_refused(tmp_path, run, said):
    path = tmp_path / "table.csv"
    path.write_text("region,sex,count\nA,f,12\nA,m,7\n", encoding="utf-8")
    for more in ((), ("--show-table",)):
        shown = run("audit", path, *said, *more, code=2 if "--sheet" in said else 3).stderr
        assert WITHOUT_EFFECT[said] in " ".join(shown.split())
    with pytest.raises(ReconError, match="has no effect"):
        recon.load(path, table=options_of(said))


def test_of_two_tables_an_option_may_be_about_one(tmp_path):
    (tmp_path / "a.csv").write_text("region,sex,count\nA,f,12\nA,m,7\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("place,count\nFrance,q\nWales,9\nEngland,19\n", encoding="utf-8")
    said = TableOptions.said(suppressed=["q=1..20"], total_label=["England"])
    both = recon.load(tmp_path / "a.csv", tmp_path / "b.csv", table=said)
    assert recon.bound(both, {"place": "France"}).max == 10
    with pytest.raises(ReconError, match="no cell of a count is 'q'"):
        recon.load(tmp_path / "a.csv", table=said)


def test_options_that_change_nothing_say_so(tmp_path, run):
    path = tmp_path / "table.csv"
    path.write_text("region,sex,count\nA,f,12\nA,m,7\n", encoding="utf-8")
    shown = run("gate", path, "--show-table", "--suppressed", "1..4", "--totals", "shown", code=0).stdout
    assert "--suppressed changes nothing: no count is hidden" in shown
    assert "--totals shown changes nothing" in shown
    assert "--policy" in run("gate", path, code=2).stderr
    tree = Path(__file__).parents[1] / "examples" / "releases" / "compas_tree.json"
    assert "has no effect" in run("count", tree, "--hierarchy", "a=b.hrc", code=3).stderr


@pytest.mark.parametrize(("text", "width"), [("<5", 3), ("12", None)])
def test_a_policy_asks_for_the_width_of_hidden_cells(tmp_path, run, text, width):
    """Two hidden cells of a row and a column add up to 3 less than their totals say: 0 to 3 each."""
    path, policy = tmp_path / "table.csv", tmp_path / "p.toml"
    lines = [
        "a,b,count",
        "x,u,{}",
        "x,v,{}",
        "y,u,{}",
        "y,v,{}",
        "x,total,{}",
        "y,total,{}",
        "total,u,{}",
        "total,v,{}",
    ]
    counts = [text, text, "*", "*", 3, 20, 12, 11] if width else [12] * 4 + [24] * 4
    path.write_text("\n".join(lines).format(*counts) + "\n", encoding="utf-8")
    for asked, code in ((3, 0), (4, 1 if width else 0)):
        policy.write_text(f"least_hidden_width = {asked}\n", encoding="utf-8")
        said = json.loads(run("audit", path, "--policy", policy, "--json", code=code).stdout)
        assert said["facts"]["hidden_width"] == (None if width is None else [width, width])
        assert said["assessment"]["checks"][0]["outcome"] == ("not applicable" if width is None else
                                                              "met" if asked <= width else "violated")  # fmt: skip


VALUES = """Cases by sex and region
region,flu,asthma,All
Males,,,
North,3,x,7
South,5,6,11
Females,,,
North,8,9,17
South,1,2,3
All persons,,,
North,11,13,24
South,6,8,14
"""
NAMES = """Characteristic,Yes,No,Total
Sex,,,
Male,30,20,50
Female,25,26,51
Age,,,
Under 65,40,40,80
65 and over,15,6,21
Total,55,46,101
"""


def test_headings_over_lines_are_values_or_names_of_attributes(tmp_path):
    (tmp_path / "values.csv").write_text(VALUES, encoding="utf-8")
    (tmp_path / "names.csv").write_text(NAMES, encoding="utf-8")
    release = recon.load(tmp_path / "values.csv")
    assert {a.name: a.values for a in release.domain.all} == {
        "sex": ("Males", "Females"), "region": ("North", "South"), "column": ("flu", "asthma"),
    }  # fmt: skip
    hidden = recon.bound(release, {"sex": "Males", "region": "North", "column": "asthma"})
    assert (hidden.min, hidden.max) == (4, 4)
    people = recon.load(tmp_path / "names.csv", table=TableOptions.said(rounding=1))
    assert [a.name for a in people.domain.all] == ["Sex", "Age", "column"]
    assert recon.bound(people, {"Sex": "Male", "column": "Yes"}).min == 30
    assert recon.bound(people, {}).max == 101


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (NAMES.replace("Total,55,46,101", "Total,110,92,202"), "line 2: 'Sex'"),  # groups of one attribute
        (NAMES.replace("Male,30,20,50", "Male,30,21,51"), "line 2: 'Sex'"),
        (NAMES.replace("Male,30,20,50", "Male,30,x,50"), "line 2: 'Sex'"),
        (VALUES.replace("Males,,,\n", ""), "line 5: 'Females'"),
        ("region,f,m,total\nNorth,,,\nSouth,5,6,11\nEast,,,\nWest,7,8,15\ntotal,12,14,26\n", "line 2: 'North'"),
        ("who,area,no,yes\nN,,,\nf,x,31,4\nm,x,5,6\nS,,,\nf,y,2,7\nm,y,6,30\n", "line 2: 'N'"),  # two columns of labels
    ],
)
def test_lines_without_counts_are_asked_about_where_they_may_be_missing(tmp_path, text, place):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ReconError, match=f"{place} stands alone"):
        recon.load(tmp_path / "table.csv")


def test_tables_are_read_back_before_anything_else(tmp_path, run):
    path = tmp_path / "table.csv"
    path.write_text("region,sex,count\nA,f,12\nA,m,x\nA,total,30\n", encoding="utf-8")
    shown = run("audit", path, "--show-table", code=0).stdout
    assert "attribute 'sex': f, m; all together: 'total'" in shown
    assert "'x' hides 1 count: any number" in shown
    assert "'x' hides 1 count: 1 to 4" in run("audit", path, "--show-table", "--suppressed", "1..4", code=0).stdout
    report = run("audit", path, code=0).stdout
    assert 0 < report.index("The table as it is understood") < report.index("What an adversary is left with")
    found = json.loads(run("audit", path, "--json", code=0).stdout)
    assert "attribute 'region': A" in found["read_from"][0]["understood"]
    assert "--suppressed" in run("audit", path, "--suppressed", "some", code=2).stderr


def test_large_pivots_are_refused_with_a_step_before_their_counts_are_made(tmp_path, run, monkeypatch):
    text = "code,female,male\n" + "".join(f"c{k},{5 + k % 7},{6 + k % 5}\n" for k in range(300))
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    with monkeypatch.context() as some:
        some.setattr("recon.readers.formats.tables.counted.EACH", 10_000_000)
        assert "(--memory)" in run("audit", path, "--show-table", code=3).stderr
    monkeypatch.setattr("recon.readers.formats.tables.layout.MAX_LINES", 500)
    assert "has 600 counts, more than 500: cut it by one attribute" in run("audit", path, "--show-table", code=3).stderr
    monkeypatch.setattr("recon.io.files.sheets.MAX_LINES", 200)
    assert "has more than 200 lines: cut it by one attribute" in run("audit", path, "--show-table", code=3).stderr


def test_a_blank_column_of_a_pivot_hides_counts(tmp_path, run):
    """A column without a cell, beside counts: it was taken for labels, and whoever stands in it did not exist."""
    path = tmp_path / "pivot.csv"
    path.write_text("sex,A,B,C\nF,,10,11\nM,,12,11\n")
    assert "--count-column 'A'" in run("count", path, code=3).stderr
    named = [word for name in "ABC" for word in ("--count-column", name)]
    shown = run("count", path, *named, "--show-table").stdout
    assert "attribute 'column': A, B, C" in shown
    assert "2 counts are hidden" in shown
    path.write_text("Persons\n,A,B,C,Total\nF,10,,11,25\nM,12,,11,23\nTotal,22,,22,48\n")
    assert "3 counts are hidden" in run("count", path, "--show-table").stdout


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("Area,n\nEngland,60\n North,25\n  Leeds,10\n  York,15\n South,35\n", ["England", "North", "York"]),
        ("Area,n\nTotal,60\n North,25\n  f,*\n  m,15\n South,35\n  f,20\n  m,15\n", ["North", "m"]),
        ("Area,n\nNorth,25\nSouth,35\n  Total,60\n", [""]),  # a total that is indented
        ("Area,n\nNorth,25\n South,99\nWest,7\n", ["South"]),  # more than the line above: a stray blank
    ],
)
def test_indented_labels_lie_in_the_line_above(text, cells):
    found = counted_table(text_sheet(text))
    assert tuple(cells) in {line.cells for line in found.lines}


def test_indents_that_no_sum_bears_out_are_asked_about():
    for text in ("Area,n\nNorth,25\n South,7\nWest,7\n", "group,n\nPersons,60\n of which women,35\n"):
        with pytest.raises(ReconError, match=r"is indented below '(?:North|Persons)'.*a column for each level"):
            counted_table(text_sheet(text))


def test_indents_of_cells_in_a_workbook_are_read_with_their_columns():
    book = openpyxl.Workbook()
    rows = [("Group", "n"), ("All", 30), ("White", 20), ("under 18", 8), ("18+", 12), ("Black", 10), ("under 18", "q?")]
    for i, (row, indent) in enumerate(zip(rows, (0, 0, 1, 2, 2, 1, 2), strict=True), start=1):
        book.active.append(row)
        book.active.cell(i, 1).alignment = openpyxl.styles.Alignment(indent=indent)
    out = io.BytesIO()
    book.save(out)
    with pytest.raises(ReconError) as error:
        counted_table(workbook_sheet(out.getvalue()))
    assert error.value.place == "sheet 'Sheet', row 7, column B"


def test_a_column_of_codes_whose_totals_are_codes_is_set_apart():
    text = "geo,area,n\nE1,Leeds,5\nE2,York,7\nE9,All areas,12\n"
    assert counted_table(text_sheet(text)).names == ("area",)
    with table_read_as(TableOptions.said(total_label=["England"])):
        assert counted_table(text_sheet(text.replace("All areas", "England"))).names == ("area",)
    kept = counted_table(text_sheet("sex,treated,n\nf,yes,5\nm,no,7\ntotal,total,12\n"))
    assert kept.names == ("sex", "treated")


def test_the_total_of_one_attribute_answers_for_no_other():
    text = "area,age,n\nA,young,5\nA,old,25\nA,both,30\nB,young,9\nB,old,7\nB,both,16\n"
    text += "AB,young,14\nAB,old,32\nAB,both,46\n"
    with table_read_as(TableOptions.said(total_label=["AB"])), pytest.raises(ReconError, match="--total-label 'both'"):
        counted_table(text_sheet(text))
    with table_read_as(TableOptions.said(total_label=["AB", "none"])):
        assert len(counted_table(text_sheet(text)).lines) == 9


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Statistics,area,VALUE\nPersons,A,5\nPersons,B,7\nRate,A,5\nRate,B,7\n", 2),
        ("UNIT_MEASURE,area,OBS_VALUE\nPS,A,5\nPS,B,7\n", 2),
        ("Indicator,area,VALUE\nIncome,A,5\nHealth,A,7\n", 2),
    ],
)
def test_lines_that_measure_something_else_are_no_counts(text, left):
    found = counted_table(text_sheet(text))
    assert len(found.lines) == left
    assert found.names[-1:] == ("area",)


def test_a_unit_of_money_counts_nobody():
    with pytest.raises(ReconError, match="no line counts people"):
        counted_table(text_sheet("UNIT_MEASURE,area,OBS_VALUE\nEUR,A,5\nEUR,B,7\n"))


def test_behind_a_gap_texts_of_one_cell_are_no_lines():
    found = counted_table(text_sheet("area,sex,n\nA,f,5\nA,m,7\n\nNotes:\nCrown copyright\n"))
    assert len(found.lines) == 2
    with pytest.raises(ReconError, match="line 6"):
        counted_table(text_sheet("area,sex,n\nA,f,5\nA,m,7\nC,f,1\nC,m,2\nB\n"))


@pytest.mark.parametrize("cell", ["#DIV/0!", "seven", "see note"])
def test_a_cell_that_is_no_count_does_not_take_its_column_out_of_a_pivot(cell):
    text = f"region,f,m,total\nN,3,{cell},7\nS,5,6,11\n"
    with pytest.raises(ReconError, match=r"of the column 'm' is neither a count nor a mark") as error:
        counted_table(text_sheet(text))
    assert error.value.place == "line 2"
    with table_read_as(TableOptions.said(suppressed=[f"{cell}=0.."])):
        found = counted_table(text_sheet(text))
    assert [str(line.count) for line in found.lines] == ["3", "?", "7", "5", "6", "11"]


@pytest.mark.parametrize("mark", ["*", "x", ".."])
def test_percentages_with_a_mark_are_no_attribute(mark):
    """ "*" stands for all elsewhere: "smoker" was taken for the codes of the percentages, and left out."""
    text = f"smoker,n,Percent\nyes,20,40\nno,{mark},{mark}\nformer,30,60\n"
    with table_read_as(TableOptions.said(suppressed=[f"{mark}=1..4"])):
        found = counted_table(text_sheet(text))
    assert found.names == ("smoker",)
    assert [(line.cells, line.count.low, line.count.high) for line in found.lines] == [
        (("yes",), 20, 20), (("no",), 1, 4), (("former",), 30, 30)]  # fmt: skip
    assert "'Percent'" in " ".join(found.understood) or "Percent" in found.figures


FIGURES = {
    "shares of lines": ("sex,age,n,row_pct,col_pct\nF,y,5,42,50\nF,o,7,58,47\nM,y,5,38,50\nM,o,8,62,53\n",
                        ("sex", "age"), ("row_pct", "col_pct")),
    "sums of the lines above": ("group,Freq,cumulative\na,10,10\nb,20,30\nc,5,35\n", ("group",), ("cumulative",)),
    "of how many": ("icd,patients,deaths\nA00,120,3\nB01,80,1\n", ("icd",), ("patients",)),
    "small and large numbers of R": ("icd,n,rate\nA00,120,1.5e+02\nB01,80,1e-04\n", ("icd",), ("rate",)),
    "intervals": ("drug,n,95% CI\nA,10,5-15\nB,12,6-18\n", ("drug",), ("95% CI",)),
    "a value that is called so": ("rate,age,n\nlow,y,5\nlow,o,6\nhigh,y,7\nhigh,o,8\n", ("rate", "age"), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_figures_of_the_lines_are_no_values_of_people(name):
    text, names, figures = FIGURES[name]
    found = counted_table(text_sheet(text))
    assert (found.names, tuple(found.figures)) == (names, figures)


def test_a_column_of_missing_values_of_a_pivot_is_one_of_its_counts():
    assert len(counted_table(text_sheet("sex,yes,no,missing\nF,5,7,2\nM,6,9,1\n")).lines) == 6


UNREAD = {  # what is set apart and says more than the counts
    "means beside a pivot": ("age,men,women,mean income\n0-17,30,28,1000\n18+,100,104,2300\n", "mean income"),
    "shares that are none": ("age,men,women,total,% women\n0-17,30,28,58,77.3\n18+,100,104,204,51\n", "% women"),
    "shares": ("age,men,women,total,% women\n0-17,30,28,58,48.3\n18+,100,104,204,51\n", ""),
    "ratios": ("age,men,women,ratio\n0-17,30,28,1.07\n18+,100,104,0.96\n", ""),
    "remarks beside a pivot": ("region,f,m,total,remark\nN,3,4,7,as before\nS,5,6,11,\n", "remark"),
    "remarks beside counts": ("region,remark,n\nN,ill,7\nS,,11\n", "remark"),
    "where lines are from": ("region,source,n\nN,census,7\nS,survey,11\n", ""),
    "lines of other units": ("unit,area,n\npersons,A,5\npersons,B,7\nrate,A,5\n", "lines whose 'unit' is rate"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREAD)
def test_what_is_set_apart_and_says_more_than_counts_is_not_used(name):
    text, unread = UNREAD[name]
    found = read_count_table(text)
    assert [one.what.removeprefix("the column ").strip("'") for one in found.origin.unused] == [unread] * bool(unread)


STACKED = {
    "of two attributes": ("variable,level,n\nsex,F,40\nsex,M,61\nsmoker,yes,20\nsmoker,no,81\n", ("sex", "smoker"),
                          {("F", ""): 40, ("M", ""): 61, ("", "yes"): 20, ("", "no"): 81}),
    "of two attributes, under the values of a third": (
        "Persons by smoking\nvariable,level,yes,no\nsex,F,4,6\nsex,M,5,7\nage,young,3,8\nage,old,6,5\n",
        ("smoking", "sex", "age"), {
            ("yes", "F", ""): 4, ("no", "F", ""): 6, ("yes", "M", ""): 5, ("no", "M", ""): 7,
            ("yes", "", "young"): 3, ("no", "", "young"): 8, ("yes", "", "old"): 6, ("no", "", "old"): 5}),
    "of one value each": ("variable,level,n\nsex,M,40\nage,old,61\n", ("sex", "age"), {("M", ""): 40, ("", "old"): 61}),
    "by town": ("town,Characteristic,Category,Count\nX,sex,F,4\nX,sex,M,6\nY,sex,F,7\nY,sex,M,9\n", ("town", "sex"),
                {("X", "F"): 4, ("X", "M"): 6, ("Y", "F"): 7, ("Y", "M"): 9}),
}  # fmt: skip


@pytest.mark.parametrize("name", STACKED)
def test_a_column_that_names_attributes_counts_everybody_once_for_each(name):
    text, names, counts = STACKED[name]
    found = counted_table(text_sheet(text))
    assert found.names == names
    assert {line.cells: line.count.low for line in found.lines} == counts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("variable,level,n\nsex,F,40\nsex,M,61\nsmoker,,20\n", "'variable' and 'level' say no value here"),
        ("variable,level,n\n,F,40\nsex,M,61\n", "'variable' and 'level' say no value here"),
        ("sex,variable,level,n\nF,sex,F,40\nM,sex,M,61\n", "'sex' is a column and a value of 'variable'"),
    ],
)
def test_a_column_of_attributes_that_cannot_be_taken_apart_is_refused(text, why):
    with pytest.raises(ReconError, match=why):
        counted_table(text_sheet(text))


BASES = {
    "a mark among the percentages": ("a,n,Percent\nyes,50,40\nno,50,*\n", "'n' is 50, of which 'Percent' .40. is no"),
    "several answers of each": ("a,n,Percent\ntea,1 200,30.5\nmilk,1 200,60.1\n", "'n' is 1,200, of which"),
    "as many asked in each town": ("t,a,n,Percent\nX,tea,50,30\nX,milk,50,60\nY,tea,70,20\nY,milk,70,90\n", "is no sh"),
    "counts that are alike": ("a,n,Percent\ntea,50,50\nmilk,50,50\n", ""),
    "shares of all": ("t,a,n,Percent\nX,tea,5,12.5\nX,milk,5,12.5\nY,tea,15,37.5\nY,milk,15,37.5\n", ""),
    "shares above those that they may be": (
        "a,n,Percent\ntea,50,60\nmilk,50,70\n",
        "'n' is 50, of which 'Percent' .60.",
    ),
    "nobody in one town": ("t,a,n,Percent\nX,tea,50,30\nX,milk,50,60\nY,tea,0,0\nY,milk,0,0\n", "'n' is 50, of which"),
    "shares of all, rounded up": (
        "t,a,n,Percent\nX,a,99,50\nX,b,99,50\nX,c,99,50\nY,a,101,51\nY,b,101,51\nY,c,101,51\n",
        "",
    ),
    "a whole that is hidden": ("t,a,n,Percent\nX,tea,5,25\nX,milk,5,25\nY,tea,*,30\nY,milk,*,20\n", ""),
    "counts that differ": ("a,n,Percent\ntea,50,3\nmilk,60,7\n", ""),
}


@pytest.mark.parametrize("name", BASES)
def test_how_many_were_asked_is_not_how_many_answered_so(name):
    text, why = BASES[name]
    if why:
        with pytest.raises(ReconError, match=why):
            counted_table(text_sheet(text))
    else:
        assert "Percent" in counted_table(text_sheet(text)).figures


def test_columns_of_notes_beside_counts_are_said_to_be_set_apart():
    found = counted_table(text_sheet("region,f,m,total,remark\nN,3,4,7,as before\nS,5,6,11,\n"))
    assert "'remark' is set apart: no counts" in found.understood


def test_a_column_behind_counts_that_alone_distinguishes_lines_is_named():
    with pytest.raises(ReconError, match="line 1: the column 'area' distinguishes lines but is behind counts"):
        counted_table(text_sheet("town,f,m,area\nX,31,4,north\nX,42,5,south\nY,57,7,north\nY,13,8,south\n"))


CODES = {
    "ones": (1, 2, 3),
    "zeros": (0, 1),
    "years": (1950, 1957, 1964),
    "words": ("ra", "rb", "rc"),
    "bits": (False, True),
}


@st.composite
def frames_of_codes(draw):
    """Draw a frame of two to five columns of few values, and how many of them stand in the lines of its cross table."""
    kinds = draw(st.lists(st.sampled_from(sorted(CODES)), min_size=2, max_size=5))
    lines = draw(st.integers(max(1, len(kinds) - 2), min(3, len(kinds) - 1)))
    size = draw(st.integers(6, 80))
    source = draw(st.randoms(use_true_random=False))
    names = ("sex", "region", "smoker", "tenure", "school")
    frame = {n: source.choices(CODES[kind], k=size) for n, kind in zip(names, kinds, strict=False)}
    made = pd.DataFrame(frame)
    assume(made.nunique().min() > 1)
    return made, lines


@settings(max_examples=30)
@given(frames_of_codes())
def test_a_cross_table_of_any_frame_is_read_as_what_it_counts(tmp_path_factory, drawn):
    frame, lines = drawn
    names = list(frame)
    path = tmp_path_factory.mktemp("cross") / "cross.csv"
    every = [frame[n] for n in names]
    pd.crosstab(every[:lines], every[lines:], margins=True).to_csv(path)
    sheet = text_sheet(path.read_text(encoding="utf-8"))
    try:
        table = counted_table(sheet)
    except recon.ReleaseError as refusal:
        error = str(refusal)
        table = counted_table(sheet, TableOptions.said(total_label=["none"]))
    else:
        error = ""
    # by chance one value may have as many rows as all others together, everywhere: the advice is followed
    assert not error or ("is the sum of the other values" in error and "--total-label none" in error)
    expected = frame.astype(str).value_counts().to_dict()
    found = {line.cells: line.count.low for line in table.lines if line.count.low}
    assert {cells: count for cells, count in found.items() if not {"", "All"} & set(cells)} == expected


@pytest.mark.parametrize("cells", [((64, 57), (74, 62)), ((5, 3), (3, 5))])
def test_counts_under_the_labels_beside_them_are_no_covariances(tmp_path, cells):
    """A cross table of two attributes of the same values is square, with its labels on both sides."""
    (a, b), (c, d) = cells
    path = tmp_path / "square.csv"
    path.write_text(f"sex,no,yes,All\nno,{a},{c},{a + c}\nyes,{b},{d},{b + d}\nAll,{a + b},{c + d},{a + b + c + d}\n")
    assert recon.load(path).statements.rows.low == a + b + c + d
