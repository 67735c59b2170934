"""Survival forests of R's ranger: what leaves say of times and events, the truth never excluded, bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recon
from recon.readers.formats.boosters.ranger import read_ranger_rds
from recon.readers.formats.drafts.binding import Binder
from recon.readers.formats.printed.rpart_rds import named_parts
from recon.readers.frames.world import violations
from recon.readers.stored.binary.rds import RObject, read_rds
from solvers.foundation.errors import ReleaseError, Unsupported

CORPUS = Path(__file__).parent / "corpus"
ROWS = pd.read_csv(CORPUS / "ranger_rows.csv")


def loaded(file):
    columns = [c for c in ROWS if file == "ranger_survival.rds" or c != "celltype"]
    return recon.load(CORPUS / file, domain=recon.Domain.from_frame(ROWS[columns])), ROWS[columns]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file", ["ranger_survival.rds", "ranger_bag.rds"])
def test_the_true_rows_are_never_excluded(file):
    release, rows = loaded(file)
    assert violations(release, rows) == []
    dead = rows.event == 1
    moved = rows.assign(time=np.where(dead, rows.time[dead].max(), rows.time))
    assert violations(release, moved)


def test_leaves_of_trees_that_saw_every_row_say_who_was_at_risk():
    """Every stated number is that of the rows, and exact: leaves together have 60 rows."""
    release, rows = loaded("ranger_survival.rds")
    exact = stated = 0
    for one in release.models[0].statements:
        if not (one.name or "").startswith(("events", "at risk")):
            continue
        inside = np.ones(len(rows), dtype=bool)
        for name, test in one.condition:
            cells = rows[name]
            if test.values is not None:
                inside &= cells.isin(test.values).to_numpy()
                continue
            low, high = (-np.inf if test.low is None else test.low), (np.inf if test.high is None else test.high)
            inside &= ((cells > low) if test.low_open else (cells >= low)).to_numpy()
            inside &= ((cells < high) if test.high_open else (cells <= high)).to_numpy()
        least, most = (one.low, one.high) if one.count is None else (one.count, one.count)
        assert least <= inside.sum() <= most, one.name
        stated, exact = stated + 1, exact + (least == most)
    assert (exact, stated) == (216, 216)


def changed(file, **parts):
    """Return the object of a file with parts of it, or of its forest, replaced (None: taken out)."""
    root = read_rds((CORPUS / file).read_bytes())

    def renewed(value):
        kept = [(n, parts.get(n, renewed(v) if n == "forest" else v)) for n, v in named_parts(value).items()]
        kept = [(n, v) for n, v in kept if v is not None] + [(n, v) for n, v in parts.items() if n.startswith("inbag")]
        names = RObject("character", [n for n, _ in kept])
        return RObject("list", [v for _, v in kept], {**value.attributes, "names": names})

    return renewed(root)


def doubles(*numbers):
    return RObject("double", np.array(numbers, dtype=float))


CALL = RObject("call", [("", RObject("symbol", "ranger")), ("time.interest", doubles(5))])
RISING = doubles(*range(1, 54))


@pytest.mark.parametrize(
    ("parts", "error", "why"),
    [
        ({"forest": None}, Unsupported, "write.forest = FALSE"),
        ({"independent.variable.names": None}, Unsupported, "ranger before 0.12"),
        ({"call": CALL}, Unsupported, "leave time.interest out"),
        ({"is.ordered": RObject("logical", np.array([1, 0, 1]))}, Unsupported, "fit it with respect.unordered.factors"),
        ({"num.samples": doubles(0.5)}, ReleaseError, "no number of rows"),
        ({"num.samples": doubles(20)}, ReleaseError, "at most one for each row"),
        ({"unique.death.times": doubles(3, 2)}, ReleaseError, "no ascending times"),
        ({"unique.death.times": doubles(2, 3)}, ReleaseError, "each of 2 times"),
        ({"chf": RObject("list", [])}, ReleaseError, "as many links, tests and hazards as trees"),
        ({"chf": RISING}, ReleaseError, "is no list"),
        ({"inbag.counts": RObject("list", [doubles(1)] * 2)}, ReleaseError, "60 numbers for each of 2 trees"),
        ({"covariate.levels": RObject("list", [])}, ReleaseError, "one entry for each of 3 columns"),
    ],
)
def test_what_is_no_forest_that_is_read_is_refused(parts, error, why):
    with pytest.raises(error, match=why):
        read_ranger_rds(changed("ranger_survival.rds", **parts))


CHANGED = [
    ("split.varIDs", "tests columns that are none of the 3"),
    ("split.values", "after level 7 of 4"),
    ("chf", "hazards that fall"),
]


@pytest.mark.parametrize(("tree", "why"), CHANGED)
def test_a_number_that_was_changed_is_named(tree, why):
    parts = named_parts(named_parts(read_rds((CORPUS / "ranger_survival.rds").read_bytes()))["forest"])
    every = list(parts[tree].values)
    if tree == "chf":
        node = next(k for k, v in enumerate(every[0].values) if len(v.values))
        fallen = np.array(every[0].values[node].values)
        fallen[-1] = 0.0
        every[0].values[node] = RObject("double", fallen)
    else:
        column = np.array(parts["split.varIDs"].values[0].values)
        numbers = np.array(every[0].values)
        inner = np.flatnonzero(np.array(parts["child.nodeIDs"].values[0].values[0].values) > 0)
        numbers[inner[0] if tree == "split.varIDs" else inner[column[inner] == 2][0]] = 7
        every[0] = RObject("double", numbers)
    with pytest.raises(ReleaseError, match=why):
        read_ranger_rds(changed("ranger_survival.rds", **{tree: RObject("list", every)}))


def test_drawn_once_each_number_is_a_least_one_and_drawn_again_an_event_is_one_row():
    """Where bags are stored, they say how rows were drawn, whatever the call does."""
    ones, some = doubles(*[1] * 60), doubles(*[1] * 59, 0)
    whole = read_ranger_rds(changed("ranger_bag.rds", **{"inbag.counts": RObject("list", [ones] * 2)}))
    part = read_ranger_rds(changed("ranger_survival.rds", **{"inbag.counts": RObject("list", [ones, some])}))
    bag = read_ranger_rds(changed("ranger_bag.rds"))
    assert (whole.resampled, part.resampled, part.replaced, bag.resampled, bag.replaced) == (
        False, True, False, True, True,
    )  # fmt: skip
    assert part.solved
    assert not bag.solved
    domain = recon.Domain.from_frame(ROWS)
    table = part.bound(Binder(part, domain))[0]
    risk = [one for one in table.statements if (one.name or "").startswith("at risk")]
    assert risk
    assert all(one.high is None and one.count is None and one.low >= 1 for one in risk)


def test_the_page_of_findings_names_times_and_predictions():
    found = {one.path: one.level for one in recon.inspect(CORPUS / "ranger_bag.rds").findings}
    assert found["m$unique.death.times"] == "high"


PEOPLE = pd.read_csv(CORPUS / "ranger_people.csv")
DOMAIN = recon.Domain.from_frame(PEOPLE, label="y")
TRUE, NONE = RObject("logical", np.array([1])), RObject("call", [("", RObject("symbol", "ranger"))])


def table_of(root):
    """Return the figures of a forest of classes over the people's domain."""
    draft = read_ranger_rds(root)
    return draft.bound(Binder(draft, DOMAIN))[0].statements


