"""A forest as one partition per tree, all of the same rows.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (every leaf of every tree
is a statement about one dataset).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from encoders.domain import Condition, Domain
from encoders.encoder import CutDomain, Encoder, Resolved
from encoders.models import Forest
from encoders.tree import check_tree, tests, tree_partition, tree_total
from solvers.errors import ReleaseError
from solvers.release import Block, Rows

UNNAMED = "forest"


class KindEncoder(Encoder[Forest]):
    """Forests without bootstrap: every tree counts all the rows."""

    def check(self, model: Forest, domain: Domain, place: str) -> None:
        """Refuse what a tree is refused for, and trees that count different numbers of rows."""
        if not model.trees:
            raise ReleaseError("the forest has no trees", place=f"{place}.trees")
        for t, tree in enumerate(model.trees):
            check_tree(tree, domain, f"{place}.trees[{t}]")
        first = tree_total(model.trees[0])
        for t, tree in enumerate(model.trees):
            if (total := tree_total(tree)) != first:
                message = f"the tree counts {total} rows, trees[0] counts {first}: without bootstrap all are the same"
                raise ReleaseError(message, place=f"{place}.trees[{t}]")

    def conditions(self, model: Forest, place: str) -> Iterator[tuple[Condition, str]]:
        """Yield the conditions of all trees."""
        seen: set[int] = set()
        for t, tree in enumerate(model.trees):
            for condition, i in tests(tree.nodes):
                if id(condition) not in seen:
                    seen.add(id(condition))
                    yield condition, f"{place}.trees[{t}].nodes[{i}].if"

    def total(self, model: Forest) -> int:
        """Return the number of rows that every tree counts."""
        return tree_total(model.trees[0])

    def assumes(self, model: Forest) -> tuple[str, ...]:
        """Return that no tree saw a resample."""
        return ("each tree was fitted on all the rows (no bootstrap)",)

    def blocks(
        self, model: Forest, cut: CutDomain, resolved: Mapping[Condition, Resolved], rows: Rows, place: str
    ) -> tuple[Block, ...]:
        """Return one partition per tree."""
        named = "" if model.name == UNNAMED else f"{model.name}, "
        return tuple(tree_partition(tree, named + tree.name, cut, resolved) for tree in model.trees)
