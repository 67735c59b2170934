"""Tables of τ-ARGUS and sdcTable: what their status hides, and metadata that are none."""

from __future__ import annotations

import pytest

import recon
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
