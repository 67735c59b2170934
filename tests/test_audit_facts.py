"""The figures of an audit, each from its parts: every end that a part leaves open stays open, guard by guard."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace as Ns

import pytest
from extras import encoded

from encoders.domain.values import Categorical, Grid, Test
from encoders.models.models import Boosting, Forest, Provenance, RuleList, RuleSet, Table, Tree, UnusedPublication
from recon.queries.bounds.disclosure import ValueDisclosure
from recon.readers.inspection.findings.findings import Finding
from recon.readers.inspection.inspecting import Inspection
from recon.release.auditing import facts as module
from recon.release.auditing import together
from recon.release.auditing.evidence import OF_LABELS, _of_bags, _of_readers
from recon.release.auditing.facts import (
    BOUNDED,
    _beside_rows,
    _bits,
    _cells_of,
    _classes,
    _classes_at_positions,
    _known_wholly,
    _narrowest,
    _no_classes,
    _of_resamples,
    _row_bound,
    _since,
    _targets,
    by_position,
    most_exposed,
    no_merging,
    nothing_known,
    open_facts,
    sizes,
    stored_facts,
    worked_out,
)
from recon.release.auditing.facts import facts_of as audited
from recon.release.auditing.findings import GroupDisclosure
from recon.release.auditing.together import NOT_ASKED, SMALLER, JointDisclosure
from recon.release.policies.assessing import CELLS
from recon.release.policies.facts import (
    EVERY_FIGURE,
    FIGURES,
    LABEL_FIGURES,
    ROW_FIGURES,
    SIZE_FIGURES,
    AbsentFigure,
    FactTable,
    KnownFigure,
    SmallGroups,
    UnknownFigure,
    UnusedFigure,
)
from solvers.engines.groups.disclosure import KnownClasses, PinnedPeople
from solvers.engines.groups.published import ProvedGroup
from solvers.engines.groups.smallest import UNUSED, SmallestGroup
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Box, Region
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


def cell(width, published=(None, None), tight=True, suppressed="primary"):
    return Ns(width=width, published=published, tight=tight, suppressed=suppressed)


WIDE, NARROW, LOOSE = cell(9), cell(4), cell(6, tight=False)
ROUNDED, OPEN_END = cell(2, (8, 12), suppressed=""), cell(1, (None, 3), suppressed="")
LATE = (BOUNDED.why, BOUNDED.help)


@pytest.mark.parametrize(
    ("cells", "left_out", "hidden", "rounded"),
    [
        ((WIDE, NARROW, ROUNDED), 0, KnownFigure(4, 4), KnownFigure(2, 2)),
        ((WIDE, LOOSE, OPEN_END), 0, KnownFigure(0, 6, *LATE), AbsentFigure("no count is rounded")),
        ((NARROW, LOOSE), 0, KnownFigure(0, 4, *LATE), AbsentFigure("no count is rounded")),
        ((ROUNDED, cell(3, (2, None), suppressed="")), 0, AbsentFigure("no count is hidden"),
         KnownFigure(2, 2)),
        ((NARROW,), 7, KnownFigure(0, 4, *LATE), BOUNDED),
        ((), 0, AbsentFigure("no count is hidden"), AbsentFigure("no count is rounded")), ((), 1, BOUNDED, BOUNDED),
        ((cell(0), cell(0, tight=False)), 0, KnownFigure(0, 0), AbsentFigure("no count is rounded")),
    ],
)  # fmt: skip
def test_the_narrowest_cell_is_as_wide_as_proved(cells, left_out, hidden, rounded):
    intervals = Ns(cells=cells, left_out=left_out)
    assert _narrowest(intervals, (), hidden=True) == hidden
    assert _narrowest(intervals, (), hidden=False) == rounded


def test_what_was_not_used_may_narrow_a_cell_down_to_one_count():
    intervals = Ns(cells=(WIDE, NARROW), left_out=0)
    unused = (UnusedFigure("sums", {}, "strip"), UnusedFigure("more", {}))
    assert _narrowest(intervals, unused, hidden=True) == KnownFigure(0, 4, "sums", "strip")


@pytest.mark.parametrize(
    ("condition", "since"),
    [
        ((("time", Test(low=3)),), ((), 3)), ((("a", Test((0,))), ("time", Test(low=3))), ((("a", Test((0,))),), 3)),
        ((), None), ((("age", Test(low=3)),), None), ((("time", Test(high=3)),), None), ((("time", Test()),), None),
        ((("time", Test(low=3, high=5)),), None), ((("time", Test((3, 4), low=3)),), None),
        ((("time", Test(low=3, missing=True)),), None), ((("time", Test(low=3)), ("a", Test((0,)))), None),
    ],
)  # fmt: skip
def test_who_is_at_risk_is_who_was_observed_to_some_time_or_longer(condition, since):
    assert _since(condition) == since


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
    assert "noise" in said(Table(()), noisy=True)
    assert "one model" in said(Table(()), TREE)
    assert said(RuleSet(())) == "it has no leaves with parents"
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


@pytest.mark.parametrize(
    ("labels", "what", "opens"),
    [
        (False, "", EVERY_FIGURE), (True, "", OF_LABELS), (False, "columns", ROW_FIGURES),
        (True, "columns", OF_LABELS), (True, "sizes", {**OF_LABELS, **SIZE_FIGURES}), (False, "sizes", SIZE_FIGURES),
        (False, "labels", LABEL_FIGURES), (True, "labels", OF_LABELS), (True, "rows", EVERY_FIGURE),
    ],
)  # fmt: skip
def test_what_a_reader_left_opens_all_that_it_is_about(labels, what, opens):
    """An equation of a column with the response says something of columns, and of who is in which class."""
    unused = UnusedPublication("the equation of 'age'", "there is no such column", labels, what)
    model = Ns(origin=Provenance("statsmodels", (), unused=(unused,)))
    (one,) = _of_readers(Ns(models=[Ns(origin=None), model]))
    assert (one.opens, one.why) == (opens, "the equation of 'age' were not used (there is no such column)")


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


@pytest.mark.parametrize(
    ("pinned", "figures", "given", "opened"),
    [(True, True, True, False), (False, True, True, True), (True, False, True, True), (True, True, False, True)],
)
def test_figures_of_columns_open_who_is_pinned_unless_that_was_worked_out(pinned, figures, given, opened, asked):
    """Figures that are stated say nothing more of it where all of them were asked together; of bits they do."""
    held = FactTable("exact", figures={"rows": KnownFigure(50, 50), "pinned": KnownFigure(0, 0),
                                       "least_bits_left": KnownFigure(3.0, 3.0)})  # fmt: skip
    asked("figures_of", (1,) if figures else ())
    asked("implied", False)
    together = JointDisclosure(pinned=Ns() if pinned else None)
    release = Ns() if given else None
    for stated in (True, False):
        file = inspected(replace(finding("medium", "summary"), stated=stated))
        found = _beside_rows(held, (file,), release, together)
        assert (found["pinned"] == held["pinned"]) == (stated and not opened)
        assert found["least_bits_left"].low == 0
    assert _beside_rows(held, (inspected(replace(finding("medium", "summary"), stated=True)),))["pinned"].high == 50


def test_leaf_values_change_no_figure_that_holds_whatever_they_say(monkeypatch, asked):
    """`always` of what was asked together is passed on; where nothing was asked, no figure is so."""
    leaf = {"kind": "tree", "nodes": [{"counts": [50, 40]}]}
    release, told = encoded({"recon": 1, "domain": BITS, "models": [leaf]}), []
    monkeypatch.setattr(module, "with_evidence", lambda facts, a, b, c, always: (told.append(always), facts)[1])
    asked("with_together", FactTable())
    from recon.queries.measures.measures import measure
    from recon.release.auditing.auditing import group_disclosure
    from recon.release.auditing.findings import AuditFindings

    some = JointDisclosure(cell=Ns(always=True))
    for joint in (None, some):
        audited(AuditFindings(release, measure(release), group_disclosure(release), together=joint))
        open_facts(release, (), together=joint)
    assert told == [frozenset(), frozenset(), frozenset({"smallest_cell"}), frozenset({"smallest_cell"})]


def test_figures_of_few_releases_are_left_out_where_nothing_is_known():
    told = nothing_known((), "late").to_json()
    assert not {"freedom", "survival_step", "rounded_width"} & {*told, *told["not_known"]}
    assert told["not_known"]["hidden_width"] == "late"


def test_leaves_that_are_known_by_position_are_named_beside_what_is_assumed(asked, monkeypatch):
    from recon.queries.located import positions

    asked("pinned", None)
    asked("interval_left", "x")
    monkeypatch.setattr(positions, "class_text", lambda one: f"class {one.value}")
    classes = [Ns(value=0, boxes_whole=0), Ns(value=1, boxes_whole=3), Ns(value=2, boxes_whole=1)]
    figure = _known_wholly(found_of(positions=Ns(rows_known=0, classes=classes)))
    assert (figure.low, figure.high) == (0, 0)
    assert figure.assumes.endswith("the leaves of rows are known by position all the same, most exposed is class 1")
    figure = _known_wholly(found_of(positions=Ns(rows_known=0, classes=classes[:1])))
    assert "by position" not in figure.assumes


def test_totals_and_sums_are_judged_elsewhere():
    """Of who contributes how much to a total a release says nothing; without totals the rules do not apply."""
    from recon.queries.measures.measures import measure
    from recon.release.auditing.auditing import group_disclosure
    from recon.release.auditing.findings import AuditFindings

    number = {"name": "n", "min": 0, "max": 3}
    domains = {"a class": BITS, "a number": {"attributes": [*BITS["attributes"], number], "label": BITS["label"]}}
    domains["targets"] = {"attributes": BITS["attributes"], "label": number}
    for domain, figure, kind in (
        ("a class", {"where": {"a": 0}, "count": 3}, AbsentFigure), ("a number", {"where": {"a": 0}, "count": 3},
                                                                     AbsentFigure),
        ("a class", {"linear": [{"where": {"a": 0}}], "value": 3}, UnknownFigure),
        ("a number", {"linear": [{"of": "n"}], "value": 3}, UnknownFigure),
        ("a number", {"total": {"of": "n", "value": 3}}, UnknownFigure), ("targets", {"where": {"a": 0}, "count": 3},
                                                                          UnknownFigure),
    ):  # fmt: skip
        table = {"kind": "table", "statements": [{"count": 4}, figure]}
        release = encoded({"recon": 1, "domain": domains[domain], "models": [table]})
        told = audited(AuditFindings(release, measure(release), group_disclosure(release)))
        assert isinstance(told["magnitudes"], kind)


# ---------------------------------------------------------------- what all counts say together


GROUP = ProvedGroup((Region(Box()),), 2, 4, "two trees", published=False)
UNSAID, APPLIES_NOT = UnknownFigure("unsaid", "rows"), AbsentFigure("none")


@pytest.fixture
def judged(monkeypatch):
    """Return a function that puts what was found together beside figures, groups not put in words."""
    monkeypatch.setattr(together, "_place", lambda _, group: {"name": group.source, "rows": [group.low, group.high]})
    monkeypatch.setattr(together, "figures_of", lambda release: release.columns)

    def beside(key, figure, found, rows=100, columns=(), continuous=(), listed=(), label="ab"):
        release = Ns(rows=RowCount(0, rows), columns=columns, domain=Ns(continuous=continuous, label=None))
        if label:
            release.domain.label = Ns(value=lambda number: label[number])
        place = {"smallest_group": "group", "class_disclosure": "classes"}.get(key, key)
        held = FactTable("exact", figures={"rows": KnownFigure(0, rows), key: figure},
                         groups={FIGURES[key].groups: SmallGroups(listed, len(listed))})  # fmt: skip
        return together.with_together(release, held, JointDisclosure(**{place: found}))

    return beside


@pytest.mark.parametrize(
    ("figure", "found", "expected"),
    [
        (APPLIES_NOT, SmallestGroup(1, 4, GROUP), APPLIES_NOT), (UNSAID, None, UNSAID),
        (KnownFigure(5, 9), None, KnownFigure(1, 9, NOT_ASKED)), (KnownFigure(5, None), None,
                                                                  KnownFigure(1, None, NOT_ASKED)),
        (KnownFigure(5, 9), SmallestGroup(10, UNBOUNDED), KnownFigure(9, 9)),
        (KnownFigure(3, 9), SmallestGroup(5, UNBOUNDED), KnownFigure(5, 9)),
        (KnownFigure(3, 9), SmallestGroup(1, UNBOUNDED, why="late"), KnownFigure(1, 9, "late", "limits")),
        (KnownFigure(3, 9), SmallestGroup(5, UNBOUNDED, why=UNUSED), KnownFigure(5, 9, UNUSED)),
        (KnownFigure(3, 9), SmallestGroup(1, 4, GROUP), KnownFigure(1, 4, SMALLER)),
        (KnownFigure(3, 9), SmallestGroup(4, 4, GROUP), KnownFigure(4, 4)),
        (KnownFigure(3, None), SmallestGroup(12, UNBOUNDED), KnownFigure(12, None)),
        (KnownFigure(3, None), SmallestGroup(UNBOUNDED, UNBOUNDED), KnownFigure(100, None)),
        (UNSAID, SmallestGroup(1, 4, GROUP), KnownFigure(1, 4, SMALLER)),
        (UNSAID, SmallestGroup(1, UNBOUNDED, why="late"), UNSAID), (UNSAID, SmallestGroup(1, UNBOUNDED), UNSAID),
        (KnownFigure(1, 1), SmallestGroup(1, UNBOUNDED), KnownFigure(1, 1)),
    ],
)  # fmt: skip
def test_the_smallest_group_is_what_all_counts_leave(figure, found, expected, judged):
    told = judged("smallest_group", figure, found)
    assert told["smallest_group"] == expected
    known = isinstance(expected, KnownFigure)
    assert told.listed("smallest_group").further == (expected.why if known else "")


def test_no_group_is_as_large_as_an_open_number_of_rows(judged):
    told = judged("smallest_group", KnownFigure(1, None), SmallestGroup(UNBOUNDED, UNBOUNDED), rows=None)
    assert told["smallest_group"] == KnownFigure(0, None, SMALLER)


def test_a_group_that_follows_is_listed_first_where_it_is_the_smallest(judged):
    listed = [{"name": "leaf", "rows": [9, 9]}]
    for high, published, names in (
        (4, False, ["two trees", "leaf"]), (4, True, ["leaf"]), (9, False, ["two trees", "leaf"]), (12, False, ["leaf"])
    ):  # fmt: skip
        found = SmallestGroup(1, high, replace(GROUP, high=high, published=published))
        told = judged("smallest_group", KnownFigure(9, 9), found, listed=listed).listed("smallest_group")
        assert ([one["name"] for one in told.each], told.in_all) == (names, len(names))


@pytest.mark.parametrize(
    ("figure", "found", "rows", "expected"),
    [
        (APPLIES_NOT, KnownClasses(3, 9), 100, APPLIES_NOT), (UNSAID, KnownClasses(0, UNBOUNDED, why="late"), 100,
                                                             UNSAID),
        (UNSAID, KnownClasses(3, UNBOUNDED, why="late"), 100, KnownFigure(3, 100, "late", "limits")),
        (UNSAID, KnownClasses(0, 7), 100, KnownFigure(0, 7)), (UNSAID, KnownClasses(2, UNBOUNDED), None,
                                                               KnownFigure(2, None)),
        (KnownFigure(5, 100, "w"), KnownClasses(8, 20), 100, KnownFigure(8, 20)),
        (KnownFigure(5, 100, "w"), KnownClasses(2, UNBOUNDED, why="late"), 100, KnownFigure(5, 100, "late", "limits")),
        (KnownFigure(5, 100, "w"), KnownClasses(8, UNBOUNDED, why=UNUSED), 100, KnownFigure(8, 100, UNUSED)),
        (KnownFigure(5, 5), KnownClasses(2, UNBOUNDED, why="late"), 100, KnownFigure(5, 5)),
        (KnownFigure(5, 100), KnownClasses(2, 5, why="late"), 100, KnownFigure(5, 5)),
        (KnownFigure(9, 30), KnownClasses(2, 4), 100, KnownFigure(9, 9)),
        (KnownFigure(5, None), KnownClasses(2, 7), None, KnownFigure(5, 7)),
        (KnownFigure(5, None), KnownClasses(2, UNBOUNDED, why="late"), None, KnownFigure(5, None, "late", "limits")),
    ],
)  # fmt: skip
def test_whose_class_follows_is_what_all_counts_leave(figure, found, rows, expected, judged):
    assert judged("class_disclosure", figure, found, rows)["class_disclosure"] == expected


def test_people_of_one_class_are_listed_with_it(judged):
    for label, shown in (("ab", "b"), ("", None)):
        for low, names in ((6, ["two trees"]), (5, [])):
            told = judged("class_disclosure", KnownFigure(5, 100), KnownClasses(low, 20, ((1, GROUP),)), label=label)
            listed = told.listed("class_disclosure")
            assert [(one["name"], one["class"]) for one in listed.each] == [(name, shown) for name in names]
            assert listed.in_all == len(names)


@pytest.mark.parametrize(
    ("figure", "found", "more", "expected"),
    [
        (APPLIES_NOT, PinnedPeople(2, 5), {}, APPLIES_NOT), (UNSAID, PinnedPeople(0, 100), {}, UNSAID),
        (UNSAID, PinnedPeople(0, UNBOUNDED, why="late"), {}, UNSAID),
        (UNSAID, PinnedPeople(2, 5), {}, KnownFigure(2, 5, "unsaid", "rows")),
        (UNSAID, PinnedPeople(0, UNBOUNDED), {"rows": None}, UNSAID),
        (UNSAID, PinnedPeople(2, UNBOUNDED), {"rows": None}, KnownFigure(2, None, "unsaid", "rows")),
        (KnownFigure(1, 9, "w", "domain"), PinnedPeople(3, 7), {}, KnownFigure(3, 7, "w", "domain")),
        (KnownFigure(1, 9), PinnedPeople(3, 7, why="late"), {}, KnownFigure(3, 7, "late", "limits")),
        (KnownFigure(1, 9), PinnedPeople(3, 3), {}, KnownFigure(3, 3)), (KnownFigure(4, 9), PinnedPeople(0, 2), {},
                                                                         KnownFigure(4, 4)),
        (KnownFigure(1, None), PinnedPeople(0, UNBOUNDED, why="late"), {"rows": None},
         KnownFigure(1, None, "late", "limits")),
        (KnownFigure(0, 0), PinnedPeople(0, 4, why="late"), {"columns": (1,)}, KnownFigure(0, 4, "late", "limits")),
        (KnownFigure(0, 0), PinnedPeople(0, 4, why="late"), {"columns": (1,), "continuous": (1,)},
         KnownFigure(0, 4, "late", "domain")),
        (KnownFigure(0, 0), PinnedPeople(0, UNBOUNDED, why="late"), {"columns": (1,)},
         KnownFigure(0, 100, "late", "limits")),
    ],
)  # fmt: skip
def test_who_is_pinned_is_who_all_counts_and_figures_of_columns_pin(figure, found, more, expected, judged):
    """Whoever counts alone do not pin down may be pinned by counts and figures of single columns."""
    assert judged("pinned", figure, found, **more)["pinned"] == expected


def test_a_proved_group_is_told_with_the_condition_that_proves_it():
    nodes = [{"if": {"a": 0}, "then": 1, "else": 2}, {"counts": [3, 0]}, {"counts": [2, 60]}]
    release = encoded({"recon": 1, "domain": BITS, "models": [{"kind": "tree", "nodes": nodes}]})
    left, right = Box(((0, 1),)), Box(((0, 2),))
    for regions, asked_by in (
        ((Region(left),), True), ((Region(left), Region(right)), False), ((Region(Box(), (left,)),), False)
    ):  # fmt: skip
        for high, shown in ((3, 3), (UNBOUNDED, None)):
            told = together._place(release, replace(GROUP, regions=regions, high=high))
            assert told["rows"] == [2, shown]
            assert ("recon bound" in told["how"]) == asked_by
    found = together.proofs(release, JointDisclosure(cell=SmallestGroup(1, 3, replace(GROUP, regions=(Region(left),)))))
    assert [(text.partition(":")[0], status) for text, status in found] == [("smallest cell", "proved")]


def test_a_policy_that_asks_for_no_size_has_no_group_proved_early(monkeypatch):
    monkeypatch.setattr(together, "smallest_by_programs", lambda _, k, __, by_label=False: (k, by_label))
    plain, classes = Ns(statements=None, domain=Ns(label=None)), Ns(statements=None, domain=Ns(label=1))
    for release, thresholds, group, cell in (
        (classes, {"smallest_cell": 5}, None, (5, True)),
        (classes, {"smallest_cell": 5, "smallest_group": 7}, None, (5, True)),
        (classes, {"smallest_group": 7}, (7, False), None), (classes, {}, None, None),
        (plain, {"smallest_cell": 5, "smallest_group": 7}, (7, False), None), (plain, {"smallest_cell": 5}, None, None),
    ):  # fmt: skip
        found = together.judged_by_programs(release, thresholds, Limits())
        assert (found.group, found.cell) == (group, cell)


def test_together_is_asked_by_the_thresholds_of_a_policy(monkeypatch):
    """Cells only where there are classes; early no more where the smallest cell is too small for the policy."""
    told = {}

    def group(_, k, __, by_label=False, mixed=None):
        told["cell" if by_label else "group"] = k
        return SmallestGroup(1, 4)

    monkeypatch.setattr(together, "smallest_group", group)
    monkeypatch.setattr(together, "known_classes", lambda _, most, *__: told.update(classes=most))
    monkeypatch.setattr(together, "_pinned_together", lambda _, most, *__: told.update(pinned=most))
    plain, classes = Ns(statements=None, domain=Ns(label=None)), Ns(statements=None, domain=Ns(label=1))
    some = {"smallest_group": 7, "smallest_cell": 5, "class_disclosure": "forbidden", "most_pinned": 3}
    ten = {"group": 10, "classes": 0, "pinned": 0}
    for release, thresholds, early, asked_ in (
        (plain, {}, False, ten), (classes, {}, False, {"cell": 10, **ten}), (classes, {}, True, {"cell": 10, **ten}),
        (classes, some, False, {"cell": 5, "group": 7, "classes": 0, "pinned": 3}), (classes, some, True, {"cell": 5}),
        (classes, {**some, "smallest_cell": 4}, True, {"cell": 4, "group": 7, "classes": 0, "pinned": 3}),
    ):  # fmt: skip
        told.clear()
        found = together.judged_together(release, thresholds, Limits(), early)
        assert told == asked_
        assert (found.cell is None) == (release is plain)
        assert (found.group is None) == ("group" not in asked_)


def test_who_is_pinned_together_is_asked_where_rows_have_a_number_of_values(monkeypatch):
    """By counts alone, beside figures of single columns, or not at all: a world that is known is tried first."""
    monkeypatch.setattr(together, "figures_of", lambda release: release.columns)
    monkeypatch.setattr(together, "pinned_people", lambda _, most, __, known: ("counts", most, known))
    monkeypatch.setattr(together, "_pinned_by_columns", lambda *_: "columns")
    own, other, label = Ns(column="y"), Ns(column="x"), Ns(name="y")
    for columns, labelled, continuous, single, mixed, found in (
        ((), label, (), None, None, ("counts", 3, None)),
        ((), label, (), None, lambda: "world", ("counts", 3, "world")),
        ((), label, (1,), None, None, None), ((), label, (), object(), None, None), ((own,), label, (), None, None,
                                                                                   "columns"),
        ((own,), label, (1,), None, None, None), ((own, other), label, (1,), None, None, "columns"),
        ((own,), None, (1,), None, None, "columns"),
    ):  # fmt: skip
        release = Ns(columns=columns, domain=Ns(label=labelled, continuous=continuous), statements=Ns(single=single))
        assert together._pinned_together(release, 3, Limits(), mixed) == found


def test_classes_stand_beside_each_other_by_what_is_known_of_their_rows(monkeypatch):
    from recon.queries.located import positions

    monkeypatch.setattr(positions, "class_text", lambda one: f"y = {one.value}")
    few, many = Ns(value=1, labels_known=2, rows_most=3), Ns(value=0, labels_known=5, rows_most=90)
    found = _classes_at_positions(found_of(positions=Ns(classes=[few, many])))
    assert found == [{"name": "class 1", "where": "y = 1", "rows": [2, 3]}, {"name": "class 0", "where": "y = 0",
                                                                           "rows": [5, 90]}]  # fmt: skip
    assert _classes_at_positions(found_of(positions=Ns(classes=[many]))) == []
    assert _classes_at_positions(found_of()) is None
