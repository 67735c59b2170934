"""Random tiny boosted models, and what recon says of them beside the oracle: never less than every possible dataset."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import boosted_oracle as bo
import joblib
import numpy as np
import pandas as pd
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical
from recon.readers.frames.world import TrueRows
from recon.readers.loading.settled import strengthened_release
from solvers.leaf_values.combining import interval_use

SLACK = 1e-9
SHAPES: tuple[tuple[tuple[int, ...], ...], ...] = (((0, 1),) * 2, ((0, 1, 2), (0, 1)), ((0, 1),) * 3)
LABEL = "y"


@dataclass(frozen=True, eq=False)
class Case:
    """A tiny training set and what a model is fitted with. `name` says all that is needed to fit it again."""

    name: str
    values: tuple[tuple[int, ...], ...]
    labels: tuple[int, ...]
    rows: tuple[bo.Kind, ...]
    kind: str  # sk, hist
    regression: bool
    options: dict[str, Any]
    weights: tuple[float, ...] | None = None
    before: tuple[bo.Kind, ...] = ()  # rows that the first half of the trees was fitted to, before training went on

    @property
    def frame(self) -> pd.DataFrame:
        """Return the training rows, label last."""
        return self._framed(self.rows)

    def _framed(self, rows: tuple[bo.Kind, ...]) -> pd.DataFrame:
        columns = [f"x{i}" for i in range(len(self.values))]
        frame = pd.DataFrame([x for x, _ in rows], columns=columns).astype(int)
        return frame.assign(**{LABEL: [int(y) for _, y in rows]})

    @property
    def domain(self) -> Domain:
        """Return the domain: all values, whether they occur or not."""
        attributes = tuple(Categorical(f"x{i}", v) for i, v in enumerate(self.values))
        return Domain(attributes, Categorical(LABEL, self.labels))

    def fitted(self) -> Any:
        """Return the fitted model."""
        kinds = {
            ("sk", False): GradientBoostingClassifier,
            ("sk", True): GradientBoostingRegressor,
            ("hist", False): HistGradientBoostingClassifier,
            ("hist", True): HistGradientBoostingRegressor,
        }
        frame, options = self.frame, self.options
        if self.before:
            more = "n_estimators" if self.kind == "sk" else "max_iter"
            first = self._framed(self.before)
            model = kinds[self.kind, self.regression](**{**options, "warm_start": True})
            model.fit(first.drop(columns=LABEL), first[LABEL])
            model.set_params(**{more: 2 * options[more]}).fit(frame.drop(columns=LABEL), frame[LABEL])
            return model.set_params(warm_start=False)  # nothing in the file says that there were two calls
        model = kinds[self.kind, self.regression](**options)
        return model.fit(frame.drop(columns=LABEL), frame[LABEL], sample_weight=self.weights)


def random_case(seed: int, kinds: tuple[str, ...] = ("sk", "hist"), most: int = 8, task: str = "binary") -> Case:
    """Return a random case; duplicates, one-leaf trees, rates from 0.001 to 1 and 2 to `most` rows occur."""
    rng = np.random.default_rng(seed)
    values = SHAPES[rng.integers(len(SHAPES) - (task == "softmax"))]
    labels = (0, 1) if task == "binary" else (0, 1, 2)
    n = int(rng.integers(max(2, len(labels)), most + 1))
    few = rng.random() < 0.3  # two or three distinct rows, many times
    pool = [tuple(int(rng.choice(v)) for v in values) for _ in range(2 if few else n)]
    x = [pool[rng.integers(len(pool))] for _ in range(n)]
    y = rng.permutation([*labels, *rng.choice(labels, n - len(labels))])
    rows = tuple((tuple(map(float, a)), float(b)) for a, b in zip(x, y, strict=True))
    kind, regression = str(rng.choice(kinds)), task == "squared"
    trees = int(rng.choice([1, 2, 3, 5, 10]))
    options: dict[str, Any] = {"learning_rate": float(rng.choice([1, 0.5, 0.1, 0.1, 0.001])), "random_state": seed}
    options["max_depth"] = int(rng.integers(1, 4))
    if kind == "sk":
        options |= {"n_estimators": trees, "max_features": int(rng.integers(1, len(values) + 1))}
        options |= {"min_samples_leaf": int(rng.choice([1, 1, 1, 2]))}
        options |= {"init": "zero"} if rng.random() < 0.15 else {}
    else:
        options |= {"max_iter": trees, "l2_regularization": float(rng.choice([0, 0, 1, 0.3]))}
        options |= {"min_samples_leaf": int(rng.choice([1, 1, 1, 2])), "early_stopping": False}
        options |= {"max_features": float(rng.choice([0.5, 1.0]))}
    return Case(f"{task} {seed}", values, labels, rows, kind, regression, options)


@dataclass
class Outcome:
    """What a comparison found: `wrong` excludes a possible dataset or contradicts; `loose` is less than is known."""

    case: Case
    worlds: bo.Worlds
    wrong: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    read: str = "read"  # or why recon did not read the file
    failed: list[str] = field(default_factory=list)  # why leaf values are not used
    certified: int = 0  # verdicts with a certificate
    missing: list[str] = field(default_factory=list)  # verdicts without the certificate that was asked for
    figures: int = 0  # of leaf values, checked in possible datasets
    most_used: float = 0.0  # of the interval of such a figure: at most 1

    @property
    def tight(self) -> bool:
        """Return whether recon knows as much as there is to know of every row and every label."""
        return self.read == "read" and not self.loose and not self.worlds.near


def compared(case: Case, limits: recon.Limits | None = None, certificates: bool = False) -> Outcome | None:
    """Return what recon says of the fitted case beside the oracle, None where the case is ambiguous.

    `certificates`: every verdict is proved as well (ten times as slow).

    Raises AssertionError where the oracle itself misses the truth.
    """
    model = case.fitted()
    kinds = bo.grid(case.values, case.labels)
    found = bo.worlds(bo.ensemble(model), kinds, len(case.rows))
    assert found.ambiguous or found.has(case.rows), f"the oracle misses the truth of {case.name}"
    if found.ambiguous:
        return None
    out = Outcome(case, found)
    release = loaded(case, model, out)
    if release is not None:
        if not case.regression:
            check_figures(out, release)
        lines = strengthened_release(release, limits).statements.loosened
        out.failed = [line for line in lines if "its leaf values" in line]
        check_count(out, release, limits)
        check_profiles(out, release, limits, certificates)
        check_attribute(out, release, limits)
        check_bounds(out, release, limits)
    return out


def loaded(case: Case, model: Any, out: Outcome) -> recon.EncodedRelease | None:
    """Return the release of a model saved by joblib; a refusal is put down."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.joblib"
        joblib.dump(model, path)
        try:
            return recon.load(str(path), domain=case.domain)
        except (recon.Unsupported, recon.ReleaseError) as error:
            out.read = f"{type(error).__name__}: {error}".replace(folder, "")
            return None
        except recon.ContradictionError as error:
            out.wrong.append(f"load says that there is no world: {error}")
            return None


