"""Tables of τ-ARGUS and sdcTable: what their status hides, and metadata that are none."""

from __future__ import annotations

import pytest

import recon
from recon.readers.formats.tables.magnitudes import table_of_argus
from recon.readers.formats.tables.status_tables import metadata_of
from solvers.foundation.errors import ReleaseError

RDA = """<SEPARATOR> ";"
region
  <RECODABLE>
  <TOTCODE> "Total"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
sex
  <RECODEABLE>
  <TOTCODE> "T"
turnover
  <NUMERIC>
  <DECIMALS> 1
n
  <FREQUENCY>
status
  <STATUS>
  <SAFE> "S"
  <UNSAFE> "U"
"""
TAB = """Total;T;900.5;30;S
North;T;500.0;18;S
N1;T;200.0;10;S
N2;T;300.0;8;S
South;T;400.5;12;S
Total;F;400.0;14;S
North;F;200.0;9;S
N1;F;100.0;6;M
N2;F;100.0;3;U
South;F;200.0;5;S
N1;M;1.0;4;M
N2;M;1.0;5;M
North;M;2.0;9;S
South;M;3.0;7;S
Total;M;4.0;16;S
"""
HRC = "North\n@N1\n@N2\nSouth\n"
WRONG = {
    "no counts": (RDA.replace("<FREQUENCY>", "<NUMERIC>"), "names no table of counts"),
    "levels": (RDA.replace('<HIERCODELIST> "region.hrc"', "<HIERLEVELS> 1 1"), "line 6: <HIERLEVELS> is not read"),
    "before": ("<TOTCODE> 3\n" + RDA, "line 1: <TOTCODE> stands before any variable"),
}


@pytest.fixture
def folder(tmp_path):
    for name, text in (("t.rda", RDA), ("t.tab", TAB), ("region.hrc", HRC)):
        (tmp_path / name).write_text(text)
    return tmp_path


def options(folder):
    return recon.TableOptions.said(metadata=str(folder / "t.rda"))


def test_a_table_file_is_read_by_its_metadata(folder):
    release = recon.load(folder / "t.tab", table=options(folder))
    assert [(a.name, a.values) for a in release.domain.all] == [
        ("region", ("N1", "N2", "South")), ("sex", ("F", "M")),
    ]  # fmt: skip
    assert sum(f.suppressed is not None for f in release.models[0].statements) == 4
    hidden = recon.bound(release, {"region": "N1", "sex": "F"})
    assert (hidden.min, hidden.max) == (1, 9), "what the file says of it is not published"
    assert recon.bound(release, {"region": {"in": ["N1", "N2"]}, "sex": "F"}).max == 9


def test_lines_that_do_not_fit_the_metadata_are_refused(folder):
    (folder / "t.tab").write_text(TAB + "N1;F;3\n")
    with pytest.raises(ReleaseError, match="line 16: has 3 cells, the metadata 5 variables"):
        recon.load(folder / "t.tab", table=options(folder))


@pytest.mark.parametrize("name", WRONG)
def test_metadata_of_something_else_are_refused(name):
    text, why = WRONG[name]
    with pytest.raises(ReleaseError, match=why):
        metadata_of(text, "t.rda")


def test_other_separators_and_no_status():
    found = metadata_of('<SEPARATOR> "TAB"\nregion\n<RECODABLE>\nn\n<FREQUENCY>\nhigh\n<MAXSCORE>\n', "x.rda")
    assert (found.separator, found.names("code"), found.names("largest")) == ("\t", ["region"], ["high"])


def test_what_sdctable_suppressed_is_hidden(tmp_path):
    text = "region,sex,freq,sdcStatus\nTot,T,20,s\nA,T,12,s\nB,T,8,s\n"
    text += "A,f,3,u\nA,m,9,x\nB,f,6,x\nB,m,2,u\nTot,f,9,s\nTot,m,11,s\n"
    text = text.replace("Tot", "total").replace(",T,", ",total,")
    (tmp_path / "t.csv").write_text(text)
    release = recon.load(tmp_path / "t.csv")
    assert [a.name for a in release.domain.all] == ["region", "sex"]
    found = recon.bound(release, {"region": "A", "sex": "f"})
    assert (found.min, found.max) == (1, 9)
    (tmp_path / "u.csv").write_text("region,persons,sdcStatus\nA,3,u\n")
    with pytest.raises(ReleaseError, match="a column of counts called freq is needed"):
        recon.load(tmp_path / "u.csv")


