"""H2O's MOJO files: rows of both sides of every split, of all rows at the first; truth, what is left out, bad input."""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
from pathlib import Path

import pandas as pd
import pytest

import recon
from recon.readers.formats.boosters import h2o
from recon.readers.formats.boosters.h2o import DETAILS, SETTINGS, read_mojo
from recon.readers.frames.world import violations
from solvers.foundation.errors import ReconError, ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"  # written by H2O 3.44 from h2o_rows.csv: gaps, categories, numbers
ROWS = pd.read_csv(CORPUS / "h2o_rows.csv")
FEATURES = ["age", "weight", "town", "smoker"]
LABELS = {"forest": "ill", "drawn": "ill", "boosted": "grade", "numbers": "pressure"}


def loaded(name):
    label = LABELS[name]
    rows = ROWS[[*FEATURES, label]]
    return rows, recon.load(CORPUS / f"h2o_{name}.zip", domain=recon.Domain.from_frame(rows, label=label))


@pytest.mark.parametrize("name", LABELS)
def test_the_true_rows_are_never_excluded(name):
    rows, release = loaded(name)
    assert violations(release, rows) == []
    assert (release.rows.low, release.rows.high) == (80, 80)
    assert violations(release, rows.assign(age=rows.age.iloc[::-1].to_numpy()))


@pytest.mark.parametrize(("name", "other"), [("forest", "ill"), ("boosted", "grade")])
def test_classes_are_counted(name, other):
    rows, release = loaded(name)
    moved = rows[other].to_list()
    k = next(k for k, value in enumerate(moved) if value != moved[0])
    moved[0], moved[k] = moved[k], moved[0]
    assert violations(release, rows.assign(**{other: moved}))


def test_the_first_split_counts_all_rows_though_they_were_drawn():
    """Of each tree the two sides of the first split, with their classes; below it counts are least ones."""
    _, release = loaded("drawn")
    trees, first = release.models
    assert (trees.subsample, first.resampled) == (True, False)
    for tree in first.trees:
        counts = [node.support.counts for node in tree.nodes if node.condition is None]
        assert [sum(one) for one in zip(*counts, strict=True)] == ROWS.ill.value_counts().sort_index().tolist()
        ((attribute, test),) = tree.nodes[0].condition
        column = ROWS[attribute]
        ranged = test.values is None and ((column < test.high) | (not test.high_open and column == test.high))
        passing = (ranged if test.values is None else column.isin(test.values)) | (column.isna() & test.missing)
        assert counts[0] == tuple(ROWS[passing].ill.value_counts().reindex(["no", "yes"], fill_value=0))
    assert all(tree.nodes.leaf_counts.values.sum() < 80 for tree in trees.trees)


def test_a_category_stands_for_itself_and_gaps_are_gaps():
    release = recon.load(CORPUS / "h2o_forest.zip")
    town = next(one for one in release.domain.attributes if one.name == "town")
    assert town.values == ("Bonn", "Kiel", "Köln", "Ulm")
    assert {one.name for one in release.domain.attributes if one.missing} == {"weight", "town"}
    whole = ROWS.fillna({"weight": 70.0})
    with pytest.raises(ReleaseError, match="weight"):
        recon.load(CORPUS / "h2o_forest.zip", domain=recon.Domain.from_frame(whole[[*FEATURES, "ill"]], label="ill"))


def changed(name, member="", change=None, drop=(), **settings):
    """Return a file with one member changed by a function, some left out, and settings of its fit replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(CORPUS / f"h2o_{name}.zip") as archive, zipfile.ZipFile(out, "w") as made:
        for one in archive.namelist():
            content = archive.read(one)
            if one == member:
                content = change(content)
            if one == DETAILS and settings:
                told = json.loads(content)
                for parameter in told["parameters"]:
                    parameter["actual_value"] = settings.get(parameter["name"], parameter["actual_value"])
                content = json.dumps(told).encode()
            if one not in drop:
                made.writestr(one, content)
    return out.getvalue()


def replaced(old, new):
    def change(content):
        assert old in content
        return content.replace(old, new, 1)

    return change


def starting_from(said):
    """Return a change of the number that boosted trees of two classes start from."""

    def change(content):
        content = re.sub(rb"(?m)^distribution = .*$", b"distribution = bernoulli", content)
        return content.replace(b"init_f = 0.0", b"init_f = " + said.encode(), 1)

    return change


def figure(record, at, value):
    """Return a change of one of a split's figures: 2 and 3 are rows, 4 and 5 means."""

    def change(content):
        return content[: 40 * record + 4 * at] + struct.pack("<f", value) + content[40 * record + 4 * at + 4 :]

    return change