@pytest.mark.sampled(1)
@pytest.mark.parametrize("file", ["ranger_shares.rds", "ranger_classes.rds"])
def test_classes_of_leaves_are_those_of_the_true_rows_and_of_no_others(file):
    """Three trees (two, of classes) on 60 people, fitted in R 4.2 by ranger 0.14 with every row once."""
    release = recon.load(CORPUS / file, domain=DOMAIN)
    assert violations(release, PEOPLE) == []
    for seed in range(20):
        other = PEOPLE.assign(y=PEOPLE.y.sample(frac=1, random_state=seed).to_numpy())
        assert violations(release, other)


def people_in(condition):
    inside = np.ones(len(PEOPLE), dtype=bool)
    for name, test in condition:
        cells = PEOPLE[name]
        inside &= (
            cells.isin(test.values)
            if test.values is not None
            else cells.between(-np.inf if test.low is None else test.low, np.inf if test.high is None else test.high)
        ).to_numpy()
    return int(inside.sum())


def test_shares_are_multiples_of_the_least_numbers_with_every_row_once():
    figures = [one for one in table_of(changed("ranger_shares.rds")) if one.linear is None and "node" in one.name]
    drawn = [one for one in table_of(changed("ranger_shares.rds", replace=TRUE)) if "node" in one.name]
    part = [one for one in table_of(changed("ranger_shares.rds", call=NONE)) if "node" in one.name]
    assert {one.count for one in figures} - {None} == {0}
    counted = [(one.low, one.high, people_in(one.condition)) for one in figures if one.count is None]
    assert all(rows % low == 0 and low <= rows <= high < 60 for low, high, rows in counted)
    assert any(low < rows for low, _, rows in counted)
    assert [one.low for one in part] == [low for low, _, _ in counted]
    assert {(one.low, one.high, one.count) for one in drawn} == {(1, None, None)}
    assert max(low for low, _, _ in counted) > 1


