"""The figures of an audit, each from its parts: every end that a part leaves open stays open, guard by guard."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace as Ns

import pytest
from extras import encoded

from encoders.domain.values import Categorical, Grid
from encoders.models.models import Boosting, Forest, Provenance, RuleList, Table, Tree
from recon.queries.bounds.disclosure import ValueDisclosure
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing import facts as module
from recon.release.auditing.evidence import _of_bags
from recon.release.auditing.facts import (
    _beside_rows,
    _bits,
    _cells_of,
    _classes,
    _known_wholly,
    _no_classes,
    _of_resamples,
    _row_bound,
    _targets,
    by_position,
    most_exposed,
    no_merging,
    open_facts,
    sizes,
    stored_facts,
    worked_out,
)
from recon.release.auditing.facts import facts_of as audited
from recon.release.auditing.findings import GroupDisclosure
from recon.release.auditing.together import JointDisclosure
from recon.release.policies.assessing import CELLS
from recon.release.policies.facts import AbsentFigure, FactTable, KnownFigure, SmallGroups, UnknownFigure
from solvers.statements.release import UNBOUNDED, RowCount

BITS = {"attributes": [{"name": "a", "values": [0, 1]}, {"name": "b", "values": [0, 1]}],
        "label": {"name": "y", "values": [0, 1]}}  # fmt: skip
TREE = Tree([])


def measured(status="exact", relative=False, **more):
    return Ns(status=status, counted=Ns(relative=relative), **more)


def boosted(*labels):
    """Return a boosted model of which nothing but its labels is looked at."""
    found = object.__new__(Boosting)
    object.__setattr__(found, "labels", labels)
    object.__setattr__(found, "origin", None)
    return found


def found_of(**more):
    """Return findings with nothing in them but what is given."""
    release = Ns(rows=RowCount(90, 100), models=(TREE,), statements=Ns(loose=(), bags=()), domain=Ns(label=object()))
    return Ns(**{"release": release, "measures": measured(), "positions": None, "determined": (), "stored": (), **more})


@pytest.fixture
def asked(monkeypatch):
    """Let what other modules work out be what a test says."""

    def answer(name, value):
        monkeypatch.setattr(module, name, lambda *_, **__: value)

    answer("system_of", None)
    return answer


# ---------------------------------------------------------------- people and bits


@pytest.mark.parametrize(
    ("ends", "positions", "determined", "expected"),
    [
        ((0, 7), None, (), (0, 7)), ((0, 7), 3, (), (3, 7)), ((5, 9), 3, (2,), (5, 9)), ((0, 2), 3, (1, 4), (4, 4)),
        ((0, None), 3, (), (3, None)), ((0, None), 0, (), (0, None)), (None, 3, (), (3, 100)),
        (None, None, (2,), (2, 100)),
    ],
)  # fmt: skip
def test_who_is_known_wholly_is_whoever_any_proof_names(ends, positions, determined, expected, asked):
    asked("pinned", ends)
    asked("interval_left", "x")
    places = None if positions is None else Ns(rows_known=positions)
    found = found_of(measures=measured("bounds"), positions=places, determined=[Ns(whole=n) for n in determined])
    figure = _known_wholly(found)
    assert (figure.low, figure.high) == expected
    assert bool(figure.why) == (expected[0] != expected[1])


@pytest.mark.parametrize("relative", [True, False])
def test_without_proofs_nobody_is_pinned_only_where_an_interval_is_left(relative, asked):
    asked("pinned", None)
    asked("interval_left", "x")
    found = found_of(measures=measured("bounds", relative))
    assert _known_wholly(found) == KnownFigure(
        0, 0, assumes="x can have several values between any two thresholds that the models have"
    )
    asked("interval_left", "")
    assert _known_wholly(found).help == ("domain" if relative else "limits")
    assert isinstance(_known_wholly(found), UnknownFigure)


@pytest.mark.parametrize(
    ("rows", "before", "left", "relative", "expected"),
    [
        (10, 50.0, (20.0, 30.0), False, ((5.0, 5.0), (2.0, 3.0))),
        (10, 50.0, None, False, ((5.0, 5.0), "limits")),
        (10, None, None, True, ("domain", "domain")), (None, None, None, False, ("rows", "rows")),
        (None, 50.0, (1.0, 2.0), False, ("rows", "rows")), (0, 0.0, (0.0, 0.0), False, ("", "")),
        (10, None, (1.0, 2.0), False, ("", "")),
    ],
)  # fmt: skip
def test_bits_are_per_person(rows, before, left, relative, expected, asked):
    asked("bits_left", left)
    told = _bits(measured("bounds", relative, rows=rows, unordered_before=before))
    for figure, wanted in zip(told.values(), expected, strict=True):
        if isinstance(wanted, str):
            assert isinstance(figure, UnknownFigure)
            assert figure.help == wanted
        else:
            assert (figure.low, figure.high) == wanted


def test_about_whom_is_known_wholly_no_bit_is_left(asked):
    asked("least_bits", (1.5, 2.0))
    whole = [Ns(whole=0), Ns(whole=2)]
    assert most_exposed(found_of(determined=whole)) == KnownFigure(0.0, 0.0)
    assert most_exposed(found_of(positions=Ns(rows_known=1))) == KnownFigure(0.0, 0.0)
    late = found_of(positions=Ns(rows_known=0), determined=whole[:1], measures=measured("bounds"))
    assert (most_exposed(late).low, most_exposed(late).high, most_exposed(late).help) == (1.5, 2.0, "limits")
    assert most_exposed(found_of()) == KnownFigure(1.5, 2.0)
    asked("least_bits", None)
    assert most_exposed(found_of(measures=measured("bounds"))).help == "limits"


# ---------------------------------------------------------------- classes and targets


def disclosed(**more):
    return GroupDisclosure(pure=(), zeros=(), small=(), smallest=None, **{"rows_in_pure": 0, **more})


EXACT = {"rows_in_pure": 5, "sizes": ((5, 5, "g", 0, 0), (9, 9, "h", 0, 1)), "cells": ((5, 5, "g", "1"),)}
OPEN = [
    {"sizes": ((5, 6, "g", 0, 0), (9, 9, "h", 0, 1))}, {"cells": ((5, 5, "g", "1"), (0, 2, "h", "0"))}, {"models": 2},
    {"undefined": "not per class"},
]  # fmt: skip


def test_the_class_of_more_people_follows_unless_one_model_says_all_exactly():
    assert _classes(found_of(groups=disclosed(**EXACT)))[0] == KnownFigure(5, 5)
    assert _classes(found_of(groups=disclosed()))[0] == KnownFigure(0, 0)
    assert isinstance(_classes(found_of(groups=disclosed(undefined="u")))[0], UnknownFigure)
    assert isinstance(_cells_of(found_of().release, disclosed(undefined="u"))[0], UnknownFigure)
    for more in OPEN:
        figure, _ = _classes(found_of(groups=disclosed(**EXACT | more)))
        assert (figure.low, figure.high) == (5, 100)
        assert figure.why
    beside = found_of(groups=disclosed(**EXACT), determined=[Ns(whole=0)])
    assert _classes(beside)[0].high == 100
    for change in ({"models": (TREE, TREE)}, {"statements": Ns(loose=(1,), bags=())}):
        found = found_of(groups=disclosed(**EXACT))
        found.release = Ns(**vars(found.release) | change)
        assert _classes(found)[0].high == 100
    pure = (("late", "1", 4, 9), ("first", "0", 1, UNBOUNDED))
    figure, groups = _classes(found_of(groups=replace(disclosed(**EXACT), pure=pure)))
    assert figure == KnownFigure(5, 5)
    assert [(one["name"], one["rows"]) for one in groups.each] == [("first", [1, None]), ("late", [4, 9])]
    assert groups.in_all == 2


def typed(*models, label=None):
    return Ns(models=models, domain=Ns(label=label))


def origin(form):
    return Provenance(form, ())


@pytest.mark.parametrize(
    ("models", "label", "undefined", "numeric", "mean", "kind"),
    [
        ((TREE,), Categorical("y", (0, 1)), "", False, False, UnknownFigure),
        ((TREE,), Categorical("y", (0, 1)), "u", False, False, UnknownFigure),
        ((TREE,), None, "u", False, False, AbsentFigure), ((TREE,), None, "", False, False, UnknownFigure),
        ((TREE,), Grid.between("y", 0, 9, 1), "u", True, False, AbsentFigure),
        ((TREE,), Categorical("y", (0, 1)), "u", False, True, UnknownFigure),
        ((TREE, boosted(0, 1)), None, "u", True, True, UnknownFigure), ((boosted(),), None, "u", True, True,
                                                                        AbsentFigure),
        ((TREE,), Grid.between("y", 0, 9, 1), "u", True, True, AbsentFigure),
        ((TREE,), Categorical("y", (0, 1)), "u", True, True, AbsentFigure),
        ((TREE,), Categorical("y", (0, 1)), "u", True, False, UnknownFigure),
        ((replace(TREE, origin=origin("scikit-learn DecisionTreeClassifier")), TREE), None, "u", True, True,
         UnknownFigure),
        ((replace(TREE, origin=origin("scikit-learn DecisionTreeRegressor")),), None, "u", True, True, AbsentFigure),
    ],
)  # fmt: skip
def test_classes_do_not_apply_only_where_there_are_none(models, label, undefined, numeric, mean, kind, asked):
    asked("numeric_target", numeric)
    asked("regression", mean)
    figure = _no_classes(typed(*models, label=label), disclosed(undefined=undefined), "otherwise")
    assert isinstance(figure, kind)
    assert figure.why == (undefined or "otherwise")


@pytest.mark.parametrize(
    ("rows", "numeric", "models", "expected"),
    [
        (3, False, (TREE,), (3, 100)), (0, True, (TREE,), (0, 100)), (None, True, (TREE,), (2, 100)),
        (None, False, (TREE,), None), (None, False, (TREE, boosted()), (2, 100)), (None, False, (boosted(0, 1),), None),
    ],
)  # fmt: skip
def test_targets_have_no_upper_end_but_everybody(rows, numeric, models, expected, asked):
    asked("numeric_target", numeric)
    release = Ns(rows=RowCount(90, 100), models=models)
    figure = _targets(release, disclosed(values=ValueDisclosure(rows=rows, alone=2)))
    assert isinstance(figure, AbsentFigure) if expected is None else (figure.low, figure.high) == expected


# ---------------------------------------------------------------- positions, resamples, merging, files


def placed(**more):
    return Ns(**{"complete": True, "labels_known": 2, "rows": 9, "data": [], "rows_known": 0, **more})


@pytest.mark.parametrize("labelled", [True, False])
def test_figures_by_position(labelled):
    release = Ns(domain=Ns(label=object() if labelled else None), statements=Ns(bags=(1,)))
    done = by_position(found_of(release=release, positions=placed()))
    late = by_position(found_of(release=release, positions=None))
    none = by_position(found_of(release=Ns(domain=release.domain, statements=Ns(bags=()))))
    for figure in (done, late, none):
        assert isinstance(figure["labels_by_position"], AbsentFigure) != labelled
    assert done["values_by_position"].high == 0
    assert late["values_by_position"].help == "limits"
    assert none["values_by_position"] == KnownFigure(0, 0)
    if labelled:
        assert (done["labels_by_position"].low, done["labels_by_position"].help) == (2, "")
        unknown = by_position(found_of(release=release, positions=placed(labels_known=None, complete=False)))
        assert unknown["labels_by_position"].low == 0
        assert unknown["labels_by_position"].help == "limits"


def test_seeds_are_worked_out_only_where_all_positions_were():
    assert worked_out(found_of()) == frozenset()
    assert worked_out(found_of(positions=placed(complete=False))) == frozenset()
    assert worked_out(found_of(positions=placed())) == {"bag-seeds"}


def resampled(distinct, *models):
    leaves = [{"counts": [50, 0]}, {"counts": [49, 1]}, {"counts": [0, 0]}]
    if distinct:
        leaves = [{**leaf, "distinct": d} for leaf, d in zip(leaves, (6, 2, 0), strict=True)]
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, leaves[0], {"if": {"b": 0}, "then": 3, "else": 4}, *leaves[1:]]
    forest = {"kind": "forest", "bootstrap": True, "trees": [{"nodes": nodes}]}
    return encoded({"recon": 1, "domain": BITS, "rows": 100, "models": [forest, *models]})


def test_groups_of_resamples_hold_the_different_rows_that_were_drawn(asked):
    held = FactTable("exact", figures={"smallest_group": KnownFigure(50, 50), "class_disclosure": KnownFigure(0, 0)})
    asked("groups_left_out", ((), "drawn"))
    found = _of_resamples(resampled(True), held)
    assert [one["rows"] for one in found.listed("smallest_group").each] == [[0, 100], [2, 100], [6, 100]]
    assert found["smallest_group"] == KnownFigure(1, 100, "drawn")
    assert isinstance(found["class_disclosure"], UnknownFigure)
    found = _of_resamples(resampled(False), held)
    assert [one["rows"] for one in found.listed("smallest_group").each] == [[0, 100], [1, 100], [1, 100]]
    whole = {"kind": "forest", "trees": [{"nodes": [{"counts": [60, 40]}]}]}
    more = _of_resamples(resampled(True, whole, {"kind": "tree", "nodes": [{"counts": [60, 40]}]}), held)
    assert len(more.listed("smallest_group").each) == 3  # those of the resampled forest
    asked("groups_left_out", ((), ""))
    assert _of_resamples(resampled(True), held) is held
    asked("groups_left_out", ((), "drawn"))
    plain = encoded({"recon": 1, "domain": BITS, "models": [whole]})
    assert _of_resamples(plain, held) is held


def test_only_one_exact_model_with_parents_of_leaves_is_merged():
    def said(*models, noisy=False):
        return no_merging(Ns(models=models, noisy=noisy))

    assert "boosted" in said(boosted())
    assert "boosted" in said(TREE, boosted(0, 1))
    assert "noise" in said(TREE, noisy=True)
    assert "one model" in said(TREE, TREE)
    assert said(Table(())) == said(Table(()), Table(())) == CELLS
    assert said(TREE) == said(RuleList(())) == said(Forest((TREE,))) == ""


def finding(level="critical", rule="raw-data", beside=False):
    return Finding(level, rule, "X_", "an array", "rows", "leave it out", True, beside=beside)


def inspected(*findings, form="pickle"):
    return Inspection("m.pkl", form, "ab", 3, findings)


def test_counts_of_the_model_are_not_stored_beside_it():
    files = (inspected(finding(rule="counts"), finding(rule="counts", beside=True), finding("high", "bag-seeds")),)
    told = stored_facts(files, frozenset(["bag-seeds"]))
    assert [(one["rule"], one["worked_out"]) for one in told["stored"]] == [("counts", False), ("bag-seeds", True)]
    assert told["stored_inspected"]
    assert stored_facts(())["stored_inspected"]
    late = inspected(form="not inspected: late")
    assert not stored_facts((late, *files))["stored_inspected"]


def test_what_stands_in_the_file_is_told_by_what_it_may_say():
    held = FactTable(
        "exact", figures={"rows": KnownFigure(50, 50), "smallest_group": KnownFigure(9, 9), "pinned": KnownFigure(0, 0)}
    )
    rows = _beside_rows(held, (inspected(finding()),))
    assert rows["smallest_group"] == KnownFigure(1, 1)
    assert [one["rows"] for one in rows.listed("smallest_group").each] == [[1, 1]]
    for level, rule in (("high", "raw-data"), ("critical", "labels"), ("unknown", "not-understood")):
        found = _beside_rows(held, (inspected(finding(level, rule)),))
        assert found.listed("smallest_group").each == ()  # no row is proved to stand there
    unknown = _beside_rows(held, (inspected(finding("unknown", "not-understood")),))
    assert unknown["smallest_group"] == KnownFigure(1, 9, unknown["smallest_group"].why, "strip")
    kept = _beside_rows(held, (inspected(finding(), replace(finding(), path="Z_", removable=False)),))
    assert (rows["pinned"].help, kept["pinned"].help) == ("strip", "")  # what is taken out leaves the other there
    assert unknown["pinned"].why.startswith("it is not known what X_ is (an array)")
    assert rows["pinned"].why.startswith("no statement carries what X_ says (an array)")
    two = _beside_rows(held, (inspected(finding(), replace(finding(), path="Z_")),))
    assert two.unused == rows.unused  # the first is named
    twice = _beside_rows(held, (inspected(finding(), finding(), finding("unknown", "not-understood")),))
    assert len(twice.unused) == len({one.why for one in twice.unused})
    assert _beside_rows(held, (inspected(finding("info", "names")),)) == held


def test_known_bags_say_that_their_seeds_can_be_taken_out():
    release = Ns(statements=Ns(bags=(Ns(left_out="bags"),)))
    seeds = replace(finding("high", "bag-seeds"), removable=True)
    for stored, help in (((), ""), ((seeds,), "strip"), ((seeds, replace(seeds, removable=False)), "")):
        assert [(one.why, one.help) for one in _of_bags(release, (inspected(*stored),))] == [("bags", help)]


@pytest.mark.parametrize(("rows", "bound"), [(3, 3), (UNBOUNDED - 1, UNBOUNDED - 1), (UNBOUNDED, None)])
def test_no_bound_is_none(rows, bound):
    assert _row_bound(rows) == bound


def test_groups_of_tables_and_intervals_stand_among_the_others():
    from recon.queries.measures.measures import measure
    from recon.release.auditing.auditing import group_disclosure
    from recon.release.auditing.findings import AuditFindings

    statements = [{"count": 40}, {"where": {"a": 0}, "count": 30}, {"where": {"a": 0, "b": 0}, "count": 12}]
    release = encoded({"recon": 1, "domain": BITS, "models": [{"kind": "table", "statements": statements}]})
    told = audited(AuditFindings(release, measure(release), group_disclosure(release)))
    assert told.listed("smallest_group").in_all == len(told.listed("smallest_group").each)
    sizes = [one["rows"] for one in told.listed("smallest_group").each]
    assert sizes == sorted(sizes)
    assert [12, 12] in sizes
    assert told.confidence == 1.0


def test_figures_of_noisy_counts_hold_at_their_confidence():
    from recon.queries.measures.measures import measure
    from recon.release.auditing.auditing import group_disclosure
    from recon.release.auditing.findings import AuditFindings

    noise = {"law": "laplace", "scale": 1.0}
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [30.2, 10.1]}, {"counts": [20.4, 25.0]}]
    bounded_noise = {"law": "truncated_laplace", "scale": 1.0, "bound": 2}
    for law, confidence in (({"noise": noise}, 0.95), ({"noise": bounded_noise}, 1.0), ({}, 1.0)):
        whole = nodes if law else [nodes[0], {"counts": [30, 10]}, {"counts": [20, 25]}]
        release = encoded({"recon": 1, "domain": BITS, "rows": 86 if law else 85, "models": [{
            "kind": "tree", "nodes": whole, **law}]})  # fmt: skip
        assert audited(AuditFindings(release, measure(release), group_disclosure(release))).confidence == confidence
    assert SmallGroups() == FactTable().listed("smallest_group")


def test_groups_are_worded_where_their_box_is_known(asked, monkeypatch):
    asked("condition_text", "in words")
    asked("published_cells", [("a cell", 8)])
    asked("groups_left_out", ((), ""))
    monkeypatch.setattr(module, "WORDED", 4)
    release = Ns(statements=Ns(partitions={0: Ns(boxes=["box", "box"])}), cut=None)
    told = disclosed(sizes=(
        (5, UNBOUNDED, "open", 0, 0), (2, 9, "no box", 0, 2), (3, 4, "no block", 7, 0), (5, 6, "last worded", 0, 1),
        (7, 7, "too many", 0, 1),
    ))  # fmt: skip
    intervals = Ns(cells=[Ns(feasible=(0, 0), name="empty"), Ns(feasible=(1, 3), name="suppressed")])
    figure, listed = sizes(release, told, intervals)
    assert figure == KnownFigure(1, 3)
    assert [(one["name"], one["where"], one["rows"]) for one in listed.each] == [
        ("suppressed", "", [1, 3]), ("no box", "", [2, 9]), ("no block", "", [3, 4]),
        ("last worded", "in words", [5, 6]), ("open", "in words", [5, None]), ("too many", "", [7, 7]),
        ("a cell", "", [8, 8]),
    ]  # fmt: skip
    assert listed.in_all == 7
    monkeypatch.setattr(module, "LISTED", 2)
    assert sizes(release, told, intervals)[1].in_all == 7
    asked("published_cells", [])
    assert sizes(release, disclosed(), Ns(cells=[]))[0] == UnknownFigure("no group with a number of rows was published")
    asked("groups_left_out", ((), "drawn"))
    assert sizes(release, disclosed(), Ns(cells=[]))[0] == UnknownFigure("drawn")


def test_single_counts_prove_what_they_prove_whatever_was_not_worked_out(asked):
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [30, 0]}, {"counts": [30, 60]}]
    release = encoded({"recon": 1, "domain": BITS, "models": [{"kind": "tree", "nodes": nodes}]})
    told = open_facts(release, (), UnknownFigure("late", "limits"))
    assert told["rows"] == KnownFigure(120, 120)
    assert told["smallest_group"] == told["smallest_cell"] == KnownFigure(1, 30, "late", "limits")
    assert told["class_disclosure"] == KnownFigure(30, 120, "late", "limits")
    assert told["pinned"] == UnknownFigure("late", "limits")
    asked("with_together", FactTable("asked"))
    assert open_facts(release, (), UnknownFigure("late"), together=JointDisclosure()).status == "asked"
    open_rows = {"recon": 1, "domain": BITS, "models": [{"kind": "rule_set", "rules": [{"if": {"a": 0}, "count": 9}]}]}
    assert isinstance(open_facts(encoded(open_rows), ())["rows"], UnknownFigure)


def test_what_is_the_same_in_every_world_opens_nothing(asked):
    held = FactTable("exact", figures={"rows": KnownFigure(50, 50), "class_disclosure": KnownFigure(0, 0)})
    file = (inspected(finding("high", "labels")),)
    assert _beside_rows(held, file)["class_disclosure"].high == 50
    asked("implied", True)
    assert _beside_rows(held, file) == held
