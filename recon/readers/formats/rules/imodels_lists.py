"""Rule lists of imodels: GreedyRuleList, OneR, FastFrugalTree and BayesianRuleList.

Greedy lists store the share of class 1 and the number of rows per rule, so that counts are exact. A fast-and-frugal
tree stores sizes and decisions. A Bayesian rule list stores posterior means (c1 + alpha1) / (n + alpha0 + alpha1) and
95 % credible intervals of Beta(c1 + alpha1, c0 + alpha0): the mean gives the ratio of the two parameters, the width of
the interval their sum, and counts are exact again. Source: imodels 3.0.4, greedy_rule_list.py, fast_frugal_tree.py,
bayesian_rule_list/brl_util.py (`get_rule_rhs`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical, Test, equals
from encoders.models.models import CountKind, Provenance, Rule, RuleList, Table
from encoders.models.nodes import Support
from recon.readers.formats.drafts.binding import free_label
from recon.readers.formats.drafts.drafts import Draft
from recon.readers.formats.rules.plain_values import (
    MAX_ROWS,
    NO_COUNTS,
    as_features,
    commonest,
    count,
    index,
    model_features,
    number,
    opposite,
    parts,
    share_of,
    texts,
    two_classes,
)
from recon.readers.stored.pickled.pickles import Thing
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.statements.release import RowCount

KINDS = (
    "GreedyRuleListClassifier",
    "OneRClassifier",
    "FastFrugalTreeClassifier",
    "BayesianRuleListClassifier",
)
CLOSE = 1e-7  # how well two versions of scipy agree on the ends of a credible interval
NEAR = 1_000_000  # and on its width: one part in so many
MAX_BAYESIAN = 1 << 32  # rows of one rule
MAX_RULES = 2_000  # of a Bayesian list: each takes a bisection


def read(thing: Thing, form: str) -> Draft:
    """Return the draft of a fitted rule list; `form` is the container's word (pickle, joblib, in memory).

    Raises `ReleaseError` naming the place for rules that do not add up, `Unsupported` for a Bayesian list without
    credible intervals. Cost: linear in rules.
    """
    if thing.class_name == "BayesianRuleListClassifier":
        return _bayesian(thing, form)
    if thing.class_name == "FastFrugalTreeClassifier":
        return _frugal(thing, form)
    return greedy(thing, form)


def _provenance(thing: Thing, form: str, counts: tuple[CountKind, ...], notes: tuple[str, ...] = ()) -> Provenance:
    """Return where a list was found."""
    return Provenance(f"imodels {thing.class_name} ({form})", counts, notes)


@dataclass(frozen=True)
class ListStep:
    """One stored rule: the test of the rows that leave the list here (None: all that are left), and its figures."""

    test: tuple[str, Test] | None
    raw: dict[str, Any]
    place: str
    rows: int
    leaving: int

    @property
    def condition(self) -> Condition:
        """Return the test as the condition of a rule."""
        return () if self.test is None else (self.test,)


def _steps(thing: Thing, names: Sequence[str], closed: bool) -> list[ListStep]:
    """Return the stored rules, each with the rows that reach it and those that leave there; checked to add up.

    `closed`: rows at the threshold itself are on its right side.
    """
    out: list[ListStep] = []
    rules = parts(thing.get("rules_"), "rules", "rules_")
    for i, rule in enumerate(rules):
        place = f"rules_[{i}]"
        if not isinstance(rule, dict):
            raise ReleaseError("is not a rule", place=place)
        rows = count(rule.get("num_pts"), f"{place}.num_pts")
        if out and rows != out[-1].rows - out[-1].leaving:
            left = out[-1].rows - out[-1].leaving
            raise ReleaseError(f"holds {rows} rows, but {left} are left by the rules before", place=f"{place}.num_pts")
        if "index_col" not in rule:
            if i + 1 < len(rules):
                raise ReleaseError("takes all rows, and rules follow", place=place)
            return [*out, ListStep(None, rule, place, rows, rows)]
        leaving = count(rule.get("num_pts_right"), f"{place}.num_pts_right")
        if leaving > rows:
            raise ReleaseError(f"holds {leaving} of {rows} rows", place=f"{place}.num_pts_right")
        cutoff, flip = number(rule.get("cutoff"), f"{place}.cutoff"), rule.get("flip", False)
        if not isinstance(flip, (bool, int)):
            raise ReleaseError("is neither True nor False", place=f"{place}.flip")
        right = Test(low=cutoff, low_open=not closed)
        out.append(
            ListStep((feature(rule, names, place), opposite(right) if flip else right), rule, place, rows, leaving)
        )
    # Versions that found no further split ended with one: what it leaves over follows from it.
    last = out[-1]
    rest = {"val": last.raw.get("val"), "num_pts": last.rows - last.leaving}
    return [*out, ListStep(None, rest, last.place, last.rows - last.leaving, last.rows - last.leaving)]


def feature(rule: dict[str, Any], names: Sequence[str], place: str) -> str:
    """Return the feature that a rule tests: by name where it has one (OneR's indices were of one column once)."""
    at = index(rule["index_col"], len(names), f"{place}.index_col")
    return str(rule["col"]) if isinstance(rule.get("col"), str) and rule["col"] in names else names[at]


def greedy(thing: Thing, form: str) -> Draft:
    """Return the draft of a greedy rule list or of OneR: exact class counts."""
    names, named = model_features(thing)
    classes = two_classes(thing)
    rules, ones = [], []
    found = _steps(thing, names, closed=True)
    for step in found:
        share = step.raw.get("val" if step.test is None else "val_right")
        ones.append(share_of(share, step.leaving, f"{step.place}.{'val' if step.test is None else 'val_right'}"))
        rules.append(Rule(step.condition, Support((step.leaving - ones[-1], ones[-1]))))
    for i, step in enumerate(found[:-1]):
        left = share_of(step.raw.get("val"), step.rows - step.leaving, f"{step.place}.val")
        if left != sum(ones[i + 1 :]):
            message = f"leaves {left} rows of class {classes[1]!r}, the rules after it hold {sum(ones[i + 1 :])}"
            raise ReleaseError(message, place=f"{step.place}.val")
    return Draft(
        _provenance(thing, form, ("exact",)),
        as_features(names),
        (RuleList(tuple(rules)),),
        classes,
        free_label(names),
        RowCount(found[0].rows, found[0].rows),
        named=named,
    )


def _frugal(thing: Thing, form: str) -> Draft:
    """Return the draft of a fast-and-frugal tree: rows per exit, and that each decides for its commonest class."""
    names, named = model_features(thing)
    classes, label = two_classes(thing), free_label(names)
    found = _steps(thing, names, closed=False)
    rules, figures = [], []
    before: Condition = ()
    for i, step in enumerate(found):
        decision = step.raw.get("val" if step.test is None else "val_right")
        if not isinstance(decision, (int, float)) or decision not in {0, 1}:
            raise ReleaseError("decides for neither class", place=step.place)
        rules.append(Rule(step.condition, Support(count=step.leaving)))
        if step.leaving:
            value = classes[int(decision)]
            figures.append(commonest((*before, *step.condition), label, value, 2, f"exit {i}"))
        before = before if step.test is None else (*before, (step.test[0], opposite(step.test[1])))
    return Draft(
        _provenance(thing, form, ("size", "label")),
        as_features(names),
        (RuleList(tuple(rules)), Table(tuple(figures), "decisions")),
        classes,
        label,
        RowCount(found[0].rows, found[0].rows),
        named=named,
        reader_notes=("a fast-and-frugal tree stores rows per exit and decisions, no class counts: " + NO_COUNTS,),
    )


def _bayesian(thing: Thing, form: str) -> Draft:
    """Return the draft of a Bayesian rule list: class counts out of posterior means and credible intervals."""
    if thing.get("discretizer") is not None:
        raise Unsupported("the list binned its columns itself: fit it on binary columns (imodels 3 asks for them)")
    names, named = model_features(thing)
    classes = two_classes(thing)
    alpha = thing.get("alpha")
    prior = parts(alpha, "prior", "alpha")
    if len(prior) != 2:
        raise ReleaseError("holds no two pseudocounts", place="alpha")
    weights = (number(prior[0], "alpha[0]"), number(prior[1], "alpha[1]"))
    if min(weights) <= 0 or max(weights) > MAX_ROWS:
        raise ReleaseError("holds pseudocounts that are not positive numbers up to 2^53", place="alpha")
    conditions = antecedents(thing, names)
    if len(conditions) > MAX_RULES:
        raise Unsupported(f"the list has {len(conditions):,} rules, more than {MAX_RULES:,}")
    theta, spread = thing.get("theta"), thing.get("ci_theta")
    if spread is None:
        raise Unsupported(
            "the list stores posterior means without credible intervals, which hide how many rows there are"
        )
    theta, spread = parts(theta, "posterior means", "theta"), parts(spread, "credible intervals", "ci_theta")
    if not len(theta) == len(spread) == len(conditions):
        message = f"holds {len(theta)} means and {len(spread)} intervals for {len(conditions)} rules"
        raise ReleaseError(message, place="theta")
    rules = []
    for i, (condition, mean, interval) in enumerate(zip(conditions, theta, spread, strict=True)):
        if not isinstance(interval, (tuple, list)) or len(interval) != 2:
            raise ReleaseError("holds no interval", place=f"ci_theta[{i}]")
        ends = (number(interval[0], f"ci_theta[{i}]"), number(interval[1], f"ci_theta[{i}]"))
        rules.append(Rule(condition, Support(_beta_counts(number(mean, f"theta[{i}]"), ends, weights, i))))
    n = sum(r.support.total or 0 for r in rules)
    return Draft(
        _provenance(thing, form, ("exact",)),
        as_features(names),
        (RuleList(tuple(rules)),),
        classes,
        free_label(names),
        RowCount(n, n),
        {name: Categorical(name, (0, 1)) for name in names},
        named,
        reader_notes=("counts were solved for from the posterior means and credible intervals, exactly",),
    )


def antecedents(thing: Thing, names: Sequence[str]) -> list[Condition]:
    """Return the conditions of the rules, the default rule's last; columns are 1 where an antecedent names them."""
    itemsets = parts(thing.get("itemsets"), "itemsets", "itemsets")
    order = parts(thing.get("d_star"), "rules", "d_star")
    columns = texts(thing.get("feature_placeholders")) or [f"X_{i}" for i in range(len(names))]
    place = dict(zip(columns, names, strict=False))
    out: list[Condition] = []
    for i, at in enumerate(order):
        if isinstance(at, bool) or not isinstance(at, int) or not 0 <= at < len(itemsets):
            raise ReleaseError("names an itemset that is not there", place=f"d_star[{i}]")
        if at == 0:
            if i + 1 < len(order):
                raise ReleaseError("takes all rows, and rules follow", place=f"d_star[{i}]")
            return [*out, ()]
        items = itemsets[at]
        if (
            not isinstance(items, (tuple, list))
            or not items
            or not all(isinstance(x, str) and x in place for x in items)
        ):
            raise ReleaseError("is not a set of columns", place=f"itemsets[{at}]")
        out.append(tuple((place[x], equals(1)) for x in dict.fromkeys(items)))
    raise ReleaseError("has no default rule", place="d_star")


def _beta_counts(mean: float, ends: tuple[float, float], prior: tuple[float, float], rule: int) -> tuple[int, int]:
    """Return the rows of class 0 and 1 behind a posterior mean and a 95 % credible interval.

    The width falls as the number of rows grows: bisection, then the one number nearby that meets mean and interval.
    Raises `ReleaseError` where none does, `Unsupported` where several do.
    """
    from scipy.special import betaincinv

    place, total = f"theta[{rule}]", sum(prior)
    if not 0 < mean < 1 or not 0 <= ends[0] < ends[1] <= 1:
        raise ReleaseError("holds no posterior mean with an interval around it", place=place)

    def off(a: float, b: float) -> tuple[float, float]:
        return float(betaincinv(a, b, 0.025)) - ends[0], float(betaincinv(a, b, 0.975)) - ends[1]

    def wider(n: int) -> bool:
        low, high = off(mean * (n + total), (1 - mean) * (n + total))
        return high > low

    low, high = 0, 1
    while high < MAX_BAYESIAN and wider(high):
        low, high = high, 2 * high
    if high >= MAX_BAYESIAN:
        raise Unsupported(f"{place} is of so many rows that its interval does not distinguish them: {NO_COUNTS}")
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if wider(middle) else (low, middle)
    fits = []
    for n in range(max(0, low - 2 - low // NEAR), low + 3 + low // NEAR):
        one = round(mean * (n + total) - prior[1])
        if 0 <= one <= n and abs((one + prior[1]) / (n + total) - mean) <= 1e-12 * mean:
            fits.append((max(map(abs, off(one + prior[1], n - one + prior[0]))), n - one, one))
    fits.sort()
    if not fits or not fits[0][0] <= CLOSE:
        raise ReleaseError("is not a posterior mean of whole numbers of rows with its interval", place=place)
    if len(fits) > 1 and fits[1][0] < 1000 * max(fits[0][0], 1e-15):
        raise Unsupported(f"{place} and its interval fit several numbers of rows: {NO_COUNTS}")
    return fits[0][1:]