def test_the_commonest_class_is_stated_where_every_row_was_seen_once_and_none_was_weighted():
    weighed = RObject("call", [*CLASS_CALL, ("class.w", doubles(1, 5, 1, 1))])
    hidden = RObject("call", [*CLASS_CALL, ("", RObject("symbol", "..."))])
    whole = table_of(changed("ranger_classes.rds"))
    assert sum(one.linear is not None for one in whole) == 2 * sum("tree" in (one.name or "") for one in whole) / 3
    for call in (weighed, hidden):
        said = read_ranger_rds(changed("ranger_classes.rds", call=call))
        assert said.origin.counts == ("distinct",)
        assert "class.weights" in said.origin.unused[-1].why
        assert all(one.linear is None for one in said.bound(Binder(said, DOMAIN))[0].statements)
    drawn = table_of(changed("ranger_classes.rds", replace=TRUE))
    assert {(one.low, one.linear) for one in drawn} == {(1, None)}


FORMULA = (
    "",
    RObject("call", [("", RObject("symbol", "~")), ("", RObject("symbol", "y")), ("", RObject("symbol", "."))]),
)
CLASS_CALL = [("", RObject("symbol", "ranger")), FORMULA, ("sample.fraction", doubles(1))]


@pytest.mark.parametrize("name", ["holdout", "inb", "case.weights", "..."])
def test_a_tree_whose_rows_were_chosen_saw_not_every_row(name):
    """Arguments beside `sample.fraction = 1` by which rows are left out; dots may hold any of them."""
    more = ("", RObject("symbol", "...")) if name == "..." else (name, doubles(1))
    once, chosen = (
        read_ranger_rds(changed("ranger_shares.rds", call=RObject("call", call)))
        for call in (CLASS_CALL, [*CLASS_CALL, more])
    )
    assert (once.resampled, chosen.resampled, once.label) == (False, True, "y")
    assert chosen.replaced == (name in {"inb", "..."})


def test_means_prove_that_somebody_is_there():
    said = read_ranger_rds(changed("ranger_classes.rds", treetype=RObject("character", ["Regression"])))
    figures = said.bound(Binder(said, DOMAIN))[0].statements
    assert {(one.low, one.count) for one in figures} == {(1, None)}
    assert all(people_in(one.condition) for one in figures)
    assert said.origin.unused[-1].what == "the means of leaves"