REAL = """   <SEPARATOR> ";"
Size "99"
    <RECODEABLE>
    <TOTCODE> "Total"
Region "9"
    <RECODEABLE>
    <TOTCODE> "Total"
    <DISTANCE> 2 4
    <CODELIST> "REGION.CDL"
    <HIERARCHICAL>
    <HIERCODELIST> "C:\\region.hrc"
    <HIERLEADSTRING> "@"
Var2
    <NUMERIC>
    <DECIMALS> 2
FreqVar
    <FREQUENCY>
Var2_Cost
    <NUMERIC> <COSTVAR>
Top1
    <MAXSCORE>
StatusVar
    <STATUS>
Upper
    <NUMERIC> <UPPERPL>
"""


def real_lines():
    """Return lines as tau-ARGUS writes them: codes in quotes, decimal commas, empty cells of codes that are missing."""
    cells = {("s", "N1"): (4, "U"), ("s", "N2"): (6, "S"), ("s", "South"): (7, "P"), ("s", "9"): (2, "S"),
             ("t", "N1"): (3, "S"), ("t", "N2"): (8, "S"), ("t", "South"): (5, "S"), ("t", "9"): (0, "E")}  # fmt: skip
    above = {"N1": ("N1", "North", "Total"), "N2": ("N2", "North", "Total")}
    sums, status = {}, {}
    for (size, region), (count, one) in cells.items():
        for a in (size, "Total"):
            for b in above.get(region, (region, "Total")):
                sums[a, b] = sums.get((a, b), 0) + count
                status[a, b] = one if (a, b) == (size, region) else "S"
    return "".join(
        f'"{a}";"{b}";{10 * n},{"50" if n else "00"};{n};1,00;{6 * n},{"25" if n else "00"};{status[a, b]};0,01\n'
        for (a, b), n in sums.items()
    )


def test_what_tau_argus_itself_writes(tmp_path):
    """Several tags in a line, codes of missing ones in no hierarchy, decimal commas, empty and protected cells."""
    (tmp_path / "region.hrc").write_text(HRC)
    (tmp_path / "t.rda").write_text(REAL)
    (tmp_path / "t.tab").write_text(real_lines())
    release = recon.load(tmp_path / "t.tab", table=options(tmp_path))
    assert [(a.name, a.values) for a in release.domain.all] == [
        ("Size", ("s", "t")), ("Region", ("N1", "N2", "South", "9")),
    ]  # fmt: skip
    shown = {s.name: (s.count, s.suppressed) for s in release.models[0].statements}
    assert [name for name, (_, gone) in shown.items() if gone] == ["line 1"]  # U alone; P and E are published
    for where, count in (({"Size": "s", "Region": "N1"}, 4), ({"Region": "9"}, 2), ({"Size": "t", "Region": "9"}, 0)):
        found = recon.bound(release, where)
        assert (found.min, found.max) == (count, count)
    table = table_of_argus(str(tmp_path / "t.tab"), str(tmp_path / "t.rda"), None, ())
    assert (table.value, table.decimals, int(table.contributions.totals[0])) == ("Var2", 2, 4050)
    assert table.hidden.tolist() == [gone is not None for _, gone in shown.values()]


def test_a_table_that_sdctable_writes_for_tau_argus_has_its_counts_as_a_number(folder):
    (folder / "t.rda").write_text(RDA.replace("turnover\n  <NUMERIC>", "turnover\n  <COST>").replace(
        "n\n  <FREQUENCY>", "freq\n  <NUMERIC>").replace('<UNSAFE> "U"', '<UNSAFE> "U"\n  <PROTECT> “M”'))  # fmt: skip
    found = recon.bound(recon.load(folder / "t.tab", table=options(folder)), {"region": "N1", "sex": "F"})
    assert (found.min, found.max) == (6, 6)  # M is protected, and so published
