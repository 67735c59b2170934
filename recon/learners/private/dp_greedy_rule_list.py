"""DP-GreedyRL: the greedy rule list with differentially private choices, support tests and counts, and its ledger.

Source: Ly, Ferry, Huguet, Gambs, Aivodji, "Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
Lists", 2024. "pure" is not theirs: the exponential mechanism on the impurity times the rows of the node, which one
row moves by less than 2 and, when it is added, never down; so exp(-epsilon/2 score) is epsilon-private (McSherry and
Talwar, FOCS 2007, one-sided scores), with exact sampling. What the paper's proofs leave open stands in the ledger.

Smooth sensitivity of the Gini impurity after a split, and the threshold of the noisy support test.

Source: Ly, Ferry, Huguet, Gambs, Aivodji, "Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule
Lists", 2024, after Nissim, Raskhodnikova, Smith, "Smooth Sensitivity and Sampling in Private Data Analysis", STOC
2007. The paper's closed form is clamped here: its maximiser can lie outside 0 <= k <= n - least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, floor, log, sqrt
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.models.ledger import PrivacyLedger, PrivacyStep
from encoders.models.models import Noise
from recon.learners.rule_lists.estimator import (
    Antecedent,
    RuleListClassifier,
    distinct_rows,
    is_whole,
    support_rows,
    training_data,
)
from recon.learners.rule_lists.greedy_rule_list import checked_rules, conjunctions, mine, rule_masks
from solvers.foundation.errors import ReleaseError
from solvers.statements.noise.laws import Neighbours, NoiseLaw, scale_of
from solvers.statements.noise.sampling import Randomness


def _impurity_step(n: int) -> float:
    """Return g(n) = 2n/(n+1)^2: how much one added row moves the impurity of n >= 1 rows of two classes at most."""
    return 2 * n / (n + 1) ** 2


def _smooth_bound(n: int, least: int, beta: float, two_sided: bool = False) -> float:
    """Return S* = max over 0 <= k <= n - least of e^(-beta k) g(max(least, n - k)), in constant time.

    `n`: rows at the node; `least` >= 1: rows that the support test demands; `beta` > 0: smoothness. `two_sided`
    puts h(n) = g(max(1, n - 1)) in g's place: g covers added rows only, h covers removed ones too. For n < least
    (the noisy test erred) the value is that of `least`, as in the authors' code; it is no sound bound there.
    """
    if least < 1 or not beta > 0:
        raise ReleaseError(f"smooth sensitivity needs a support of at least 1 and beta > 0, not {least} and {beta}")
    if two_sided:
        return _smooth_bound(max(n - 1, 0), max(1, least - 1), beta)
    last = max(0, n - least)
    candidates = {0, last}
    if beta < 3 - 2 * sqrt(2):  # else no stationary point: the maximum lies at an end
        lowest = (1 - beta - sqrt((1 - beta) ** 2 - 4 * beta)) / (2 * beta)
        top = n - lowest
        candidates |= {min(max(k, 0), last) for k in (floor(top), ceil(top))}
    return max(exp(-beta * k) * _impurity_step(max(least, n - k)) for k in candidates)


def _margin_of_confidence(confidence: float, epsilon: float) -> int:
    """Return the paper's T = ceil(-(ln 2 + ln(1 - C)) / epsilon) + 1, with epsilon that of one support test."""
    return ceil(-(log(2) + log(1 - confidence)) / epsilon) + 1


def _margin_of_delta(delta: float, epsilon: float) -> int:
    """Return T with P(a node below the support passes one test) <= delta, for Laplace noise and its discrete twin.

    Such a node passes when the noise reaches T + 1: probability e^(-(T+1) epsilon) / (1 + e^(-epsilon)) for discrete
    Laplace noise, which is at most e^(-T epsilon) / 2.
    """
    return max(0, ceil(log(1 / (2 * delta)) / epsilon))


Mechanism = Literal[
    "smooth_laplace", "smooth_cauchy", "global_laplace", "global_gaussian", "exponential", "noisy_counts", "pure"
]
SMOOTH = ("smooth_laplace", "smooth_cauchy")
EXACT = 1 << 24  # float32 holds every whole number up to here
FLOATS = "drawn in floating point, which can leak (Mironov, CCS 2012)"


