"""The models among which a learner with certified accuracy chose the released one, and the errors that one makes.

An alternative's errors are compared with those of the released model over data sets that nobody knows, so the class of
models must not depend on the data: what it would be under other data is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from encoders.domain.domain import Condition
from encoders.domain.values import Categorical
from encoders.encode.encoder import EncodedRelease
from encoders.models.learner_facts import Learner
from encoders.models.models import RuleList, Tree
from encoders.models.nodes import Support
from solvers.foundation.errors import ContradictionError, ReleaseError, Unsupported

WIDEST = 3  # literals per rule: what the search for optimal rule lists takes
Kind = Literal["tree", "rule list"]


@dataclass(frozen=True)
class ModelClass:
    """Labelled models over binary columns, and what the released one of them is known to make wrong.

    `columns`: candidates, named as in the domain. `labels`: how many classes. Trees: at most `depth` tests on a path,
    and `leaves` leaves (None: any). Rule lists: at most `length` rules before the default rule of at most `width`
    literals, with `negations` "column = 0" among them. `errors`: training errors of the released model, `gap`: how many
    fewer a search that stopped early left possible. `used`: the columns that the released model tests.
    """

    kind: Kind
    columns: tuple[str, ...]
    labels: int
    errors: int
    gap: int = 0
    depth: int = 0
    leaves: int | None = None
    length: int = 0
    width: int = 1
    negations: bool = True
    used: tuple[str, ...] = ()

    @property
    def least(self) -> int:
        """Return the training errors that no model of the class falls below."""
        return max(0, self.errors - self.gap)

    def describe(self) -> str:
        """Return the class in words."""
        if self.kind == "tree":
            size = "" if self.leaves is None else f" and {self.leaves} leaves"
            return f"trees of depth at most {self.depth}{size} over {len(self.columns)} columns"
        literals = "one literal" if self.width == 1 else f"up to {self.width} literals"
        without = "" if self.negations else ", without negations"
        return (
            f"lists of at most {self.length} rules before the default one, of {literals} each{without}, "
            f"over {len(self.columns)} columns"
        )


def class_of(release: EncodedRelease, learner: Learner, *, gap: int = 0, negations: bool = True) -> ModelClass:
    """Return the class among which an optimal learner chose the release's one tree or rule list.

    A limit that the learner does not say is that of the released model: the class is then perhaps smaller than the true
    one, which leaves more worlds, never fewer. `gap`: errors that the learner's search left open; `negations` as in
    `OptimalRuleListClassifier`. Raises `Unsupported` for another learner, classes that depend on the data, noise and
    counts without classes; `ContradictionError` where the released model breaks a limit of the learner.
    """
    if learner.name not in {"optimal tree", "optimal rule list"}:
        raise Unsupported(f"the learner '{learner.name}' promises no fewest training errors")
    if gap < 0:
        raise ReleaseError(f"the gap is a number of errors of at least 0, not {gap}")
    _refuse_data_dependent(learner)
    statements = release.statements
    if release.noisy or statements.bags or statements.boosted:
        raise Unsupported("training errors of an optimal model follow from exact counts of all training rows only")
    columns, wanted = _candidates(release), Tree if learner.name == "optimal tree" else RuleList
    models = [m for m in release.models if isinstance(m, wanted)]
    if len(models) != 1:
        raise Unsupported(f"the release has {len(models)} models that the learner '{learner.name}' makes, not one")
    model = models[0]
    if isinstance(model, Tree):
        return _tree_class(model, learner, columns, _labels_of(release), gap)
    return _list_class(model, learner, columns, _labels_of(release), gap, negations)


def _refuse_data_dependent(learner: Learner) -> None:
    """Raise `Unsupported` where which models there are depends on the training rows."""
    if learner.min_samples_leaf > 1 or learner.min_weight_fraction_leaf > 0:
        what = f"at least {learner.min_samples_leaf} rows" if learner.min_samples_leaf > 1 else "a share of the rows"
        raise Unsupported(f"leaves of {what}: which trees have them depends on the training rows")
    if learner.min_samples_split > 2:
        raise Unsupported(f"splits of {learner.min_samples_split} rows: which trees have them depends on the rows")
    if learner.min_support is not None and learner.min_support > 1:
        what = f"rules that capture at least {learner.min_support} rows (min_support)"
        raise Unsupported(f"{what}: which lists have them, and which rules are mined, depends on the training rows")
    if learner.weighted or learner.bootstrap:
        raise Unsupported("errors of weighted or resampled rows do not follow from counts of training rows")
    if learner.ccp_alpha > 0 or learner.min_impurity_decrease > 0:
        raise Unsupported("a price per leaf or split: the model need not make the fewest training errors of its class")


def _candidates(release: EncodedRelease) -> tuple[str, ...]:
    """Return the domain's binary columns; `Unsupported` for an attribute whose tests would follow from the data."""
    domain = release.domain
    label = None if domain.label is None else domain.label.name
    viewed = {view.attribute for view in domain.columns.values()}
    found = [name for name, view in domain.columns.items() if view.attribute != label]
    for attribute in domain.attributes:
        if attribute.name in viewed:
            continue
        if not isinstance(attribute, Categorical) or attribute.missing or tuple(attribute.values) != (0, 1):
            text = f"the attribute '{attribute.name}' ({attribute.describe()}) is not a column of 0 and 1"
            raise Unsupported(f"{text}: which tests on it there are (thresholds) would depend on the training rows")
        found.append(attribute.name)
    if not found:
        raise Unsupported("the domain has no binary columns that a model could test")
    return tuple(found)


