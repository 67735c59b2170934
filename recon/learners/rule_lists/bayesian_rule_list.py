"""Bayesian rule lists, plain (BRL) and differentially private (DP-BRL).

Source: Letham, Rudin, McCormick, Madigan, Annals of Applied Statistics 9(3), 2015; Belardo, "Knowledge Discovery From
Sensitive Data: Differentially Private Bayesian Rule Lists", 2018. Where the thesis's privacy proof does not hold it is
repaired (see `brl_posterior`, `private_mining`) or the ledger says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from encoders.models.ledger import PrivacyLedger, PrivacyStep
from encoders.models.models import Noise
from recon.learners.private.private_mining import Mining, items_held, mine_exactly, mine_privately
from recon.learners.rule_lists.brl_posterior import (
    Chosen,
    RuleListLaw,
    RuleListPrior,
    Scores,
    TargetLaw,
    bit_mask,
    enumerate_law,
    number_of_lists,
    sensitivity,
    tempered,
)
from recon.learners.rule_lists.brl_sampling import (
    RuleListChain,
    diagnose,
    draw_prior,
    perfect_sample,
    point_list,
    run_chain,
)
from recon.learners.rule_lists.estimator import (
    Antecedent,
    Counts,
    RuleListClassifier,
    is_whole,
    support_rows,
    training_data,
)
from recon.learners.rule_lists.greedy_rule_list import checked_rules, rule_masks
from solvers.foundation.errors import ReleaseError
from solvers.statements.noise import laws as noise
from solvers.statements.noise.laws import Neighbours
from solvers.statements.noise.sampling import Randomness

Choice = Literal["point", "map", "sample"]


@dataclass(frozen=True, eq=False)
class BinaryRows:
    """The training rows: column names, (rows, columns) booleans, whether each row has the second class."""

    names: list[str]
    bits: NDArray[np.bool_]
    second: NDArray[np.bool_]


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianLists(RuleListClassifier):
    """What the plain and the private learner share: parameters, the space of lists, sampling it.

    After `fit`, beside `rules_`: `estimates_` (rules, 2), the probability of each class; `antecedents_`, what the list
    was chosen from; `diagnostics_`, how it was sampled (of the training rows: not for publication).
    """

    width: int = 2
    min_support: float | int = 0.1
    max_antecedents: int | None = 300
    max_length: int | None = None
    expected_length: float = 3.0
    expected_width: float = 1.0
    alpha: tuple[float, float] = (1.0, 1.0)
    normalised: bool = True
    antecedents: Sequence[Sequence[tuple[str, int]]] | None = None
    negations: bool = False
    steps: int = 5_000
    chains: int = 4
    enumerate_up_to: int = 120_000
    random_state: int | None = None

    multi_class = False

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803 - scikit-learn's name
        """Return (rows, 2) the matching rule's point estimates (N_l + α_l) / (N + α_0 + α_1), negative N taken as 0."""
        index = self.apply(X)
        found: NDArray[np.float64] = self.estimates_[index]
        return found

    def _check(self) -> None:
        """Raise `ReleaseError` for a parameter that makes no sense."""
        least = {"width": 1, "steps": 1, "chains": 1, "enumerate_up_to": 0, "max_antecedents": 1, "max_length": 1}
        for name, low in least.items():
            value = getattr(self, name)
            if not (is_whole(value) and value >= low) and (value is not None or not name.startswith("max_")):
                raise ReleaseError(f"{name} must be a whole number of at least {low}, not {value!r}")
        for name in ("expected_length", "expected_width"):
            _positive(name, getattr(self, name))
        if isinstance(self.alpha, str) or np.shape(self.alpha) != (2,):
            raise ReleaseError(f"alpha must be two positive numbers, one per class, not {self.alpha!r}")
        for value in self.alpha:
            _positive("alpha", value)
        if self.random_state is not None and not is_whole(self.random_state):
            raise ReleaseError(f"random_state must be a whole number or None, not {self.random_state!r}")

    def _read(self, x: Any, y: ArrayLike, classes: Sequence[Any] | None = None) -> BinaryRows:
        """Return the rows, noting columns and classes; `ReleaseError` unless the labels have two classes."""
        names, bits, target = training_data(x, y)
        if not len(bits):
            raise ReleaseError(f"0 rows of {len(names)} columns: there must be some of both")
        try:
            seen = np.unique(target)
        except TypeError:
            raise ReleaseError("the labels mix values that have no order, such as numbers and text") from None
        self.classes_ = seen if classes is None else np.asarray(classes)
        if self.classes_.shape != (2,) or self.classes_[0] == self.classes_[1]:
            raise ReleaseError(
                "Only binary classification is supported: a Bayesian rule list distinguishes two classes, not "
                f"{len(self.classes_)} class(es): give labels with two values, or one label against the rest"
            )
        if unknown := [c for c in seen.tolist() if c not in self.classes_.tolist()]:
            raise ReleaseError(f"the label {unknown[0]!r} is none of the classes {self.classes_.tolist()}")
        self._note_columns(names)
        return BinaryRows(names, bits, np.asarray(target == self.classes_[1], dtype=bool))

    def _mining(self, n: int, most_items: int | None = None) -> Mining:
        """Return what is mined, shares being of n rows; `ReleaseError` for a support that makes no sense."""
        least = max(1, math.ceil(support_rows(self.min_support, n)))
        return Mining(self.width, float(least), self.negations, most_items, self.max_antecedents)

    def _scores(self, rows: BinaryRows, antecedents: list[Antecedent]) -> Scores:
        """Return the prior and likelihood of every list of these antecedents."""
        self.antecedents_ = antecedents
        longest = len(antecedents) if self.max_length is None else min(len(antecedents), self.max_length - 1)
        sizes = tuple(len(one) for one in antecedents)
        prior = RuleListPrior(sizes, float(self.expected_length), float(self.expected_width), longest)
        masks = [bit_mask(row) for row in rule_masks(antecedents, rows.names, rows.bits)]
        alpha = (float(self.alpha[0]), float(self.alpha[1]))
        return Scores(masks, bit_mask(rows.second), len(rows.bits), prior, alpha, self.normalised)

    def _lists(self, prior: RuleListPrior) -> int | None:
        """Return the number of lists where they are few enough to enumerate, else None."""
        number = number_of_lists(len(prior.sizes), prior.longest)
        return number if number <= self.enumerate_up_to else None

    def _walk(self, scores: Scores, law: RuleListLaw, randomness: Randomness) -> list[RuleListChain]:
        """Return the chains: the first starts as in the thesis, at the first antecedent, the others at prior draws."""
        first: Chosen = (0,) if scores.prior.longest else ()
        starts = [first, *(draw_prior(scores.prior, randomness) for _ in range(self.chains - 1))]
        found = [run_chain(scores, law, start, self.steps, randomness) for start in starts]
        self.diagnostics_ = diagnose(found)
        return found

    def _publish(self, chosen: Chosen, counts: Sequence[Counts]) -> Self:
        """Set the fitted list, its counts and point estimates."""
        self.rules_ = list(zip([*(self.antecedents_[i] for i in chosen), ()], counts, strict=True))
        held = np.array([[float(c) for c in pair] for pair in counts]).clip(min=0) + np.array(self.alpha, dtype=float)
        self.estimates_ = held / held.sum(axis=1, keepdims=True)
        return self


