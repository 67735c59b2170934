"""All models of a small class, each function once: with all their inequalities nothing of the rule is left out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from recon.learner_rule.optimal.alternatives import Alternative, Leaf, without
from recon.learner_rule.optimal.classes import ModelClass
from recon.learners.rule_lists.mining import conjunctions
from solvers.foundation.limits import Limits

MOST_COLUMNS = 4
MOST_MODELS = 600  # functions: each is an inequality over the cells of the whole row space
Truth = tuple[int, ...]  # the class of every combination of the columns
Known = dict[Truth, tuple[Leaf, ...]]


def every_model(models: ModelClass, limits: Limits) -> tuple[Alternative, ...] | None:
    """Return one labelled model per function that the class can express; None where they are too many.

    Raises `Inconclusive` where time is up. Cost: columns x functions².
    """
    if len(models.columns) > MOST_COLUMNS or models.labels ** (1 << len(models.columns)) > MOST_MODELS**4:
        return None
    rows = list(product((0, 1), repeat=len(models.columns)))
    constants: Known = {(label,) * len(rows): (((), label),) for label in range(models.labels)}
    if models.kind == "rule list":
        found = lists(models, constants, rows, limits)
    elif models.leaves is not None:
        found = trees_by_leaves(models, constants, rows, limits)
    else:
        found = trees_by_depth(models, constants, rows, limits)
    if found is None:
        return None
    return tuple(Alternative(models.kind, leaves, models.least) for leaves in found.values())


def splits(
    models: ModelClass, ones: Known, zeros: Known, rows: list[tuple[int, ...]]
) -> Iterator[tuple[Truth, tuple[Leaf, ...]]]:
    """Yield every tree that tests a column and goes on with one of `ones` where it is 1, one of `zeros` else."""
    for c, name in enumerate(models.columns):
        for (one, its), (zero, others) in product(ones.items(), zeros.items()):
            truth = tuple(one[i] if row[c] else zero[i] for i, row in enumerate(rows))
            yield truth, (*given(its, name, 1), *given(others, name, 0))


def given(leaves: tuple[Leaf, ...], name: str, value: int) -> list[Leaf]:
    """Return the leaves below a test: those that contradict it are left out."""
    return [
        (((name, value), *(pair for pair in path if pair[0] != name)), label)
        for path, label in leaves
        if (name, 1 - value) not in path
    ]


def trees_by_depth(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the trees of at most so many tests on a path."""
    found = dict(constants)
    for _ in range(models.depth):
        before, grown = len(found), dict(found)
        for truth, leaves in limits.paced(splits(models, found, found, rows), "the models of a class are listed"):
            grown.setdefault(truth, leaves)
            if len(grown) > MOST_MODELS:
                return None
        found = grown
        if len(found) == before:
            break
    return found


def trees_by_leaves(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the trees of at most so many leaves."""
    assert models.leaves is not None
    sized: list[Known] = [{}, dict(constants)]
    found = dict(constants)
    for leaves in range(2, models.leaves + 1):
        sized.append({})
        for left in range(1, leaves):
            pairs = splits(models, sized[left], sized[leaves - left], rows)
            for truth, tree in limits.paced(pairs, "the models of a class are listed"):
                if truth not in found:
                    found[truth] = sized[leaves][truth] = tree
                    if len(found) > MOST_MODELS:
                        return None
    return found


def lists(models: ModelClass, constants: Known, rows: list[tuple[int, ...]], limits: Limits) -> Known | None:
    """Return the lists of at most so many rules before the default rule."""
    place = {name: c for c, name in enumerate(models.columns)}
    antecedents = conjunctions(models.columns, models.width, models.negations)
    found = dict(constants)
    for _ in range(models.length):
        before, grown = len(found), dict(found)
        rules = product(antecedents, range(models.labels), found.items())
        for antecedent, label, (truth, tail) in limits.paced(rules, "the models of a class are listed"):
            met = [all(row[place[n]] == v for n, v in antecedent) for row in rows]
            now = tuple(label if hit else old for hit, old in zip(met, truth, strict=True))
            if now not in grown:
                rest = [(piece, other) for path, other in tail for piece in without(path, antecedent)]
                grown[now] = ((antecedent, label), *rest)
                if len(grown) > MOST_MODELS:
                    return None
        found = grown
        if len(found) == before:
            break
    return found