def check_figures(out: Outcome, release: recon.EncodedRelease, most: int = 40) -> None:
    """Check that every figure that was read holds in possible datasets (at most so many of them)."""
    columns = list(out.case.frame.columns)
    kinds = [pd.DataFrame([(*x, y)], columns=columns).astype(int) for x, y in out.worlds.kinds]
    rows = [TrueRows.of(release, frame) for frame in kinds]
    step = max(1, len(out.worlds.z) // most)
    for model in release.statements.boosted:
        blocks = [release.statements.blocks[tree.block] for tree in model.trees]
        leaves = np.array([[int(r.regions(b.boxes)[0]) for b in blocks] for r in rows], dtype=np.int64)
        place = [model.labels.index(out.case.labels.index(int(y))) for _, y in out.worlds.kinds]
        for z in out.worlds.z[::step]:
            times = np.zeros((len(kinds), max(1, len(model.labels))), dtype=np.int64)
            times[np.arange(len(kinds)), place] = z
            for tree, part in zip(model.trees, interval_use(model, leaves, times), strict=True):
                out.figures += len(part)
                out.most_used = max(out.most_used, float(part.max(initial=0)))
                out.wrong += [
                    f"{tree.names[i]}: {part[i]:.3g} of its interval, {z.tolist()}" for i in np.nonzero(part > 1)[0]
                ]


def check_count(out: Outcome, release: recon.EncodedRelease, limits: recon.Limits | None) -> None:
    """Compare the numbers of worlds; more than there are is loose, less is wrong."""
    for convention, true in (("multiset", out.worlds.multiset), ("ordered", out.worlds.ordered)):
        found = recon.count(release, convention, limits)
        if found.status == "unsat":
            out.wrong.append(f"count {convention}: no world")
        elif found.value is not None:
            if found.value < true:
                out.wrong.append(f"count {convention}: {found.value} of {true}")
            elif found.value > true:
                out.loose.append(f"count {convention} {found.value} > {true}")
        elif found.bounds is not None:
            if found.bounds[1] < math.log2(true) - SLACK:
                out.wrong.append(f"count {convention}: at most 2^{found.bounds[1]} of {true}")
            elif found.bounds[1] > math.log2(true) + SLACK or found.bounds[0] < math.log2(true) - SLACK:
                out.loose.append(f"count {convention} {found.bounds} for {math.log2(true)}")
            if found.bounds[0] > math.log2(true) + SLACK:
                out.loose.append(f"count {convention}: at least {found.bounds[0]} > {math.log2(true)}")
        else:
            out.loose.append(f"count {convention}: nothing")


def check_profiles(
    out: Outcome, release: recon.EncodedRelease, limits: recon.Limits | None, certificates: bool
) -> None:
    """Compare verdicts and numbers of rows of every profile, with and without its label."""
    columns = list(out.case.frame.columns)
    kinds = pd.DataFrame([(*x, y) for x, y in out.worlds.kinds], columns=columns).astype(int)
    features = kinds[columns[:-1]].drop_duplicates().reset_index(drop=True)
    for frame, label in ((kinds, True), (features, False)):
        answers = recon.certify(release, frame, limits=limits, certificates=certificates)
        for i, line in answers.iterrows():
            row = [float(v) for v in frame.iloc[i]]
            counts = out.worlds.rows(row[:-1], row[-1]) if label else out.worlds.rows(row)
            profile_line(out, f"certify {row}", line, counts)
            if certificates and line.verdict in ("certain", "impossible"):
                out.certified += line.certificate is not None
                out.missing += [f"{row} {line.verdict}"] if line.certificate is None else []


def profile_line(out: Outcome, what: str, line: Any, counts: np.ndarray) -> None:
    """Compare one line of `certify` with the counts over all worlds."""
    true, low, high = out.worlds.verdict(counts), int(counts.min()), int(counts.max())
    said = f"{what}: {line.verdict} {line.min_count}..{line.max_count}, true {true} {low}..{high}"
    least = 0 if pd.isna(line.min_count) else line.min_count
    most = high if pd.isna(line.max_count) else line.max_count
    if (line.verdict in ("certain", "impossible") and line.verdict != true) or least > low or most < high:
        out.wrong.append(said)
    elif line.verdict != true or (least, line.max_count) != (low, high):
        out.loose.append(said)


def check_attribute(out: Outcome, release: recon.EncodedRelease, limits: recon.Limits | None) -> None:
    """Compare what follows for the label of everybody whose features are known."""
    columns = list(out.case.frame.columns)[:-1]
    everybody = out.case.frame[columns].drop_duplicates().reset_index(drop=True)
    answers = recon.attribute(release, everybody, LABEL, limits=limits)
    for _, line in answers.iterrows():
        x = [float(v) for v in everybody.iloc[int(line.profile)]]
        both, one = out.worlds.rows(x, float(line.value)), out.worlds.rows(x)
        there = one > 0
        shares = both[there] / one[there]
        sure = bool((both == one).all() and both.max() > 0)
        said = f"attribute {x} {line.value}: {line.lower}..{line.upper} certain {line.certain}, "
        said += f"true {shares.min()}..{shares.max()} certain {sure}"
        if line.lower > shares.min() + SLACK or line.upper < shares.max() - SLACK or (line.certain and not sure):
            out.wrong.append(said)
        elif line.lower < shares.min() - SLACK or line.upper > shares.max() + SLACK or bool(line.certain) != sure:
            out.loose.append(said)


def check_bounds(out: Outcome, release: recon.EncodedRelease, limits: recon.Limits | None) -> None:
    """Compare bounds on numbers of rows with one value."""
    for k, values in enumerate(out.case.values):
        for v in values:
            found = recon.bound(release, {f"x{k}": v}, limits=limits)
            x: list[float | None] = [None] * len(out.case.values)
            x[k] = float(v)
            counts = out.worlds.rows(x)
            said = f"bound x{k}={v}: {found.min}..{found.max}, true {counts.min()}..{counts.max()}"
            if found.min is None or found.max is None:
                out.loose.append(said)
            elif found.min > counts.min() + SLACK or found.max < counts.max() - SLACK:
                out.wrong.append(said)
            elif found.min < counts.min() - SLACK or found.max > counts.max() + SLACK:
                out.loose.append(said)


def spoiled(case: Case, how: str) -> Case:
    """Return a case whose model breaks an assumption: weights, subsample (of "sk"), more (training gone on)."""
    rng = np.random.default_rng(len(case.rows))
    case = replace(case, name=f"{case.name} {how}")
    if how == "weights":
        return replace(case, weights=tuple(map(float, rng.integers(1, 4, len(case.rows)))))
    if how == "subsample":
        return replace(case, options={**case.options, "subsample": 0.6})
    labels = rng.permutation([y for _, y in case.rows])
    return replace(case, before=tuple((x, float(y)) for (x, _), y in zip(case.rows, labels, strict=True)))


def truth_kept(case: Case, limits: recon.Limits | None = None) -> tuple[bool, str]:
    """Return whether recon contradicts the true rows of a (spoiled) case, and what it says: a refusal, or the rows.

    A file that no dataset fits may be called contradictory or be refused; what is answered must hold of the true rows,
    unless some other dataset fits the file as it stands (nobody can tell then).
    """
    model = case.fitted()
    worlds = bo.worlds(bo.ensemble(model), bo.grid(case.values, case.labels), len(case.rows))
    out = Outcome(case, worlds)
    release = loaded(case, model, out)
    if release is None or out.wrong:
        return True, "refused: " + (out.read if release is None and not out.wrong else out.wrong[0])
    try:
        answers = recon.certify(release, distinct(case), limits=limits)
    except recon.ContradictionError as error:
        return True, f"contradiction: {error}"
    kept = True
    for i, line in answers.iterrows():
        row = distinct(case).iloc[i]
        times = int((case.frame == row).all(axis=1).sum())
        few, many = (None if pd.isna(v) else v for v in (line.min_count, line.max_count))
        kept &= line.verdict not in ("impossible", "outside") and (few or 0) <= times <= (
            many if many is not None else times
        )
    if not kept and len(worlds.z):  # another dataset gives this very file: what is said must hold of all of those
        check_profiles(out, release, limits, False)
        return not out.wrong, "another dataset fits"
    return kept, "kept"


def distinct(case: Case) -> pd.DataFrame:
    """Return the distinct training rows."""
    return case.frame.drop_duplicates().reset_index(drop=True)