FIRST, AUX = "trees/t00_000.bin", "trees/t00_000_aux.bin"
REFUSED = (
    (("forest", SETTINGS, replaced(b"algo = drf", b"algo = glm")), {}, Unsupported, "of 'glm' is not read"),
    (("forest", SETTINGS, replaced(b"mojo_version = 1.40", b"mojo_version = 1.10")), {}, Unsupported, "version 1.10"),
    (("forest", SETTINGS, replaced(b"LITTLE", b"BIG")), {}, Unsupported, "big-endian"),
    (("forest", "", None, (DETAILS,)), {}, Unsupported, "does not say how it was fitted"),
    (("forest",), {"weights_column": {"column_name": "w"}}, Unsupported, "rows were weighted"),
    (("forest",), {"balance_classes": True}, Unsupported, "rows were weighted or repeated"),
    (("boosted",), {"checkpoint": {"name": "before"}}, Unsupported, "its training was continued"),
    (("forest",), {"histogram_type": "Random"}, Unsupported, "send rows elsewhere"),
    (("forest",), {"categorical_encoding": "OneHotExplicit"}, Unsupported, "were made of others"),
    (("forest", SETTINGS, replaced(b"n_columns = 5", b"n_columns = 6")), {}, ReleaseError, "does not name 6"),
    (("forest", SETTINGS, replaced(b"n_trees = 3", b"n_trees = x")), {}, ReleaseError, "has 'x' as n_trees"),
    (
        ("forest", SETTINGS, replaced(b"n_trees = 3", b"n_trees = 2")),
        {},
        ReleaseError,
        "archive 3 trees of 1 class",
    ),
    (("forest", SETTINGS, replaced(b"n_trees = 3", b"n_trees = 999999999")), {}, ReleaseError, "archive 3 trees"),
    (("forest", "", None, ("trees/t00_001.bin",)), {}, ReleaseError, "has 3 as n_trees, the archive 2 trees"),
    (
        (
            "forest",
            SETTINGS,
            replaced(b"n_trees_per_class = 1", b"n_trees_per_class = 999999999"),
            ("trees/t00_002.bin",),
        ),
        {},
        ReleaseError,
        "archive 2 trees",
    ),
    (
        ("forest", SETTINGS, replaced(b"n_trees = 3", b"n_trees = 2"), (FIRST,)),
        {},
        ReleaseError,
        "t00_000.bin: is not",
    ),
    (("forest", SETTINGS, replaced(b"2: 4 d000", b"2: 5 d000")), {}, ReleaseError, "has no categories"),
    (("forest", SETTINGS, replaced(b"2: 4 d000", b"x: 4 d000")), {}, ReleaseError, "has no categories"),
    (("forest", SETTINGS, replaced(b"2: 4 d000", b"5: 4 d000")), {}, ReleaseError, "has no categories as in '5: 4"),
    (("forest", SETTINGS, replaced(b"weight\n", b"age\n")), {}, ReleaseError, "does not name 5 different columns"),
    (
        ("forest", SETTINGS, lambda one: one.partition(b"[columns]")[0].replace(b"n_columns = 5", b"n_columns = 0")),
        {},
        ReleaseError,
        "does not name 0 different columns",
    ),
    (("forest", SETTINGS, replaced(b"n_features = 4", b"n_features = 1")), {}, ReleaseError, "tests column"),
    *(
        (("boosted", SETTINGS, starting_from(said)), {}, ReleaseError, f"has '{said}' as init_f")
        for said in (
            "x",
            "nan",
            "-1000",
        )
    ),
    (("forest", FIRST, lambda one: one[:-1]), {}, ReleaseError, "was cut off"),
    (("forest", FIRST, lambda one: one + b"x"), {}, ReleaseError, "goes on behind its last node"),
    (("forest", AUX, lambda one: one[:-40]), {}, ReleaseError, "has not the rows of"),
    (("forest", AUX, lambda one: one[40:] + one[:40]), {}, ReleaseError, "has the rows of node"),
    (("forest", AUX, figure(1, 2, 7.5)), {}, ReleaseError, "that are not whole"),
    (("forest", AUX, figure(1, 2, 2.0**24)), {}, ReleaseError, "beyond 16,777,215"),
    (("forest", AUX, figure(1, 4, float("nan"))), {}, ReleaseError, "means that are no numbers"),
    (("forest", AUX, figure(1, 4, 0.123)), {}, ReleaseError, "means that are no shares of rows"),
    (("drawn", AUX, figure(0, 2, 70.0)), {}, ReleaseError, "the first tree"),
    (("forest", DETAILS, lambda one: b"[]"), {}, ReleaseError, "is not what H2O writes"),
)