def test_columns_that_a_forest_of_levels_cannot_tell_are_refused():
    texts = changed("ranger_shares.rds", **{"covariate.levels": RObject("list", [RObject("nothing", None)] * 3)})
    with pytest.raises(Unsupported, match=r"the values of 'g' are no numbers.*declare it as whole numbers, 1 for"):
        table_of(texts)
    draft = read_ranger_rds(changed("ranger_shares.rds"))
    gaps = recon.Domain.from_frame(PEOPLE.assign(x=PEOPLE.x.astype("float").where(PEOPLE.x > 0)), label="y")
    with pytest.raises(Unsupported, match="where rows without a value of 'x' go"):
        draft.bound(Binder(draft, gaps))


def shares_with(change):
    """Return the forest of shares with those of its first leaf changed."""
    held = named_parts(named_parts(read_rds((CORPUS / "ranger_shares.rds").read_bytes()))["forest"])
    every = held["terminal.class.counts"]
    node = next(k for k, one in enumerate(every.values[0].values) if len(one.values))
    every.values[0].values[node] = RObject("double", np.array(change))
    return changed("ranger_shares.rds", **{"terminal.class.counts": every})


def linked(links):
    """Return the forest of shares with one tree of three nodes and these links."""
    one = {"child.nodeIDs": RObject("list", [doubles(*side) for side in links])}
    one |= {name: doubles(0, 0, 0) for name in ("split.varIDs", "split.values")}
    one |= {"terminal.class.counts": RObject("list", [doubles()] * 3)}
    return changed("ranger_shares.rds", **{name: RObject("list", [value]) for name, value in one.items()})


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (shares_with([0.5, 0.4, 0.0]), "node 2: .*that no number of rows up to 60 has.*hshrink"),
        (shares_with([1 / 61, 60 / 61, 0.0]), "up to 60 has"),
        (shares_with([1.5, -0.5, 0.0]), "1.5 as the share of a class"),
        (shares_with([0.5, 0.5]), "2 shares of 3 classes"),
        (shares_with([29 / 59, 30 / 59, 0]), "tree 1: has leaves of 9[0-9] rows at least, of 60"),
        (changed("ranger_shares.rds", **{"class.values": doubles(1, 1, 2)}), "names a class twice"),
        (changed("ranger_shares.rds", **{"class.values": doubles(1, 2, 7)}), "numbers none of 4 levels"),
        (changed("ranger_shares.rds", **{"terminal.class.counts": RObject("list", [])}), "shares as trees"),
        (changed("ranger_shares.rds", **{"terminal.class.counts": RObject("list", [doubles(1)] * 3)}), "every node"),
        (linked([[1, 0, 9e9], [2, 0, 0]]), "tree 1: has a link that is no number of a node"),
        (linked([[1, 0, np.nan], [2, 0, 0]]), "tree 1: has a link that is no number of a node"),
        (changed("ranger_classes.rds", **{"class.values": doubles(1, 2, 3)}), "holds 4, which is none of the classes"),
    ],
)  # fmt: skip
def test_shares_and_classes_that_no_rows_have_are_named(root, why):
    with pytest.raises(ReleaseError, match=why):
        read_ranger_rds(root)


def test_what_more_a_forest_stores_is_named_and_trees_beyond_the_limit_too(monkeypatch):
    monkeypatch.setattr("recon.readers.formats.boosters.ranger.MAX_STATED", 1)
    more = changed("ranger_shares.rds", **{"num.samples.nodes": doubles(1)})
    more.values.append(RObject("list", []))
    more.attributes["names"].values.append("num.samples.nodes")
    unused = [one.what for one in read_ranger_rds(more).origin.unused]
    assert unused == ["predictions of rows", "num.samples.nodes", "the trees after these"]
