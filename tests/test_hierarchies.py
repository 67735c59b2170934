"""Hierarchies of categories: read from files of offices, refused where they are none, and what they mean for counts."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import recon
from recon.cli.app import app
from recon.readers.formats.tables.hierarchies import CategoryTree, hierarchies_of
from solvers.foundation.errors import ReleaseError

NACE = "nace,sex,count\nA,F,20\nA,M,25\nA1,F,12\nA1,M,*\nA2,F,8\nA2,M,*\nB,F,30\nB,M,28\ntotal,total,103\n"
FORMS = {
    "n.hrc": "A\n@A1\n@A2\nB\n@B1\n@B2\n",
    "pairs.csv": "code,parent\nA1,A\nA2,A\nB1,B\nB2,B\n",
    "levels.csv": "level,name\n@,Total\n@@,A\n@@@,A1\n@@@,A2\n@@,B\n@@@,B1\n@@@,B2\n",
    "semicolons.csv": "code;parent\nA1;A\nA2;A\nB1;B\nB2;B\n",
}
WRONG = {
    "loop.csv": ("code,parent\nA1,A\nA,A11\nA11,A1\n", r"has a loop: 'A1' in 'A' in 'A11' in 'A1'"),
    "own.csv": ("code,parent\nA,A\n", r"has a loop: 'A' in 'A'"),
    "twice.hrc": ("A\n@A1\nB\n@A1\n", "line 4: the code 'A1' stands twice"),
    "deep.hrc": ("A\n@@A1\n", "line 2: 'A1' is 2 levels deep"),
    "two.csv": ("code,parent\nA1,A\nA1,B\n", "line 3: 'A1' of 'nace' lies in 'A' and in 'B'"),
    "blank.csv": ("code,parent\n,A\n", "line 2: a code is missing"),
    "one.csv": ("code\nA\n", "is no hierarchy"),
    "short.hrc": ("A\n@A1\n", "'A2' of 'nace' is not in the hierarchy"),
}


def options(*hierarchy):
    return recon.TableOptions.said(hierarchy=hierarchy)


@pytest.mark.parametrize("form", FORMS)
def test_a_code_is_the_union_of_those_below_it(tmp_path, form):
    (tmp_path / "t.csv").write_text(NACE)
    (tmp_path / form).write_text(FORMS[form])
    release = recon.load(tmp_path / "t.csv", table=options(f"nace={tmp_path / form}"))
    assert release.domain.all[0].values == ("A1", "A2", "B1", "B2")
    above = recon.bound(release, {"nace": {"in": ["A1", "A2"]}, "sex": "M"})
    assert (above.min, above.max) == (25, 25)
    assert (recon.bound(release, {"nace": "A1", "sex": "M"}).min, recon.bound(release, {"nace": "A1"}).max) == (0, 37)


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_hierarchy_is_refused(tmp_path, name):
    text, why = WRONG[name]
    (tmp_path / "t.csv").write_text(NACE)
    (tmp_path / name).write_text(text)
    with pytest.raises(ReleaseError, match=why):
        recon.load(tmp_path / "t.csv", table=options(f"nace={tmp_path / name}"))


def test_a_missing_file_and_wrong_usage(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(NACE)
    with pytest.raises(ReleaseError, match="cannot be read"):
        recon.load("t.csv", table=options("nace=none.hrc"))
    assert CliRunner().invoke(app, ["count", "t.csv", "--hierarchy", "nace"]).exit_code == 2


def test_districts_lie_in_the_regions_beside_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "region,district,count\nN,n1,*\nN,n2,4\nS,s1,*\nS,s2,7\nN,total,9\nS,total,8\ntotal,total,17\n"
    (tmp_path / "t.csv").write_text(text)
    loose, tied = recon.load("t.csv"), recon.load("t.csv", table=options("district=region"))
    assert recon.bound(loose, {"region": "N", "district": "s1"}).max == 5
    assert recon.bound(tied, {"region": "N", "district": "s1"}).max == 0
    found = recon.bound(tied, {"district": "n1"})
    assert (found.min, found.max) == (5, 5)
    (tmp_path / "bad.csv").write_text("region,district,count\nN,n1,3\nS,n1,4\ntotal,total,7\n")
    with pytest.raises(ReleaseError, match="'n1' lies in 'N' and in 'S'"):
        recon.load("bad.csv", table=options("district=region"))


def test_a_table_of_districts_joins_one_of_regions(tmp_path, monkeypatch):
    """The region's count less its other districts' is that of the hidden one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "regions.csv").write_text("region,count\nN,9\nS,8\n")
    (tmp_path / "districts.csv").write_text("district,count\nn1,*\nn2,4\ns1,*\ns2,7\ntotal,17\n")
    (tmp_path / "in.csv").write_text("district,region\nn1,N\nn2,N\ns1,S\ns2,S\n")
    alone = recon.load("regions.csv", "districts.csv")
    assert (recon.bound(alone, {"district": "n1"}).min, recon.bound(alone, {"district": "n1"}).max) == (0, 6)
    joined = recon.load("regions.csv", "districts.csv", table=options("district=in.csv"))
    found = recon.bound(joined, {"district": "n1"})
    assert (found.min, found.max) == (5, 5)


def test_three_levels_and_what_is_left_out():
    tree = CategoryTree.of("c", "f", {"a": None, "b": "a", "c": "b", "d": "b", "e": "a"})
    assert tree.leaves() == {"a": ["c", "d", "e"], "b": ["c", "d"], "c": ["c"], "d": ["d"], "e": ["e"]}
    tests, attribute = tree.column(["a", "b", "e", "total"], frozenset({"total"}))
    assert [None if t is None else t.values for t in tests] == [None, ("c", "d"), ("e",), None]
    assert attribute.values == ("c", "d", "e")
    assert hierarchies_of(["other=x.hrc"], ["c"], {"c": ["a"]}, frozenset()) == ({}, []), "about another table"


def test_parents_that_are_codes_of_the_column_make_a_tree_whatever_their_column_is_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("district,count\nLeeds,12\nYork,*\nYorkshire,36\nBath,7\ntotal,43\n")
    (tmp_path / "in.csv").write_text("district,region\nLeeds,Yorkshire\nYork,Yorkshire\nBath,South West\n")
    found = recon.bound(recon.load("t.csv", table=options("district=in.csv")), {"district": "York"})
    assert (found.min, found.max) == (24, 24)
    (tmp_path / "in.csv").write_text("district,region\nLeeds,Yorkshire\nYorkshire,Leeds\n")
    with pytest.raises(ReleaseError, match=r"has a loop: 'Leeds' in 'Yorkshire' in 'Leeds'"):
        recon.load("t.csv", table=options("district=in.csv"))
    with pytest.raises(recon.ContradictionError):
        recon.bound(recon.load("t.csv"), {"district": "York"})
    told = CliRunner().invoke(app, ["audit", "t.csv", "--show-table"]).output
    assert "line 6: the total 43 is less than the sum of its parts, 55" in told
    assert "--hierarchy" in told
