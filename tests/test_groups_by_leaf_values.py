"""Groups that leaf values of boosted models prove, held against the rows that the models were fitted to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from policy_cases import policy_of

import recon
from recon.readers.inspection.findings.findings import Finding
from recon.readers.loading.settled import strengthened_release
from recon.release.auditing.evidence import implied
from recon.release.auditing.facts import open_facts
from recon.release.auditing.together import JointDisclosure, judged_together
from recon.release.policies.assessing import assess
from recon.release.policies.facts import KnownFigure, UnknownFigure
from recon.report.stored_report import settled_early
from solvers.engines.chain import _only_sizes
from solvers.engines.groups import smallest as leaf_values
from solvers.engines.groups.disclosure import smallest_group
from solvers.engines.groups.published import items_of
from solvers.engines.groups.smallest import (
    LeafValueModel,
    SmallestGroup,
    small_by_programs,
    smallest_by_programs,
    world_model,
)
from solvers.foundation.errors import Inconclusive, TooLarge
from solvers.foundation.limits import Limits
from solvers.kernel.leaf_values.blocks import KIND
from solvers.statements.boxes import Box
from solvers.statements.release import ANY_LABEL, UNBOUNDED

pytest.importorskip("sklearn")
K = 10
HONEST = Path(__file__).parent / "golden" / "honest"


def fitted(seed: int, rows: int = 400, weights: bool = False) -> tuple[Any, pd.DataFrame]:
    """Return a release of a boosted model, and its rows: six bits and a label."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.random((rows, 6)) < rng.uniform(0.2, 0.6, 6), columns=list("abcdef")).astype(int)
    frame["label"] = (frame["a"] + frame["b"] * frame["c"] + rng.normal(0, 1, rows) > 0.8).astype(int)
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, min_samples_leaf=20, early_stopping=False)
    model.fit(frame.iloc[:, :-1], frame["label"], rng.uniform(0.5, 1.5, rows) if weights else None)
    return recon.encode(model, recon.Domain.from_frame(frame, label="label")), frame


def inside(box: Box, frame: pd.DataFrame) -> Any:
    """Return which rows of bits are in a box."""
    values = frame.to_numpy()
    return np.all([(mask >> values[:, k]) & 1 for k, mask in box.literals], axis=0) | (len(box.literals) == 0)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
def test_proved_groups_hold_the_true_rows(seed: int) -> None:
    """What is proved of the smallest group, with and without leaf values settled before, is so in the truth."""
    release, frame = fitted(seed)
    for one in (release, strengthened_release(release, Limits())):
        for by_label in (False, True):
            found = smallest_group(one.statements, K, Limits().lasting(20), by_label)
            if found.group is not None:
                held = np.zeros(len(frame), dtype=bool)
                for region in found.group.regions:
                    outside = [~inside(box, frame) for box in region.minus]
                    held |= np.all([inside(region.box, frame), *outside], axis=0)
                true = int(held.sum())
                assert found.group.low <= true <= found.group.high
                assert found.high <= found.group.high


def test_linear_programs_and_worlds_keep_the_truth() -> None:
    """The true rows meet the model of the worlds, and bounds by linear programs hold for them."""
    release, frame = fitted(1)
    statements = strengthened_release(release, Limits()).statements
    items = items_of(statements, Limits())
    z = np.zeros(len(items.item), dtype=np.int64)
    for c, pieces in enumerate(items.system.pieces):
        z[c] = sum(int(inside(items.system.boxes[p], frame).sum()) for p in pieces)
    assert int(z.sum()) == len(frame)
    model, whole = world_model(items.system, Limits())
    assert whole
    if isinstance(model, LeafValueModel):
        assert all(program.meets(z) for program in model.programs)
    for k in (5, K, 40):
        found = small_by_programs(items, k, Limits())
        if found is not None:
            chosen, low, high = found
            assert 0 < low <= int(items.rows(z)[chosen].sum()) <= high < k