@dataclass(frozen=True)
class BudgetPlan:
    """What `fit` settles before it looks at a row's values: the budget of every step, and the thresholds.

    `select`, `test`, `count`: epsilon of one choice, of one support test (None: there are none) and of all counts.
    `delta_select`, `delta_test`: per node. A node is split while its noisy size is at least `least` + `margin`.
    """

    mechanism: Mechanism
    neighbours: Neighbours
    repaired: bool
    nodes: int
    select: Fraction
    test: Fraction | None
    count: Fraction
    delta_select: float
    delta_test: float
    least: int
    margin: int

    @property
    def one_sided(self) -> tuple[float, float]:
        """Return the (epsilon, delta) per added or removed row that keep the choice's budget (group privacy)."""
        e, d = float(self.select), self.delta_select
        return (e, d) if self.neighbours == "add_remove" else (e / 2, d / (1 + exp(e / 2)))


@dataclass(frozen=True, eq=False)
class RuleCandidates:
    """A node: rows per class inside every candidate rule (candidates, classes), and in all (classes,)."""

    inside: NDArray[np.int64]
    total: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """Return the number of rows at the node."""
        return int(self.total.sum())

    def scores(self) -> list[Fraction]:
        """Return per candidate, exactly, the sum over both sides of (sum of squared class counts) / rows.

        The rows of the node less this is the impurity after the split times the rows: the higher, the purer.
        """
        outside = self.total - self.inside
        sides = ((self.inside**2).sum(axis=1), self.inside.sum(axis=1), (outside**2).sum(axis=1), outside.sum(axis=1))
        return [
            Fraction(a, m or 1) + Fraction(b, k or 1) for a, m, b, k in zip(*(s.tolist() for s in sides), strict=True)
        ]


def _gini(inside: NDArray[Any], outside: NDArray[Any]) -> NDArray[np.float64]:
    """Return G per candidate, the impurity after the split weighted by rows; what has no rows has no impurity."""
    m, k = inside.sum(axis=1), outside.sum(axis=1)
    kept = (inside.astype(float) ** 2).sum(axis=1) / np.maximum(m, 1)
    kept += (outside.astype(float) ** 2).sum(axis=1) / np.maximum(k, 1)
    return np.asarray(np.where(m + k > 0, 1 - kept / np.maximum(m + k, 1), 0.0), dtype=float)


def _impurity_noise(plan: BudgetPlan, rows: int, candidates: int) -> float:
    """Return the scale of the noise on every candidate's impurity at a node of so many rows (Gauss: its deviation).

    Smooth mechanisms follow the smooth sensitivity there, global ones the range of the impurity for two classes, 1/2.
    """
    if plan.mechanism in SMOOTH:
        epsilon, delta = plan.one_sided
        laplace = plan.mechanism == "smooth_laplace"
        beta = epsilon / (2 * log(2 / delta)) if laplace else epsilon / 6  # Cauchy: gamma = 2 in epsilon/(2(gamma + 1))
        return (2 if laplace else 6) * _smooth_bound(rows, plan.least, beta, two_sided=plan.repaired) / epsilon
    if plan.mechanism == "global_laplace":
        return (1 if plan.repaired else 0.5) / float(plan.select)
    reach = Fraction(1, 2) * (Fraction(candidates**0.5) if plan.repaired else 1)  # of all impurities, as one vector
    return float(scale_of("gaussian", plan.select, Fraction(plan.delta_select), reach))


def _choose_smooth(split: RuleCandidates, plan: BudgetPlan, randomness: Randomness) -> int:
    """Return the candidate with the lowest noisy impurity; the noise follows the smooth sensitivity at this node."""
    scale = _impurity_noise(plan, split.rows, len(split.inside))
    laplace = plan.mechanism == "smooth_laplace"
    noise = [randomness.laplace(scale) if laplace else scale * randomness.cauchy() for _ in split.inside]
    return int(np.argmin(_gini(split.inside, split.total - split.inside) + np.array(noise)))