def _labels_of(release: EncodedRelease) -> int:
    """Return the number of classes; `Unsupported` without a label."""
    if release.domain.label is None:
        raise Unsupported("the domain has no label, so that nothing says which training rows a model gets wrong")
    return int(release.domain.label.span[1])


def _errors_of(supports: list[Support]) -> int:
    """Return the training rows that are not of the commonest class of their leaf or rule."""
    total = 0
    for support in supports:
        if support.counts is None:
            raise Unsupported("a leaf or rule says no counts per class, so its training errors are not known")
        counts = [int(c) for c in support.counts]
        total += sum(counts) - max(counts, default=0)
    return total


def _refusal(limit: str) -> ContradictionError:
    """Return the refusal of a model that its learner could not have made."""
    return ContradictionError(f"the named learner cannot have made this model: {limit}", (limit,))


def tested(conditions: list[Condition], columns: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the literals of conditions; `Unsupported` where one is not a test of a candidate column."""
    found = []
    for condition in conditions:
        for name, test in condition:
            if name not in columns:
                raise Unsupported(f"the released model tests '{name}', which is not a binary column of the domain")
            found.append((name, 0 if Categorical(name, (0, 1)).ranges(test) == ((0, 1),) else 1))
    return found


def _tree_class(model: Tree, learner: Learner, columns: tuple[str, ...], labels: int, gap: int) -> ModelClass:
    """Return the class of a released tree; see `class_of`."""
    depth, leaves, supports, conditions = [0] * len(model.nodes), 0, [], []
    order, at = [0], 0
    while at < len(order):
        node = model.nodes[order[at]]
        if node.condition is None:
            leaves += 1
            supports.append(node.support)
        else:
            conditions.append(node.condition)
            for child in (node.then, node.otherwise):
                depth[child] = depth[order[at]] + 1
                order.append(child)
        at += 1
    deepest = max(depth)
    if learner.max_depth is not None and deepest > learner.max_depth:
        raise _refusal(f"max_depth {learner.max_depth}, the tree has a path of {deepest} tests")
    if learner.max_leaf_nodes is not None and leaves > learner.max_leaf_nodes:
        raise _refusal(f"max_leaf_nodes {learner.max_leaf_nodes}, the tree has {leaves} leaves")
    if learner.max_depth is not None and learner.max_depth < (learner.max_leaf_nodes or 0) - 1:
        raise Unsupported("trees limited by depth and by leaves at once: no learner here finds the best of these")
    used = tuple(dict.fromkeys(name for name, _ in tested(conditions, columns)))
    unlimited = deepest if learner.max_leaf_nodes is None else learner.max_leaf_nodes - 1
    return ModelClass(
        "tree", columns, labels, _errors_of(supports), gap, depth=unlimited if learner.max_depth is None
        else learner.max_depth, leaves=learner.max_leaf_nodes, used=used,
    )  # fmt: skip


def _list_class(
    model: RuleList, learner: Learner, columns: tuple[str, ...], labels: int, gap: int, negations: bool
) -> ModelClass:
    """Return the class of a released rule list; see `class_of`."""
    rules = [rule for rule in model.rules if rule.condition]
    length = len(rules) if learner.max_length is None else learner.max_length
    widest = max((len(rule.condition) for rule in rules), default=1)
    width = widest if learner.width is None else learner.width
    if not 1 <= width <= WIDEST:
        raise Unsupported(f"rules of up to {width} literals: the search for optimal lists takes 1 to {WIDEST}")
    if len(rules) > length:
        raise _refusal(f"max_length {length} without the default rule, the list has {len(rules)} rules")
    if widest > width:
        raise _refusal(f"width {width}, a rule has {widest} literals")
    literals = tested([rule.condition for rule in rules], columns)
    if not negations and any(value == 0 for _, value in literals):
        raise _refusal("no negations, a rule tests that a column is 0")
    used = tuple(dict.fromkeys(name for name, _ in literals))
    errors = _errors_of([rule.support for rule in model.rules])
    return ModelClass(
        "rule list", columns, labels, errors, gap, length=length, width=width, negations=negations, used=used
    )
