"""A forest as one partition per tree, all of the same rows; of trees on resamples what their counts imply.

Source: Ferry et al., "Trained Random Forests Completely Reveal your Dataset", ICML 2024 (every leaf of every tree
is a statement about one dataset); `encoders.kinds.bags` for bootstrap samples and subsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from encoders.domain.domain import Domain
from encoders.kinds.bags import bag_blocks, check_bags, known_bags, known_line, left_out, minimum_rows
from encoders.kinds.tree import check_tree, tree_partition, tree_total, unused_counts
from encoders.models.models import Forest
from encoders.parts.base import Encoder
from encoders.parts.cut_domain import CutDomain
from encoders.parts.resolutions import Resolutions
from solvers.foundation.errors import ReleaseError
from solvers.statements.bags import TreeBags
from solvers.statements.release import Block, RowCount

UNNAMED = "forest"


class ForestEncoder(Encoder[Forest]):
    """Forests: every tree counts all the rows, or those of its bag."""

    def check(self, model: Forest, domain: Domain, place: str) -> None:
        """Refuse what a tree is refused for, and trees or bags that do not fit together."""
        if not model.trees:
            raise ReleaseError("the forest has no trees", place=f"{place}.trees")
        if model.bootstrap and model.subsample:
            message = "rows are drawn with replacement ('bootstrap') or without, not both"
            raise ReleaseError(message, place=f"{place}.resample")
        for t, tree in enumerate(model.trees):
            check_tree(tree, domain, f"{place}.trees[{t}]", repeated=model.bootstrap)
        if model.resampled:
            check_bags(model, place)
            return
        if model.multiplicities is not None:
            raise ReleaseError("only resampled rows have them: give 'bootstrap': true", place=f"{place}.multiplicities")
        first = tree_total(model.trees[0])
        for t, tree in enumerate(model.trees):
            if (total := tree_total(tree)) != first:
                message = f"the tree counts {total} rows, trees[0] counts {first}: without bootstrap all are the same"
                raise ReleaseError(message, place=f"{place}.trees[{t}]")

    def resolve(self, model: Forest, domain: Domain, place: str, into: Resolutions) -> None:
        """Add what all trees test."""
        for t, tree in enumerate(model.trees):
            into.add_nodes(tree.nodes, domain, f"{place}.trees[{t}]")

    def total(self, model: Forest) -> int | None:
        """Return the number of rows that every tree counts, or that the bags are drawn from, if that is known."""
        if model.multiplicities is not None:
            return int(model.multiplicities.shape[1])
        return None if model.resampled else tree_total(model.trees[0])

    def least(self, model: Forest) -> int:
        """Return the fewest rows that explain the counts; those that the bags are drawn from where that is known."""
        known = self.total(model)
        return minimum_rows(model) if known is None else known

    def evidence(self, model: Forest, minimum: int) -> str:
        """Return why there are that many rows."""
        if not model.resampled:
            return super().evidence(model, minimum)
        if model.multiplicities is not None:
            return f"the multiplicities are of {minimum}"
        return f"the counts of the resamples need {minimum} different rows"

    def assumes(self, model: Forest) -> tuple[str, ...]:
        """Return how the rows of a tree were drawn."""
        if not model.resampled:
            return ("each tree was fitted on all the rows (no bootstrap)",)
        how = "a bootstrap sample (drawn with replacement)" if model.bootstrap else "some of the rows, each once"
        return (
            f"{model.name}: each tree was fitted on {how}: a count above 0 proves rows, a count of 0 proves nothing",
            f"{model.name}: possible worlds weigh the same, however likely they make the draws behind its counts",
            *((known_line(model),) if model.multiplicities is not None else ()),
        )

    def loosens(self, model: Forest) -> tuple[str, ...]:
        """Return what is published and not used: counts of inner nodes, numbers of different rows in resamples."""
        inner = (line for tree in model.trees for line in unused_counts(tree, f"{model.name}, {tree.name}"))
        return (*islice(inner, 1), *(left_out(model) if model.resampled else ()))

    def blocks(
        self, model: Forest, cut: CutDomain, resolved: Resolutions, rows: RowCount, place: str
    ) -> tuple[Block, ...]:
        """Return one partition per tree; of a tree on a resample what its counts imply."""
        named = "" if model.name == UNNAMED else f"{model.name}, "
        if not model.resampled:
            return tuple(tree_partition(tree, named + tree.name, cut, resolved) for tree in model.trees)
        kinds = [named + tree.name for tree in model.trees]
        return tuple(b for t, kind in enumerate(kinds) for b in bag_blocks(model, t, kind, cut, resolved, rows))

    def bags(self, model: Forest, blocks: Sequence[Block], first: int) -> tuple[TreeBags, ...]:
        """Return what the trees count of their bags, where those are known."""
        return () if model.multiplicities is None else (known_bags(model, blocks, first),)