def _choose_global(split: RuleCandidates, plan: BudgetPlan, randomness: Randomness) -> int:
    """Return the candidate with the lowest noisy impurity; the noise follows its range for two classes, 1/2."""
    many = len(split.inside)
    scale = _impurity_noise(plan, split.rows, many)
    laplace = plan.mechanism == "global_laplace"
    noise = [randomness.laplace(scale) if laplace else randomness.gaussian(scale) for _ in range(many)]
    return int(np.argmin(_gini(split.inside, split.total - split.inside) + np.array(noise)))


def _choose_by_counts(split: RuleCandidates, plan: BudgetPlan, randomness: Randomness) -> int:
    """Return the candidate with the lowest impurity of noisy counts: per candidate four cells that hold every row."""
    cells = np.concatenate([split.inside, split.total - split.inside], axis=1)
    halved = plan.repaired and plan.neighbours == "add_remove"  # one row is in one cell per candidate
    scale = Fraction((1 if halved else 2) * len(cells)) / plan.select
    noise = np.array([randomness.discrete_laplace(scale) for _ in range(cells.size)]).reshape(cells.shape)
    noisy, classes = np.maximum(cells + noise, 0), cells.shape[1] // 2
    return int(np.argmin(_gini(noisy[:, :classes], noisy[:, classes:])))


def _choose_exponential(split: RuleCandidates, plan: BudgetPlan, randomness: Randomness) -> int:
    """Return a candidate with probability proportional to exp(-epsilon G): G has the range 1/2 for two classes."""
    return randomness.exact_choice(split.scores(), plan.select / max(1, split.rows))


def _choose_pure(split: RuleCandidates, plan: BudgetPlan, randomness: Randomness) -> int:
    """Return a candidate with probability proportional to exp(-epsilon/2 rows G); epsilon/4 for replaced rows."""
    return randomness.exact_choice(split.scores(), plan.select / (2 if plan.neighbours == "add_remove" else 4))


CHOOSERS: dict[Mechanism, Callable[[RuleCandidates, BudgetPlan, Randomness], int]] = {
    "smooth_laplace": _choose_smooth,
    "smooth_cauchy": _choose_smooth,
    "global_laplace": _choose_global,
    "global_gaussian": _choose_global,
    "exponential": _choose_exponential,
    "noisy_counts": _choose_by_counts,
    "pure": _choose_pure,
}


