"""Values between midpoints: the truth is never excluded, every step can be done again, tiny forests by brute force."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from extras import some
from hypothesis import given, settings
from hypothesis import strategies as st
from midpoint_replay import StepError, _ceil, _floor, _number, _proves
from sklearn.datasets import load_diabetes
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeRegressor

import recon
from encoders.encode.learner_facts import learnt_splits, seen_ranges
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.positions.assignments.domains import Domains
from solvers.positions.assignments.world import _row_problem, assigned
from solvers.positions.midpoints.alternating import _without, locate_in_turn
from solvers.positions.midpoints.locating import locate
from solvers.positions.midpoints.splits import (
    LARGEST,
    Applied,
    Attained,
    Barred,
    Cycled,
    _previous_float,
    at_least,
    at_most,
    least_left,
    most_left,
    next_float,
    raw_ends,
    surely_exact,
    tiny_from,
)

SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLES = st.floats(-1e300, 1e300, allow_nan=False)


def fitted(model, X, y, path):
    model.fit(X, y)
    (path / "model.pkl").write_bytes(pickle.dumps(model))
    return recon.load(str(path / "model.pkl"))


def true_leaves(forest, X, y, problem):
    """Return domains in which every row is where it is."""
    out = Domains(problem)
    reached = forest.apply(X.astype(np.float32))
    for t, tree in enumerate(forest.estimators_):
        values = np.array(problem.values(t))
        leaves = np.flatnonzero(tree.tree_.children_left < 0)
        region = np.searchsorted(leaves, reached[:, t])
        there = problem.region[values] == region[:, None]
        out.set_tree(t, there & (problem.label[values] == y[:, None]) & (problem.times[t] > 0)[:, None])
    return out


def diabetes(n, classes, seed):
    data = load_diabetes()
    y = np.digitize(data.target, np.quantile(data.target, np.arange(1, classes) / classes))
    rows = np.random.RandomState(seed).permutation(len(y))[:n]
    return data.data[rows], y[rows]


def ends_of(X, splits):
    values = X.astype(np.float32).astype(float)[:, splits.attribute]
    return values, np.stack([values.min(axis=0), values.max(axis=0)], axis=1)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    X, y = diabetes(30, 3, 0)
    forest = RandomForestClassifier(30, random_state=0)
    encoded = fitted(forest, X, y, tmp_path_factory.mktemp("midpoints"))
    problem = _row_problem(encoded.statements)
    splits = learnt_splits(encoded, problem)
    return problem, true_leaves(forest, X, y, problem), splits, *ends_of(X, splits)


# ---------------------------------------------------------------- arithmetic


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(DOUBLES, DOUBLES)
def test_bounds_of_differences_are_exact(x, y):
    a, b = np.array([x]), np.array([y])
    exact = _number(x) - _number(y)
    for found, wanted in ((most_left(a, b)[0], _floor(exact)), (least_left(a, b)[0], _ceil(exact))):
        if np.isfinite(found):
            assert _number(float(found)) == wanted or abs(wanted) > _number(LARGEST)
    assert at_most(a)[0] <= x <= at_least(a)[0]
    assert next_float(at_most(a))[0] > x or at_most(a)[0] == LARGEST
    assert _previous_float(at_least(a))[0] < x or at_least(a)[0] == -LARGEST


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(SINGLES, SINGLES)
def test_a_midpoint_that_is_called_exact_is(x, y):
    """Far exponents and subnormal numbers among them."""
    threshold = np.array([x / 2.0 + y / 2.0])
    tiny = tiny_from(threshold)[0]
    sums = _number(x) + _number(y), 2 * _number(float(threshold[0]))
    if surely_exact(threshold)[0] or all(abs(v) >= tiny or v == 0 for v in (x, y)):
        assert sums[0] == sums[1]
    least, most = 2 * np.nextafter(threshold[0], -np.inf), 2 * np.nextafter(threshold[0], np.inf)
    assert _number(float(least)) <= sums[0] <= _number(float(most))


def test_midpoints_that_are_rounded_exist():
    threshold = np.array([1.0 / 2.0 + 2.0**-60 / 2.0])
    assert _number(1.0) + _number(2.0**-60) != 2 * _number(float(threshold[0]))
    assert not surely_exact(threshold)[0]


@settings(max_examples=200, deadline=None)
@given(SINGLES)
def test_raw_ends_are_those_that_round_to_a_number(x):
    low, high = (float(end[0]) for end in raw_ends(np.array([x]), np.array([x])))
    with np.errstate(over="ignore"):
        assert np.float32(low) == np.float32(high) == np.float32(x)
        for beyond in (np.nextafter(low, -np.inf), np.nextafter(high, np.inf)):
            assert np.float32(beyond) != np.float32(x)


# ---------------------------------------------------------------- scikit-learn does what is assumed


@pytest.mark.parametrize("decimals", [1, 3, 9])
def test_thresholds_are_midpoints_of_neighbours(decimals):
    X = np.random.RandomState(0).randn(300, 4).round(decimals).astype(np.float32)
    X[:, 3] *= np.float32(1e-30) ** (np.arange(300) % 2)
    tree = DecisionTreeRegressor(random_state=0).fit(X, np.random.RandomState(1).randn(300)).tree_
    path = tree.decision_path(X).toarray().astype(bool)
    for s in np.flatnonzero(tree.children_left >= 0):
        x = X[path[:, s], tree.feature[s]].astype(float)
        a, b = x[x <= tree.threshold[s]].max(), x[x > tree.threshold[s]].min()
        assert tree.threshold[s] == a / 2 + b / 2


# ---------------------------------------------------------------- the truth stays, and comes back


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("known", some([False, True]))
@pytest.mark.parametrize("classes", [2, 3])
def test_the_truth_is_never_excluded(tmp_path, classes, known):
    X, y = diabetes(60, classes, classes)
    forest = RandomForestClassifier(40, random_state=classes)
    encoded = fitted(forest, X, y, tmp_path)
    found = assigned(encoded.statements, Limits())
    splits = learnt_splits(encoded, found.problem)
    values, ranges = ends_of(X, splits)
    true = true_leaves(forest, X, y, found.problem)
    for domains in (found.domains, true):
        located, left = locate_in_turn(found.problem, domains, splits, ranges if known else None, Limits())
        assert not located.contradiction
        assert located.complete
        assert ((located.low <= values) & (values <= located.high)).all()
        assert not (true.words & ~left.words).any()
        before_ = domains.sizes()
        assert (left.sizes() <= before_).all()


@pytest.mark.slow
def test_three_classes_settle_values_without_ranges_and_two_never_do(tmp_path):
    """All rows of one class up and all others down leaves every threshold: see solvers.positions.midpoints.locating."""
    exact = {}
    for classes in (2, 3):
        X, y = diabetes(100, classes, 0)
        forest = RandomForestClassifier(60, random_state=0)
        encoded = fitted(forest, X, y, tmp_path)
        problem = _row_problem(encoded.statements)
        splits = learnt_splits(encoded, problem)
        located = locate(problem, true_leaves(forest, X, y, problem), splits, None, Limits())
        values, _ = ends_of(X, splits)
        assert (located.low[located.exact] == values[located.exact]).all()
        exact[classes] = float(located.exact.mean())
    assert exact[2] == 0
    assert exact[3] > 0.3


# ---------------------------------------------------------------- steps done again


@pytest.mark.slow
def test_all_steps_can_be_done_again(case):
    problem, domains, splits, _, ranges = case
    kinds = set()
    for known in (None, ranges):
        found = locate(problem, domains, splits, known, Limits())
        kinds |= {type(step) for step in found.steps}
        assert _proves(problem, domains, splits, known, found)
    assert {Applied, Cycled} <= kinds


@pytest.mark.slow
def test_steps_from_proved_leaves_can_be_done_again(tmp_path):
    X, y = diabetes(30, 2, 5)
    encoded = fitted(RandomForestClassifier(30, random_state=5), X, y, tmp_path)
    found = assigned(encoded.statements, Limits())
    splits = learnt_splits(encoded, found.problem)
    ranges = ends_of(X, splits)[1]
    located = locate(found.problem, found.domains, splits, ranges, Limits())
    assert len(located.removed)
    assert {Attained} <= {type(step) for step in located.steps}
    assert _proves(found.problem, found.domains, splits, ranges, located)


def mutations(found, rows):
    steps = list(found.steps)
    for k, step in enumerate(steps):
        if isinstance(step, Cycled):
            yield [*steps[:k], replace(step, nodes=step.nodes[:-1]), *steps[k + 1 :]]
            yield [*steps[:k], replace(step, row=(step.row + 1) % rows), *steps[k + 1 :]]
            yield [*steps[:k], replace(step, nodes=(*step.nodes, step.nodes[0])), *steps[k + 1 :]]
        elif isinstance(step, Attained):
            yield [*steps[:k], replace(step, greatest=not step.greatest), *steps[k + 1 :]]
        elif isinstance(step, Barred):
            yield [*steps[:k], replace(step, nodes=step.nodes[:0]), *steps[k + 1 :]]
    yield steps[:1]
    yield []
    yield [step for step in steps if not isinstance(step, Applied)]


def holds(problem, domains, splits, known, found):
    try:
        return _proves(problem, domains, splits, known, found)
    except StepError:
        return False


@pytest.mark.slow
def test_wrong_steps_prove_nothing(case):
    """What mutated steps still prove is true; those that lack what matters are rejected."""
    problem, domains, splits, _, _ = case
    found = locate(problem, domains, splits, None, Limits())
    tried = [
        holds(problem, domains, splits, None, replace(found, steps=tuple(steps)))
        for steps in mutations(found, problem.rows)
    ]
    assert len(tried) >= 6
    assert not any(tried)


@pytest.mark.slow
def test_a_narrower_claim_is_not_proved(case):
    problem, domains, splits, values, ranges = case
    found = locate(problem, domains, splits, ranges, Limits())
    open_ = np.argwhere(~found.exact)
    for i, c in open_[:: max(1, len(open_) // 5)]:
        high = found.high.copy()
        high[i, c] = max(values[i, c], found.low[i, c])
        if high[i, c] < _previous_float(found.high[[i]][:, c])[0]:
            narrower = replace(found, high=high)
            replayed_wider = found.high[i, c] - found.low[i, c] > 1e-3
            assert not replayed_wider or not holds(problem, domains, splits, ranges, narrower)


# ---------------------------------------------------------------- tiny forests, by brute force


def allowed_worlds(problem, domains, splits, grid, ranges):
    """Return all datasets on a grid of values whose rows lie in their leaves and whose thresholds are midpoints."""
    rows, columns = problem.rows, len(splits.attribute)
    own = set(splits.tree.tolist())
    leaves = [[v for v in domains.of_row(i).tolist() if problem.tree[v] in own] for i in range(rows)]
    out = []
    for flat in product(grid, repeat=rows * columns):
        x = np.array(flat).reshape(rows, columns)
        if fits(problem, splits, x, leaves, ranges):
            out.append(x)
    return out


def fits(problem, splits, x, leaves, ranges):
    if ranges is not None and not (x.min(0) == ranges[:, 0]).all():
        return False
    if ranges is not None and not (x.max(0) == ranges[:, 1]).all():
        return False
    sides = {}
    for i, values in enumerate(leaves):
        for t in {int(problem.tree[v]) for v in values}:
            there = []
            leaves_left = {int(splits.first_leaf[t] + problem.region[v]) for v in values if problem.tree[v] == t}
            for leaf in leaves_left:
                at = slice(splits.start[leaf], splits.start[leaf + 1])
                path = list(zip(splits.node[at].tolist(), splits.left[at].tolist(), strict=True))
                if all((x[i, splits.column[s]] <= splits.threshold[s]) == left for s, left in path):
                    there.append(path)
            if len(there) != 1:
                return False
            for s, left in there[0]:
                sides.setdefault((s, left), []).append(x[i, splits.column[s]])
    return all(
        max(sides.get((s, True), [np.inf])) / 2 + min(sides.get((s, False), [np.inf])) / 2 == splits.threshold[s]
        for s in range(len(splits.threshold))
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(24))
def test_tiny_forests_agree_with_brute_force(tmp_path, seed):
    """Every dataset on the grid that the leaves and the midpoints allow lies within the intervals."""
    rng = np.random.RandomState(seed)
    grid = np.array([[0.0, 1.0, 2.5, 4.0], [-1.0, 0.0, 2.0**-40, 1.0], [-3.0, -1e-30, 0.5, 7.0]][seed % 3])
    rows, columns = (5, 1) if seed % 2 else (3, 2)
    X = rng.choice(grid, (rows, columns)).astype(np.float32).astype(float)
    y = rng.randint(0, 2, rows)
    y[:2] = 0, 1
    forest = RandomForestClassifier(3, random_state=seed)
    encoded = fitted(forest, X, y, tmp_path)
    problem = _row_problem(encoded.statements)
    try:
        splits = learnt_splits(encoded, problem)
    except Unsupported:
        return  # no tree splits
    values, ends = ends_of(X, splits)
    for known in (None, ends):
        domains = assigned(encoded.statements, Limits()).domains
        found = locate(problem, domains, splits, known, Limits())
        assert not found.contradiction
        assert _proves(problem, domains, splits, known, found)
        cells = np.unique(np.concatenate([values.ravel(), grid.astype(np.float32).astype(float)]))
        worlds = allowed_worlds(problem, domains, splits, cells, known)
        assert any((x == values).all() for x in worlds)
        for x in worlds:
            assert ((found.low <= x) & (x <= found.high)).all()


# ---------------------------------------------------------------- what is refused, and what is no midpoint


@pytest.mark.parametrize(
    "model",
    [
        ExtraTreesClassifier(5, bootstrap=True, random_state=0),
        GradientBoostingClassifier(n_estimators=2, random_state=0),
        RandomForestClassifier(5, bootstrap=False, random_state=0),
    ],
)
def test_other_learners_are_refused_in_one_sentence(tmp_path, model):
    X, y = diabetes(40, 2, 0)
    encoded = fitted(model, X, y, tmp_path)
    problem = _row_problem(encoded.statements)
    if problem is None:
        pytest.skip("rows cannot be distinguished")
    with pytest.raises(Unsupported, match="halfway between two training values"):
        learnt_splits(encoded, problem)


def test_thresholds_that_are_no_midpoints_are_noticed(case):
    """The intervals are then what the leaves say: nothing wrong is said."""
    problem, domains, splits, values, ranges = case
    rng = np.random.RandomState(0)
    width = splits.edges(problem)
    moved = splits.threshold.copy()
    for s in range(len(moved)):  # within the same gap between cuts, so that the leaves stay as they are
        low, high = width[splits.column[s]]
        at = moved[s], high[splits.part[s] - 1], low[splits.part[s]]
        moved[s] += (at[2] - at[1]) * rng.uniform(-0.2, 0.2)
    keep = (at_most(moved) < values.max(0)[splits.column]) & (moved > values.min(0)[splits.column])
    wrong = replace(splits, threshold=np.where(keep, moved, splits.threshold))
    found = locate(problem, domains, wrong, ranges, Limits())
    alone = locate(problem, domains, wrong, ranges, Limits(seconds=0))
    if found.contradiction:
        assert found.contradiction.startswith("the thresholds are not midpoints: ")
        assert (found.low <= alone.low).all()


def test_a_range_that_is_wrong_is_noticed(case):
    problem, domains, splits, _, ranges = case
    found = locate(problem, domains, splits, ranges / 2, Limits())
    assert found.contradiction.startswith("the thresholds are not midpoints")
    assert not found.exact.any()


def test_limits_leave_what_is_proved(case):
    problem, domains, splits, values, ranges = case
    found = locate(problem, domains, splits, ranges, Limits(seconds=0))
    assert not found.complete
    assert ((found.low <= values) & (values <= found.high)).all()


def test_without_drops_pairs_and_leaves_the_rest(case):
    problem, _, _, _, _ = case
    domains = Domains(problem)
    row = 0
    values = domains.of_row(row)
    fewer = _without(domains, np.array([[row, values[0]], [row, values[3]]]))
    assert set(values.tolist()) - set(fewer.of_row(row).tolist()) == {values[0], values[3]}
    assert (fewer.words[1:] == domains.words[1:]).all()


# ---------------------------------------------------------------- behind a scaler, in regression, two forests


def test_ranges_behind_a_scaler_are_those_that_the_trees_saw(tmp_path):
    X, y = diabetes(60, 3, 1)
    model = make_pipeline(MinMaxScaler(), RandomForestClassifier(40, random_state=0))
    encoded = fitted(model, X, y, tmp_path)
    problem = _row_problem(encoded.statements)
    splits = learnt_splits(encoded, problem)
    scaled = model[0].transform(X)
    values = scaled.astype(np.float32).astype(float)[:, splits.attribute]
    assert not splits.plain.any()
    domain = encoded.domain
    given = {a.name: (float(a.minimum), float(a.maximum)) for a in domain.attributes}
    ranges = seen_ranges(encoded, splits, given)
    assert (ranges == np.stack([values.min(axis=0), values.max(axis=0)], axis=1)).all()
    assert np.isnan(seen_ranges(encoded, splits, dict.fromkeys(given, (0.0, 0.01)))).all()
    found = locate(problem, true_leaves(model[1], scaled, y, problem), splits, ranges, Limits())
    assert not found.contradiction
    assert ((found.low <= values) & (values <= found.high)).all()
    assert found.exact.mean() > 0.2


def test_plain_ranges_are_rounded_to_single_precision(case, tmp_path):
    X, y = diabetes(30, 3, 0)
    encoded = fitted(RandomForestClassifier(30, random_state=0), X, y, tmp_path)
    splits = learnt_splits(encoded, _row_problem(encoded.statements))
    names = [a.name for a in encoded.domain.attributes]
    given = {name: (float(X[:, k].min()), float(X[:, k].max())) for k, name in enumerate(names)}
    assert splits.plain.all()
    assert (seen_ranges(encoded, splits, given) == case[4]).all()


def test_of_two_forests_with_the_same_bags_each_threshold_is_its_own(tmp_path):
    X, y = diabetes(40, 3, 0)
    one = RandomForestClassifier(10, random_state=0).fit(X, y)
    two = RandomForestClassifier(10, random_state=0, max_depth=3).fit(X**3, y)
    paths = []
    for k, model in enumerate((two, one)):
        paths.append(tmp_path / f"{k}.pkl")
        paths[-1].write_bytes(pickle.dumps(model))
    encoded = recon.load(*map(str, paths))
    problem = _row_problem(encoded.statements)
    splits = learnt_splits(encoded, problem)
    values = X.astype(np.float32).astype(float)[:, splits.attribute]
    found = locate(problem, true_leaves(one, X, y, problem), splits, None, Limits())
    assert not found.contradiction
    assert ((found.low <= values) & (values <= found.high)).all()


@pytest.mark.slow
def test_a_regression_forest_gives_its_values_back_without_ranges(tmp_path):
    """Its best splits may lie between any two rows, so that equations close odd cycles."""
    data = load_diabetes()
    X, y = data.data[:60], data.target[:60]
    encoded = fitted(RandomForestRegressor(60, random_state=0), X, y, tmp_path)
    known = assigned(encoded.statements, Limits())
    splits = learnt_splits(encoded, known.problem)
    values, _ = ends_of(X, splits)
    found, _ = locate_in_turn(known.problem, known.domains, splits, None, Limits())
    assert not found.contradiction
    assert ((found.low <= values) & (values <= found.high)).all()
    assert found.exact.mean() > 0.7