@pytest.mark.parametrize(("made", "settings", "error", "why"), REFUSED)
def test_what_counts_no_rows_or_contradicts_itself_is_refused(made, settings, error, why, tmp_path):
    (tmp_path / "model.zip").write_bytes(changed(*made, **settings))
    with pytest.raises(error, match=why):
        recon.load(tmp_path / "model.zip")


def rows_moved(content):
    """Return a tree whose second split counts a row more on one side than there is."""
    left = struct.unpack_from("<f", content, 40 + 8)[0]
    return figure(1, 2, left + 1)(content)


def test_fewer_rows_below_a_first_split_are_drawn_ones_and_a_contradiction_where_none_were(tmp_path):
    (tmp_path / "model.zip").write_bytes(changed("drawn", sample_rate=1))
    with pytest.raises(ReleaseError, match="in its two branches"):
        recon.load(tmp_path / "model.zip")
    (tmp_path / "model.zip").write_bytes(changed("forest", AUX, rows_moved))
    with pytest.raises(ReleaseError, match="in its two branches"):
        recon.load(tmp_path / "model.zip")
    (tmp_path / "model.zip").write_bytes(changed("forest", sample_rate=0.632))
    assert recon.load(tmp_path / "model.zip").models[0].subsample
    (tmp_path / "model.zip").write_bytes(changed("forest", sample_rate_per_class=[0.5, 1]))
    assert recon.load(tmp_path / "model.zip").models[0].subsample


def test_means_that_are_no_shares_leave_numbers_of_rows(tmp_path):
    """Boosted trees with an offset, or fitted to something else: rows of nodes without classes."""
    for file in (
        changed("boosted", offset_column={"column_name": "off"}),
        changed("boosted", SETTINGS, replaced(b"distribution = multinomial", b"distribution = quasibinomial")),
    ):
        draft = read_mojo(file)
        assert draft.classes is None
        assert draft.origin.counts == ("size",)
        assert any("no shares of rows" in one.why for one in draft.origin.unused)