class DPGreedyRuleListClassifier(RuleListClassifier):
    """Differentially private greedy rule list over binary columns, with scikit-learn's estimator interface.

    `mechanism`: how a rule is chosen. `epsilon` (required): the whole budget. `delta`: of the mechanisms that need one,
    by default 1/n^2 with n public. `max_length`: rules at most, the default rule included. `min_support`: a public
    number of rows (int) or a share (float) of n, which is public then; 0: no support test for "pure". `confidence`: of
    the paper's support test. `neighbours`: "add_remove" one row or "replace" one (n is public). `rules`: public
    candidates, each a sequence of (column, 0 or 1); None: all conjunctions of at most `width` literals, mined by
    support on the training rows when `min_support` is positive, which is not private. `classes`: the label's values,
    None to read them off the labels. `repaired`: correct what is cheap to correct, see the ledger. `random_state`: a
    seed, or None for secure randomness (publish with None only).

    After `fit`: `rules_` with the published noisy counts, `ledger_`, `noise_` (law of the counts), `candidates_`
    (number of rules to choose from). Cost: rules x distinct rows per node, vectorised; "noisy_counts" also draws
    four exact noises per candidate.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.DPGreedyRuleListClassifier(epsilon=1, classes=[0, 1]).fit(rows[["smoker", "old"]], rows["ill"])
    >>> model.ledger_.epsilon, model.ledger_.standing
    (1.0, 'guaranteed')
    """

    def __init__(
        self,
        mechanism: Mechanism = "pure",
        epsilon: float | Fraction | None = None,
        delta: float | None = None,
        max_length: int = 5,
        width: int = 2,
        min_support: float | int = 0,
        confidence: float = 0.99,
        neighbours: Neighbours = "add_remove",
        negations: bool = True,
        rules: Sequence[Any] | None = None,
        classes: Sequence[Any] | None = None,
        repaired: bool = False,
        random_state: int | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.epsilon = epsilon
        self.delta = delta
        self.max_length = max_length
        self.width = width
        self.min_support = min_support
        self.confidence = confidence
        self.neighbours = neighbours
        self.negations = negations
        self.rules = rules
        self.classes = classes
        self.repaired = repaired
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> DPGreedyRuleListClassifier:  # noqa: N803 - scikit-learn's name
        """Return the fitted list.

        Raises `ReleaseError` for bad or contradictory parameters, columns that are not binary, missing labels.
        """
        names, bits, target = training_data(X, y)
        if not (len(bits) or self.classes is not None):
            raise ReleaseError(f"0 rows of {len(names)} columns: there must be some of both")
        plan = self._plan(len(bits))
        self.classes_, codes = self._classes(target)
        self._note_columns(names)
        distinct, back = distinct_rows(bits)
        weight = np.zeros((len(distinct), len(self.classes_)))
        np.add.at(weight, (back.reshape(-1), codes), 1)
        public = self.rules is not None or not self.min_support
        rules = conjunctions(names, self.width, self.negations) if self.rules is None else self.rules
        candidates = checked_rules(rules, names)
        met = rule_masks(candidates, names, distinct).astype(np.float32 if len(bits) < EXACT else np.float64)
        if not public:
            least = max(1, plan.least)
            candidates, met = mine(candidates, met, weight.sum(axis=1), least, len(bits) - least)
        self.candidates_ = len(candidates)
        self.rules_ = _grow(candidates, met, weight, plan, Randomness(self.random_state))
        self.ledger_ = _ledger_of(plan, len(candidates), public, self._settled())
        reach = Fraction(1 if plan.neighbours == "add_remove" else 2)
        self.noise_ = Noise(
            NoiseLaw("discrete_laplace", reach / plan.count),
            epsilon=plan.count, delta=Fraction(0), sensitivity=reach, neighbours=plan.neighbours,
        )  # fmt: skip
        return self

    def _settled(self) -> list[PrivacyStep]:
        """Return the entries on what was read off the rows without spending: the classes, and what follows from n."""
        found = []
        if self.classes is None:
            why = "holds where the label's values are public: give 'classes' to say so"
            found.append(PrivacyStep("classes", "read off the labels", 0.0, 0.0, "claimed", why))
        if from_n := self.computed_from_n():
            why = "a row more or less changes n, and so what is computed from it: holds where n is public and fixed"
            found.append(PrivacyStep(" and ".join(from_n), "computed from n", 0.0, 0.0, "claimed", why))
        return found

    def computed_from_n(self) -> list[str]:
        """Return the parameters whose value follows from the number of rows, which the budget does not cover."""
        share = isinstance(self.min_support, (float, np.floating)) and self.min_support > 0
        used = {"min_support": share, "delta": self.delta is None and self._needs_delta()}
        return [name for name, is_used in used.items() if is_used and self.neighbours == "add_remove"]

    def _needs_delta(self) -> bool:
        """Return whether the mechanism spends a delta."""
        return self.mechanism in ("smooth_laplace", "global_gaussian") or (
            self.mechanism == "smooth_cauchy" and self.repaired
        )

    def _classes(self, target: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return the classes and every row's index among them."""
        try:
            classes = np.unique(np.asarray(target if self.classes is None else self.classes))
        except TypeError:
            raise ReleaseError("the labels mix values that have no order, such as numbers and text") from None
        if len(classes) > 2 and self.mechanism not in ("pure", "noisy_counts"):
            raise ReleaseError(
                f"the sensitivity of '{self.mechanism}' is for two classes, not {len(classes)}: use mechanism 'pure'"
            )
        codes = np.searchsorted(classes, target).clip(max=len(classes) - 1)
        if len(wrong := target[classes[codes] != target]):
            raise ReleaseError(f"the label {wrong[:1].tolist()[0]!r} of the rows is not among 'classes'")
        return classes, codes

    def noise_scale(self, n: int, rows: int, candidates: int) -> float:
        """Return the scale of the noise on an impurity at a node of `rows` of n training rows; see `impurity_noise`."""
        return _impurity_noise(self._plan(n), rows, candidates)

    def _plan(self, n: int) -> BudgetPlan:
        """Return the budget of every step; `ReleaseError` for parameters that make no sense (together)."""
        epsilon, least = self._checked(n)
        nodes = self.max_length - 1
        smooth = self.mechanism in SMOOTH
        tested = smooth or (self.mechanism == "pure" and least > 0)
        if self.repaired or self.mechanism == "pure":
            parts = (2 if tested else 1) * nodes + 1
        else:  # how the paper and the authors' code divide; what they set aside and do not spend stays unspent
            parts = {"exponential": 2 * self.max_length}.get(
                self.mechanism, 3 * self.max_length - 1 if smooth else 2 * self.max_length - 1
            )
        share = epsilon / parts
        delta_select = delta_test = 0.0
        if self._needs_delta() and nodes:
            delta = self._delta(n) / nodes
            if smooth and self.repaired:
                delta_test = delta if self.mechanism == "smooth_cauchy" else delta / 2
            delta_select = delta - delta_test
        margin = 0
        if smooth:
            margin = (
                _margin_of_delta(delta_test, float(share)) if delta_test
                else _margin_of_confidence(self.confidence, float(share))
            )  # fmt: skip
        return BudgetPlan(
            self.mechanism, self.neighbours, self.repaired, nodes, share, share if tested else None, share,
            delta_select, delta_test, max(1, least) if smooth else least, margin,
        )  # fmt: skip

    def _delta(self, n: int) -> float:
        """Return delta, by default 1/n^2."""
        if self.delta is not None:
            return float(self.delta)
        if n < 2:
            raise ReleaseError(f"delta is 1/n^2 by default, which {n} rows do not allow: give 'delta'")
        return 1 / n**2

    def _checked(self, n: int) -> tuple[Fraction, int]:
        """Return epsilon and the support in rows; `ReleaseError` for a parameter that makes no sense."""
        for name, value, allowed in (
            ("mechanism", self.mechanism, get_args(Mechanism)), ("neighbours", self.neighbours, get_args(Neighbours))
        ):  # fmt: skip
            if value not in allowed:
                raise ReleaseError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")
        for name, size in (("width", self.width), ("max_length", self.max_length)):
            if not is_whole(size) or size < 1:
                raise ReleaseError(f"{name} must be a whole number of at least 1, not {size!r}")
        if self.random_state is not None and not is_whole(self.random_state):
            raise ReleaseError(f"random_state must be a whole number or None, not {self.random_state!r}")
        if self.epsilon is None:
            raise ReleaseError("give epsilon, the privacy budget of the whole list: there is no default")
        epsilon = _positive(self.epsilon, "epsilon")
        if self.delta is not None and not self._needs_delta():
            raise ReleaseError(f"mechanism '{self.mechanism}' spends no delta: leave it out")
        if self.delta is not None and _positive(self.delta, "delta") >= 1:
            raise ReleaseError(f"delta must be below 1, not {self.delta!r}")
        if not 0.5 <= _positive(self.confidence, "confidence") < 1:
            raise ReleaseError(f"confidence must be from 0.5 up to, but not, 1, not {self.confidence!r}")
        return epsilon, floor(support_rows(self.min_support, n))


def _positive(value: Any, name: str) -> Fraction:
    """Return a parameter as written, exactly (0.1 is 1/10); `ReleaseError` unless it is a positive number."""
    try:
        plain = int(value) if is_whole(value) else value  # numpy's integers would overflow
        number = Fraction(repr(float(plain)) if isinstance(plain, (float, np.floating)) else plain)
    except (TypeError, ValueError, OverflowError):
        number = Fraction(0)
    if isinstance(value, (bool, str)) or number <= 0:
        raise ReleaseError(f"{name} must be a positive number, not {value!r}")
    return number


def _grow(
    rules: Sequence[Antecedent],
    met: NDArray[Any],
    weight: NDArray[np.float64],
    plan: BudgetPlan,
    randomness: Randomness,
) -> list[tuple[Antecedent, list[int]]]:
    """Return the private list with noisy counts, the default rule last.

    `met` (rules, distinct rows): whether the row meets the rule; `weight` (distinct rows, classes): how often each
    occurs. A rule that was chosen is left out later on, which the published list tells anyway.
    """
    left = weight.copy()
    open_rules = np.arange(len(rules))
    found: list[tuple[Antecedent, NDArray[np.float64]]] = []
    for _ in range(plan.nodes):
        if not len(open_rules):
            break
        rows = int(left.sum())
        if plan.test is not None and rows + randomness.discrete_laplace(1 / plan.test) < plan.least + plan.margin:
            break
        inside = np.rint(met[open_rules] @ left.astype(met.dtype)).astype(np.int64)
        split = RuleCandidates(inside, np.rint(left.sum(axis=0)).astype(np.int64))
        at = CHOOSERS[plan.mechanism](split, plan, randomness)
        chosen = int(open_rules[at])
        hit = met[chosen] > 0
        found.append((rules[chosen], left[hit].sum(axis=0)))
        left[hit] = 0
        open_rules = np.delete(open_rules, at)
    found.append(((), left.sum(axis=0)))
    scale = (1 if plan.neighbours == "add_remove" else 2) / plan.count
    return [(r, [int(c) + randomness.discrete_laplace(scale) for c in counts]) for r, counts in found]


def _ledger_of(plan: BudgetPlan, candidates: int, public: bool, settled: Sequence[PrivacyStep]) -> PrivacyLedger:
    """Return the ledger of a plan; steps that an early stop leaves out are charged too."""
    entries = [*settled]
    if public:
        entries.append(
            PrivacyStep("candidates", f"{candidates} rules", 0.0, 0.0, "guaranteed", "chosen without the rows")
        )
    else:
        why = "support on the training rows decides what can be published: give public 'rules'"
        entries.append(PrivacyStep("candidates", "rules mined on the rows", 0.0, 0.0, "none", why))
    for node in range(1, plan.nodes + 1):
        if plan.test is not None:
            why = "one count, which a row moves by 1 at most; exact sampler (Canonne, Kamath, Steinke, NeurIPS 2020)"
            entries.append(
                PrivacyStep(f"support test {node}", "discrete Laplace", float(plan.test), 0.0, "guaranteed", why)
            )
        entries.append(_choice_entry(plan, node))
    why = "the rules part the rows: one histogram, one epsilon (the paper charges every rule); fresh, exact draws"
    entries.append(PrivacyStep("counts, predictions", "discrete Laplace", float(plan.count), 0.0, "guaranteed", why))
    assumed = ["the columns, what they mean and all parameters are public", "nothing but this list was published"]
    if plan.neighbours == "replace":
        assumed.append("the number of rows is public")
    return PrivacyLedger(plan.neighbours, tuple(assumed), tuple(entries))


def _choice_entry(plan: BudgetPlan, node: int) -> PrivacyStep:
    """Return the ledger's entry of one choice of a rule."""
    step, epsilon, delta = f"choice {node}", float(plan.select), plan.delta_select + plan.delta_test
    if plan.mechanism in SMOOTH:
        why = "noisy max is proved for fixed noise scales; here all change with the data, by up to e^beta; " + FLOATS
        if not plan.repaired:
            why = "S* covers added rows only; S* is unsound where the support test errs, which delta leaves out; " + why
        return PrivacyStep(step, plan.mechanism.replace("_", " "), epsilon, delta, "claimed", why)
    if plan.mechanism == "global_laplace":
        why = FLOATS if plan.repaired else "impurities can move apart by 1: proved for twice this epsilon; " + FLOATS
        return PrivacyStep(step, "Laplace, noisy minimum", epsilon, 0.0, "claimed", why)
    if plan.mechanism == "global_gaussian":
        why = FLOATS if plan.repaired else "no theorem covers the Gaussian noisy minimum at one epsilon; " + FLOATS
        return PrivacyStep(step, "analytic Gaussian, noisy minimum", epsilon, delta, "claimed", why)
    name, why = {
        "exponential": ("exponential", "the impurity of two classes has the range 1/2; exact sampler"),
        "noisy_counts": ("discrete Laplace", "all candidates' counts as one vector, then arithmetic; exact sampler"),
        "pure": ("exponential", "rows x impurity: a row moves it by less than 2, always the same way; exact sampler"),
    }[plan.mechanism]
    return PrivacyStep(step, name, epsilon, 0.0, "guaranteed", why)