def test_programs_and_what_they_try_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets of cells for all pairs of trees, as numbers, and 26 programs that took eight seconds, counted as nothing."""
    release, _ = fitted(6)
    items = items_of(strengthened_release(release, Limits(), lattices=False).statements, Limits())
    cells = len(items.item)
    monkeypatch.setattr(leaf_values.LeafValueRelaxation, "least", lambda *_: (None, None))
    small_by_programs(items, K, whole := Limits())
    limits = Limits(memory=leaf_values.SET_BYTES * len(items) * cells)
    small_by_programs(items, K, limits)  # no pair of trees fits
    assert whole.meter.used - limits.meter.used > leaf_values.SET_WORK * cells
    with pytest.raises(TooLarge, match="cells that are tried"):
        small_by_programs(items, K, Limits(memory=leaf_values.SET_BYTES * len(items) * cells - 1))
    monkeypatch.undo()
    used = (limits := Limits().at_most(5.0)).meter.used
    program = leaf_values.LeafValueRelaxation(items.system, items.system.release.boosted[0], limits)
    program.least(np.ones(cells))
    read = leaf_values.READ * program.matrix.nnz
    assert limits.meter.used - used > read
    limits = program.limits = Limits().at_most(0.5 * read)
    with pytest.raises(Inconclusive, match="groups were bounded by leaf values"):
        program.least(np.ones(cells))


def test_programs_are_tried_before_lattices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that programs prove too small ends the gate without a lattice; it is as large as in the truth."""
    release, frame = fitted(6)
    monkeypatch.setattr(
        "solvers.leaf_values.lattice.LatticeSearch.work", lambda _: pytest.fail("a lattice was reduced")
    )
    found = settled_early(release, policy_of(smallest_cell=K), Limits())
    assert found is not None
    assert found.context.assessment is not None
    assert found.context.assessment.verdict == "do not release"
    group = getattr(getattr(found.together, "cell", None), "group", None)
    assert group is not None
    held = np.any([inside(region.box, frame) for region in group.regions], axis=0)
    assert 0 < group.low <= int(held.sum()) <= group.high < K


@pytest.mark.parametrize("seed", range(3))
def test_programs_prove_nothing_of_weighted_rows(seed: int) -> None:
    """Where weighted sums contradict that no row was weighted, linear programs on leaf values are not believed."""
    release, _ = fitted(seed, weights=True)
    soon = strengthened_release(release, Limits(), lattices=False)
    assert soon.statements.loosened
    assert not soon.statements.boosted
    assert smallest_by_programs(soon.statements, 40, Limits(), True) is None
    early = settled_early(release, policy_of(smallest_cell=40), Limits())
    assert early is None or early.together is None or early.together.cell is None or early.together.cell.group is None


def test_losses_say_nothing_more_only_where_every_cell_is_known() -> None:
    """The losses after every tree follow from the rows of every class in every cell, and from nothing less."""
    from sklearn.ensemble import GradientBoostingClassifier

    _, frame = fitted(0)
    model = GradientBoostingClassifier(n_estimators=2, max_depth=2, random_state=0)
    model.fit(frame.iloc[:, :-1], frame["label"])
    release = recon.encode(model, recon.Domain.from_frame(frame, label="label"))
    losses = Finding("medium", "losses", "estimators[0].train_score_", "ndarray of 2", "", "")
    settled = strengthened_release(release, Limits())
    assert not settled.statements.boosted
    assert implied(losses, settled)
    (block,) = [one for one in settled.statements.partitions.values() if one.kind == KIND and one.labels]
    at = next(i for i, one in enumerate(settled.statements.blocks) if one is block)
    wider = replace(block, high=block.high + (block.label != ANY_LABEL))  # one row more may be anywhere
    blocks = tuple(wider if i == at else one for i, one in enumerate(settled.statements.blocks))
    for other in (
        release,  # leaf values not evaluated
        replace(settled, statements=replace(settled.statements, boosted=release.statements.boosted)),
        replace(settled, statements=replace(settled.statements, blocks=blocks)),
    ):
        assert not implied(losses, other)
    for path in ("estimators[0].validation_score_", "oob_scores_"):
        assert not implied(replace(losses, path=path), settled)


def test_figures_of_xgboost_that_are_not_used_keep_every_check_open(tmp_path: Path) -> None:
    """Where 99 may have been taken for missing, two readings are left, and no figure is used."""
    ranges = {"age": (0, 99), "hours": (0, 60), "income": (3, 250)}
    attributes = [{"name": name, "min": low, "max": high} for name, (low, high) in ranges.items()]
    domain = {"attributes": [{"name": "female", "values": [0, 1]}, *attributes]}
    path = tmp_path / "domain.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain | {"label": {"name": "label", "values": [0, 1]}}}))
    release = recon.load(str(HONEST / "xgboost_income.json"), domain=str(path))
    (model,) = release.models
    assert model.origin is not None
    assert [one.why for one in model.origin.unused] == ["it is open which values were taken for missing"]
    demanded = policy_of(smallest_cell=2, smallest_group=2, class_disclosure=0, most_pinned=0)
    found = settled_early(release, demanded, Limits()) or recon.audit(release, demanded)
    assert found.to_dict()["assessment"]["outcome"] == "inconclusive"


@pytest.mark.parametrize(
    "name", ["xgb_alpha.json", "xgb_clipped.json", "xgb_dart.json", "cat_monotone.cbm", "cat_langevin.cbm"]
)
def test_one_tree_of_exact_counts_is_not_met_while_figures_are_unused(name: str) -> None:
    """Leaf values set up otherwise (l1, clipped, dropped, monotone, noisy) may say more than counts do."""
    release = recon.load(str(HONEST.parent / "boosted" / name))
    facts = open_facts(release, (), UnknownFigure("not asked"), JointDisclosure(SmallestGroup(2, UNBOUNDED)))
    group = facts["smallest_group"]
    assert isinstance(group, KnownFigure)
    assert (group.low, "were not used" in group.why) == (1, True)
    assert assess(facts.to_json(), policy_of(smallest_group=2)).outcome == "inconclusive"