def test_two_leaves_are_counted_together_where_bins_may_end_elsewhere():
    """H2O counts by bins what it sends by thresholds: at 74.5 years once 72 rows for 70 (UniformAdaptive, 483 values).

    Such a split into two leaves is left out; where a side is split again, its own rows are those that were sent.
    """
    with zipfile.ZipFile(CORPUS / "h2o_forest.zip") as archive:
        size = sum(len(archive.read(one)) // 40 for one in archive.namelist() if one.endswith("_aux.bin"))
    tests = [
        (node.condition[0], [tree.nodes[k].condition is None for k in (node.then, node.otherwise)])
        for tree in read_mojo((CORPUS / "h2o_forest.zip").read_bytes()).models[0].trees
        for node in tree.nodes
        if node.condition is not None
    ]
    assert 0 < len(tests) < size
    ages = [both for (name, _), both in tests if name == "age"]
    assert ages
    assert not any(all(both) for both in ages)
    assert any(all(both) for (name, _), both in tests if name in {"smoker", "town"})


def test_a_first_split_at_a_whole_number_is_not_told_of_drawn_rows():
    draft = read_mojo((CORPUS / "h2o_drawn.zip").read_bytes())
    told = {tree.nodes[0].condition[0][0] for tree in draft.models[1].trees}
    first = {tree.nodes[0].condition[0][0] for tree in draft.models[0].trees}
    assert "age" in first - told or "age" not in first
    assert len(told) < 4


def test_a_file_cut_anywhere_is_read_whole_or_refused(tmp_path):
    with zipfile.ZipFile(CORPUS / "h2o_drawn.zip") as archive:
        tree = archive.read(FIRST)
    for cut in range(0, len(tree), 31):
        with pytest.raises(ReconError):
            read_mojo(changed("drawn", FIRST, lambda _, cut=cut: tree[:cut]))


def test_inspection_says_what_the_reader_leaves_out():
    found = recon.inspect(CORPUS / "h2o_drawn.zip")
    assert found.rows == 80
    assert {one.level for one in found.findings} == {"high", "unknown"}
    left = " ".join(one.path for one in found.findings if one.level == "unknown")
    for part in ("model.ini (", "values of leaves", "squared errors", "all but the values of parameters", "README.md"):
        assert part in left


# ---------------------------------------------------------------- archives made here


NO_TREE = struct.pack("<BHf", 0, 0xFFFF, 0.0), b""


def stump(rows, means, end=0.5, kind=0, bits=b""):
    """Return the bytes of a tree of one split on column 0 and their figures; `kind` 8: by a set of categories."""
    test = bits if kind else struct.pack("<f", end)
    tree = struct.pack("<BHB", 0xF0 | kind, 0, 3) + test + struct.pack("<2f", 0.0, 0.0)
    return tree, struct.pack("<2i6f2i", 0, 0, *rows, *means, 0.0, 0.0, 1, 2)


def mojo(trees, classes=("a", "b", "c"), drawn=False, **info):
    """Return an archive with the trees of every class ("00_000": class, number), fitted to rows of x and y."""
    told = {"algo": "gbm", "mojo_version": "1.40", "endianness": "LITTLE_ENDIAN", "n_columns": 2, "n_features": 1,
            "n_trees": 1 + max(int(name[3:]) for name in trees), "n_trees_per_class": 3, "distribution": "multinomial",
            "init_f": "0.0"} | info  # fmt: skip
    lines = ["[info]", *(f"{key} = {value}" for key, value in told.items()), "[columns]", "x", "y", "[domains]"]
    lines += [f"1: {len(classes)} d000.txt"] if classes else []
    fitted = {"sample_rate": 0.5 if drawn else 1, "histogram_type": "AUTO", "categorical_encoding": "AUTO"}
    details = {"parameters": [{"name": name, "actual_value": value} for name, value in fitted.items()]}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        made.writestr(SETTINGS, "\n".join(lines))
        made.writestr(DETAILS, json.dumps(details))
        made.writestr("domains/d000.txt", "\n".join(classes))
        for name, (tree, aux) in trees.items():
            made.writestr(f"trees/t{name}.bin", tree)
            made.writestr(f"trees/t{name}_aux.bin", aux)
    return out.getvalue()


def of_share(counts, rows=(2, 4), share=1 / 3):
    """Return a first boosted tree whose sides have so many rows of the class: means above the share of the start."""
    return stump(rows, [k / n - share for k, n in zip(counts, rows, strict=True)])


def leaves(model):
    return [node.support for node in model.nodes if node.condition is None]


def test_a_class_without_a_tree_and_a_tree_without_a_split_say_nothing():
    """Of three classes over sides of 2 and 4 rows: (1, 1) of "a", (1, 2) of "c"; of "b" there is no tree."""
    draft = read_mojo(mojo({"00_000": of_share((1, 1)), "02_000": of_share((1, 2))}))
    forest, table = draft.models
    assert [[one.total for one in leaves(tree)] for tree in forest.trees] == [[2, 4]] * 2
    said = [(one.condition[-1][1].values, one.count) for one in table.statements]
    assert sorted(said) == [(("a",), 1), (("a",), 1), (("c",), 1), (("c",), 2)]
    alone = read_mojo(mojo({"00_000": of_share((1, 1)), "01_000": NO_TREE}))
    assert [one.total for one in leaves(alone.models[0])] == [2, 4]
    with pytest.raises(Unsupported, match="no tree of the H2O MOJO has a split"):
        read_mojo(mojo({"00_000": NO_TREE, "01_000": NO_TREE}))


def trees_of(means):
    return {"00_000": of_share((1, 3)), "00_001": stump((3, 3), means)}


def said_of(draft):
    return sorted((one.drawn, one.count or 0, one.low or 0) for one in draft.models[-1].statements)


def test_rows_of_a_class_are_least_ones_of_drawn_rows_but_at_the_first_split():
    """A later tree's means are of residuals: its first split has rows without classes."""
    draft = read_mojo(mojo(trees_of((0.7, -0.2)), drawn=True))
    trees, first, _ = draft.models
    assert trees.subsample
    assert sorted([one.total for one in leaves(tree)] for tree in first.trees) == [[2, 4], [3, 3]]
    assert said_of(draft) == said_of(read_mojo(mojo(trees_of((0, 0)), drawn=True)))  # as good as a third of 3 rows
    assert said_of(draft) == [(False, 1, 0), (False, 3, 0), (True, 0, 1), (True, 0, 3)]


def test_of_two_classes_means_are_shares_of_bernoulli_alone():
    """From a start of log(1/3 / (2/3)) sides with 1 of 2 and 3 of 4 rows of the second class."""
    tree = {"00_000": of_share((1, 3))}
    told = {"classes": ("no", "yes"), "n_trees_per_class": 1, "init_f": math.log(0.5)}
    draft = read_mojo(mojo(tree, distribution="bernoulli", **told))
    assert [one.counts for one in leaves(draft.models[0])] == [(1, 1), (1, 3)]
    other = read_mojo(mojo(tree, distribution="quasibinomial", **told))
    assert (other.classes, [one.counts for one in leaves(other.models[0])]) == (None, [None, None])


def test_a_forest_of_numbers_has_means_that_are_no_shares():
    draft = read_mojo(mojo({"00_000": stump((2, 4), (3.7, 5.1))}, (), algo="drf", n_trees_per_class=1))
    assert draft.classes is None
    assert [one.total for one in leaves(draft.models[0])] == [2, 4]


def test_splits_without_a_threshold_or_categories_and_too_many_nodes_are_refused(monkeypatch):
    for end in (math.nan, math.inf):
        with pytest.raises(ReleaseError, match="has no threshold of 'x'"):
            read_mojo(mojo({"00_000": stump((2, 4), (0, 0), end)}))
    with pytest.raises(ReleaseError, match="'x' has no categories"):
        read_mojo(mojo({"00_000": stump((2, 4), (0, 0), kind=8, bits=bytes(4))}))
    monkeypatch.setattr(h2o, "MAX_NODES", 2)
    with pytest.raises(ReleaseError, match="too many nodes"):
        read_mojo(mojo({"00_000": of_share((1, 1))}))


@pytest.mark.parametrize(
    ("counts", "proved"), [((0, 4), True), ((2, 0), True), ((3, 1), False), ((1, 5), False), ((-1, 1), False)]
)
def test_a_class_has_0_to_all_rows_of_a_node(counts, proved):
    draft = read_mojo(mojo({"00_000": of_share(counts)}))
    assert (draft.classes is not None) == proved
    assert [one.total for one in leaves(draft.models[0])] == [2, 4]


@pytest.mark.parametrize(
    ("column", "way", "why"),
    [
        (0, 2, ""),
        (0, 5, ""),
        (0, 0, "missing values nowhere"),
        (0, 6, "missing values nowhere"),
        (1, 3, "column 1 of 1"),
    ],
)
def test_columns_and_ways_of_missing_values_that_there_are(column, way, why):
    tree, aux = of_share((1, 1))
    file = mojo({"00_000": (tree[:1] + struct.pack("<HB", column, way) + tree[4:], aux)})
    if not why:
        assert read_mojo(file).models
        return
    with pytest.raises(ReleaseError, match=why):
        read_mojo(file)


def test_a_side_without_rows_is_one_and_fewer_than_none_are_not():
    assert [one.total for one in leaves(read_mojo(mojo({"00_000": stump((0, 6), (0, 0))})).models[0])] == [0, 6]
    with pytest.raises(ReleaseError, match="numbers of rows that are not whole"):
        read_mojo(mojo({"00_000": stump((-1, 6), (0, 0))}))