@dataclass(eq=False, repr=False, kw_only=True)
class BayesianRuleListClassifier(BayesianLists):
    """Bayesian rule list over binary columns (Letham et al. 2015), with scikit-learn's estimator interface.

    `antecedents`: what the list is chosen from, each a sequence of (column, 0 or 1); None: conjunctions of at most
    `width` literals ("column = 0" too with `negations`) that `min_support` rows meet, a share of all rows (float) or
    a number (int), the `max_antecedents` best supported. `expected_length` λ and `expected_width` η of the prior;
    `max_length`: rules at most, the default rule included. `alpha`: Beta prior; `normalised`: see `Scores`.
    `choice`: Letham et al.'s `point` list (most probable among those of about mean length and width), the most
    probable of all (`map`), or one `sample` of the posterior. Spaces of at most `enumerate_up_to` lists are enumerated,
    exactly; larger ones are sampled by `chains` Metropolis-Hastings chains of `steps` steps.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> recon.BayesianRuleListClassifier(random_state=0).fit(rows[["smoker", "old"]], rows["ill"]).rules_
    [((('smoker', 1), ('old', 1)), (0, 1)), ((), (3, 0))]
    """

    choice: Choice = "point"

    def fit(self, X: Any, y: ArrayLike) -> BayesianRuleListClassifier:  # noqa: N803 - scikit-learn's name
        """Return the fitted list, with the exact class counts of its rules.

        Raises `ReleaseError` for bad parameters, a column that is not binary, labels without exactly two classes.
        """
        self._check()
        _one_of("choice", self.choice, get_args(Choice))
        rows = self._read(X, y)
        mining = self._mining(len(rows.bits))
        if self.antecedents is None:
            antecedents = mine_exactly(rows.names, rows.bits, mining).antecedents
        else:
            antecedents = checked_rules(self.antecedents, rows.names)
        scores = self._scores(rows, antecedents)
        chosen = self._choose(scores, Randomness(self.random_state))
        return self._publish(chosen, scores.captures(chosen))

    def _choose(self, scores: Scores, randomness: Randomness) -> Chosen:
        """Return the published list."""
        law = RuleListLaw()
        if number := self._lists(scores.prior):
            exact = enumerate_law(scores, law)
            self.diagnostics_ = {"method": "enumeration", "lists": number}
            if self.choice == "sample":
                return perfect_sample(exact, randomness)
            lists, logs, share = exact.lists, exact.log_weights, exact.probabilities
        else:
            chains = self._walk(scores, law, randomness)
            if self.choice == "sample":
                return chains[0].lists[-1]
            lists = [one for chain in chains for one in chain.lists[self.steps // 2 :]]
            logs = np.concatenate([chain.log_weights[self.steps // 2 :] for chain in chains])
            share = np.full(len(lists), 1 / len(lists))
        if self.choice == "map":
            return lists[int(np.argmax(logs))]
        return point_list(lists, logs, share, scores.prior.sizes)


@dataclass(eq=False, repr=False, kw_only=True)
class DPBayesianRuleListClassifier(BayesianLists):
    """Differentially private Bayesian rule list (Belardo 2018, repaired), with scikit-learn's estimator interface.

    Publishes one list drawn from a tempered posterior and noisy class counts of its rules. The parameters of
    `BayesianRuleListClassifier`, and: `epsilon`, the whole budget; `split`, the parts that mining, drawing the list
    and counting get (a step that spends nothing leaves its part to the others). `neighbours`: tables that differ in one
    replaced row, their number of rows being public (`replace`), or in one row more or less, with a public bound `n_max`
    on their number (`add_remove`; a share as `min_support` is then of `n_max`). `target`: see
    `brl_posterior.tempered`; `monotone` needs `add_remove`.
    `mining`, where no public `antecedents` are given: `private`, or on the `data` as the thesis did, without any
    privacy. `most_items`: columns that can be 1 in one row (one-hot groups make it small; with `negations`: literals),
    which lowers mining noise. `classes`: the two label values, if they are not to be read from the data.
    `random_state`: None for publishing (secure randomness), a seed for experiments only: it reveals the noise.

    After `fit`: `ledger_` (its `standing` is "guaranteed" only where the list was drawn perfectly, from an enumerated
    space), `noise_`, the law of the counts in `rules_`; `supports_` of privately mined antecedents. `diagnostics_`
    and the time that `fit` takes depend on the rows and are not covered: do not publish them.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> public = [[("smoker", 1)], [("old", 1)]]
    >>> model = recon.DPBayesianRuleListClassifier(epsilon=1, antecedents=public, classes=[0, 1])
    >>> ledger = model.fit(rows[["smoker", "old"]], rows["ill"]).ledger_
    >>> ledger.epsilon, ledger.standing
    (1.0, 'guaranteed')
    """

    epsilon: float | Fraction = 1.0
    split: tuple[float, float, float] = (1, 1, 1)
    neighbours: Neighbours = "replace"
    n_max: int | None = None
    target: TargetLaw = "base_measure"
    mining: Literal["private", "data"] = "private"
    most_items: int | None = None
    classes: Sequence[Any] | None = None

    def fit(self, X: Any, y: ArrayLike) -> DPBayesianRuleListClassifier:  # noqa: N803 - scikit-learn's name
        """Return the fitted list with noisy counts.

        Raises `ReleaseError` for bad parameters, a column that is not binary, labels without exactly two classes,
        more rows than `n_max`.
        """
        self._check()
        budget = self._budget()
        rows = self._read(X, y, self.classes)
        public = self._public_rows(len(rows.bits))
        randomness = Randomness(self.random_state)
        mined = self._mine(rows, public, budget[0], randomness)
        scores = self._scores(rows, self.antecedents_)
        chosen, drawn = self._draw(scores, public, budget[1], randomness)
        scale = (2 if self.neighbours == "replace" else 1) / budget[2]
        counts = [tuple(c + randomness.discrete_laplace(scale) for c in pair) for pair in scores.captures(chosen)]
        counted = PrivacyStep(
            "counts", f"discrete Laplace, scale {float(scale):.6g}", float(budget[2]), 0.0, "guaranteed",
            "the counts partition the rows: one row changes "
            + ("two of them by 1" if self.neighbours == "replace" else "one of them by 1")
            + " (Ghosh, Roughgarden, Sundararajan 2012)",
        )  # fmt: skip
        self.noise_ = Noise(
            noise.NoiseLaw("discrete_laplace", scale), budget[2], Fraction(0), scale * budget[2], self.neighbours
        )
        self.ledger_ = PrivacyLedger(self.neighbours, self._assumes(public), (mined, drawn, counted))
        return self._publish(chosen, counts)

    def _check(self) -> None:
        """Raise `ReleaseError` for a parameter that makes no sense."""
        super()._check()
        _positive("epsilon", self.epsilon)
        _one_of("neighbours", self.neighbours, get_args(Neighbours))
        _one_of("target", self.target, get_args(TargetLaw))
        _one_of("mining", self.mining, ("private", "data"))
        for name in ("n_max", "most_items"):
            value = getattr(self, name)
            if value is not None and not (is_whole(value) and value >= 1):
                raise ReleaseError(f"{name} must be a whole number of at least 1 or None, not {value!r}")
        if self.target == "monotone" and self.neighbours != "add_remove":
            raise ReleaseError("target 'monotone' is private for neighbours 'add_remove' only: use 'base_measure'")
        if (self.n_max is None) == (self.neighbours == "add_remove"):
            raise ReleaseError("n_max is a public bound on the rows: give it with neighbours 'add_remove', only there")
        if isinstance(self.split, str) or np.shape(self.split) != (3,):
            raise ReleaseError(f"split must be three numbers (mining, list, counts), not {self.split!r}")

    def _budget(self) -> tuple[Fraction, Fraction, Fraction]:
        """Return the epsilons of mining, drawing the list and counting; they sum to `epsilon` exactly."""
        mines = self.antecedents is None and self.mining == "private"
        parts = [_exactly(part) for part in self.split]
        parts[0] = parts[0] if mines else Fraction(0)
        if min(parts[1:]) <= 0 or parts[0] < 0 or (mines and not parts[0]):
            raise ReleaseError(f"split must give every step that looks at the rows a positive part, not {self.split!r}")
        one, two, three = (_exactly(self.epsilon) * part / sum(parts) for part in parts)
        return one, two, three

    def _public_rows(self, n: int) -> int:
        """Return the public number of rows, or the bound on it; `ReleaseError` where that does not hold."""
        if self.n_max is None:
            return n
        if n > self.n_max:
            raise ReleaseError(f"{n} rows are more than n_max = {self.n_max}: give a public bound that holds")
        return int(self.n_max)

    def _mine(self, rows: BinaryRows, public: int, epsilon: Fraction, randomness: Randomness) -> PrivacyStep:
        """Set the antecedents and return what they cost."""
        if self.antecedents is not None:
            self.antecedents_ = checked_rules(self.antecedents, rows.names)
            return PrivacyStep("antecedents", "given", 0.0, 0.0, "guaranteed", "public: they do not come from the rows")
        mining = self._mining(public, self.most_items)
        if self.mining == "data":
            self.antecedents_ = mine_exactly(rows.names, rows.bits, mining).antecedents
            why = "mined on the rows themselves, as the thesis did: which antecedents there are can reveal a row"
            return PrivacyStep("antecedents", "exact supports", 0.0, 0.0, "none", why)
        mined = mine_privately(rows.names, rows.bits, mining, epsilon, self.neighbours, randomness)
        self.antecedents_, self.supports_ = mined.antecedents, mined.supports
        why = (
            f"level by level: a row meets at most C({items_held(len(rows.names), mining)}, i) antecedents "
            "of i literals (proof: recon/learners/private/private_mining.py)"
        )
        mechanism = f"discrete Laplace supports, {self.width} levels"
        return PrivacyStep("antecedents", mechanism, float(epsilon), 0.0, "guaranteed", why)

    def _draw(
        self, scores: Scores, public: int, epsilon: Fraction, randomness: Randomness
    ) -> tuple[Chosen, PrivacyStep]:
        """Return one list of the tempered law and what it costs; of chains, the first one's last list."""
        delta_u = sensitivity(self.neighbours, public, scores.alpha)
        law = tempered(self.target, float(epsilon), delta_u)
        mechanism = f"exponential mechanism ({self.target}), sensitivity {delta_u:.6g} nats"
        if number := self._lists(scores.prior):
            self.diagnostics_ = {"method": "enumeration", "lists": number}
            why = f"perfect sample of {number} enumerated lists (McSherry, Talwar 2007; brl_posterior.py)"
            chosen = perfect_sample(enumerate_law(scores, law), randomness)
            return chosen, PrivacyStep("rule list", mechanism, float(epsilon), 0.0, "guaranteed", why)
        chosen = self._walk(scores, law, randomness)[0].lists[-1]
        why = (
            f"approximate, δ unknown: Metropolis-Hastings, {self.steps} steps; at total variation distance τ from the "
            "law, which no test bounds, it is (ε, (1 + e^ε) τ)-private"
        )
        return chosen, PrivacyStep("rule list", mechanism, float(epsilon), 0.0, "claimed", why)

    def _assumes(self, public: int) -> tuple[str, ...]:
        """Return what the guarantee takes as public."""
        rows = f"the number of rows, {public}," if self.neighbours == "replace" else f"the bound of {public} rows"
        labels = ", ".join(str(c) for c in self.classes_)
        found = (f"{rows} is public", f"the columns and the two classes ({labels}) are public")
        if self.random_state is None:
            return found
        return (*found, "the seed of the random numbers is secret, and nobody takes their generator apart")


def _exactly(value: Any) -> Fraction:
    """Return a number as it is written: 0.1 is 1/10; `ReleaseError` for what is not a finite number."""
    try:
        return Fraction(str(value)) if isinstance(value, (float, np.floating)) else Fraction(value)
    except (TypeError, ValueError):
        raise ReleaseError(f"{value!r} is not a finite number: give one") from None


def _positive(name: str, value: Any) -> None:
    """Raise `ReleaseError` unless a parameter is a finite positive number."""
    number = isinstance(value, (int, float, Fraction, np.number)) and not isinstance(value, bool)
    if not number or not 0 < float(value) < math.inf:
        raise ReleaseError(f"{name} must be a positive number, not {value!r}")


def _one_of(name: str, value: Any, known: Sequence[str]) -> None:
    """Raise `ReleaseError` unless a parameter is one of some words."""
    if value not in known:
        raise ReleaseError(f"{name} must be one of {', '.join(map(repr, known))}, not {value!r}")