def widened(settled: Any, boosted: Any, by: int) -> Any:
    """Return a settled release whose proved cells have up to so many rows fewer or more, its model still open."""
    (block,) = [one for one in settled.statements.partitions.values() if one.kind == KIND and one.labels]
    room = np.where((block.label != ANY_LABEL) & (block.high > 0), by, 0)
    wider = replace(block, low=np.maximum(block.low - room, 0), high=block.high + room)
    blocks = tuple(wider if one is block else one for one in settled.statements.blocks)
    return replace(settled, statements=replace(settled.statements, blocks=blocks, boosted=boosted))


@pytest.mark.parametrize(("by", "outcome"), [(1, "met"), (10_000, "inconclusive")])
def test_what_bounds_exclude_in_every_world_is_met_beside_open_leaf_values(by: int, outcome: str) -> None:
    """Where no world has a small cell, the true rows have none: no more of leaf values can change it; else they may."""
    release, frame = coarse()
    settled = strengthened_release(release, Limits())
    assert not settled.statements.boosted
    at_least = int(frame.value_counts().min()) - 2
    assert at_least > 150
    open_ = widened(settled, release.statements.boosted, by)
    assert open_.statements.boosted
    demanded = {"smallest_group": at_least, "smallest_cell": at_least, "class_disclosure": 0}
    together = judged_together(open_, demanded, Limits())
    facts = open_facts(open_, (), UnknownFigure("not asked"), together)
    found = {one.rule: one.said.outcome for one in assess(facts.to_json(), policy_of(**demanded)).checks}
    assert set(found.values()) == {outcome}
    assert together.always == (set(demanded) if outcome == "met" else set())
    assert any("not evaluated to the end" in one["why"] for one in facts.to_json()["not_used"])
    everybody = judged_together(open_, {**demanded, "most_pinned": 10**6}, Limits()).always
    assert "pinned" not in everybody  # all are in cells of one possible row, how many of them for certain is open


def test_cells_of_several_labels_prove_nothing_of_labels() -> None:
    """Leaf values tell labels inside a cell apart: a cell of many rows is no proof that no class of it has few."""
    release, _ = coarse()
    sizes = replace(release.statements, blocks=(_only_sizes(release.statements.blocks[0]),), boosted=())
    items = items_of(sizes, Limits(), True)
    assert not items.of_one_label
    assert not items.never_small(2, True)
    assert items_of(sizes, Limits()).never_small(2)


def coarse() -> tuple[Any, pd.DataFrame]:
    """Return a release of boosted stumps, and its rows: two bits and a label, every cell with hundreds of rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (4_000, 2)), columns=[*"ab"])
    frame["label"] = (rng.random(4_000) < 0.3 + 0.3 * frame["a"] + 0.2 * frame["b"]).astype(int)
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2, learning_rate=1, early_stopping=False)
    model.fit(frame.iloc[:, :-1], frame["label"])
    return recon.encode(model, recon.Domain.from_frame(frame, label="label")), frame


@pytest.mark.parametrize("kind", ["AdaBoostClassifier", "GradientBoostingClassifier", "ExtraTreesClassifier"])
def test_one_person_between_the_cuts_of_two_trees_is_a_group(kind: str) -> None:
    """Nobody's leaf has few rows, but age <= 2.5 and age <= 3.5 differ by one person: stumps, and leaves of 60."""
    from sklearn import ensemble, tree

    rng = np.random.default_rng(0)
    age = np.concatenate([rng.choice([0, 1, 2, 4, 5, 6], 400), [3]])
    frame = pd.DataFrame({"age": age})
    frame["label"] = ((age + rng.normal(0, 2.5, 401)) > 3).astype(int)
    stump = tree.DecisionTreeClassifier(max_depth=1)
    options: dict[str, dict[str, Any]] = {
        "AdaBoostClassifier": {"estimator": stump, "n_estimators": 8},
        "GradientBoostingClassifier": {"n_estimators": 8, "max_depth": 1, "learning_rate": 1},
        "ExtraTreesClassifier": {"n_estimators": 6, "min_samples_leaf": 60},
    }
    model = getattr(ensemble, kind)(random_state=0, **options[kind]).fit(frame[["age"]], frame["label"])
    leaves = [one.tree_ for one in np.ravel(model.estimators_)]
    assert min(int(t.n_node_samples[t.children_left < 0].min()) for t in leaves) >= 60
    release = recon.encode(model, recon.Domain.from_frame(frame, label="label"))
    found = settled_early(release, policy_of(smallest_group=K), Limits())
    assert found is not None
    assert found.context.assessment is not None
    assert found.context.assessment.verdict == "do not release"
    one = found.to_dict()["facts"]["groups"][0]
    assert one["rows"] == [1, 1]
    assert one["where"].startswith("age = 3")
