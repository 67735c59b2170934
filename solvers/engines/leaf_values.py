"""Engine `leaf_values`: what the leaf values of boosted models prove about cells; see `solvers.leaf_values`."""

from __future__ import annotations

from typing import ClassVar

from solvers.foundation.limits import Limits
from solvers.statements.questions.answers import Answer, Engine, not_searched, unanswered
from solvers.statements.questions.query import LeafLabelCounts, MostLikely, Query, Targets
from solvers.statements.release import Release


class LeafValuesEngine(Engine):
    """Linear algebra with error bounds over cells, tree by tree, and lattice reduction for what is left."""

    name = "leaf_values"
    answers: ClassVar[tuple[type, ...]] = (LeafLabelCounts, Targets, MostLikely)
    uses_leaf_values = True
    about = "boosted models: rows per cell from leaf values, one world, targets of regressions"

    def refuses(self, release: Release, query: Query) -> str | None:
        """Return why leaf values are not used."""
        if not release.boosted:
            return "there are no leaf values of a boosted model"
        if not isinstance(query, MostLikely):
            return None
        if release.bags or release.observed:
            return "bags that are known, and noisy counts, are not used together with leaf values"
        return not_searched(release)

    def answer(self, release: Release, query: Query, limits: Limits) -> Answer:
        """Return the bounds on cells, or on the targets of their rows."""
        if isinstance(query, Targets):
            from solvers.leaf_values.targets import targets

            return targets(release, query, limits)
        if isinstance(query, MostLikely):
            from solvers.leaf_values.worlds import one_world

            return one_world(release, query, limits)
        if not isinstance(query, LeafLabelCounts):
            raise unanswered(query, self.name)
        from solvers.leaf_values.settling import strengthened_counts

        return strengthened_counts(release, query.model, limits, query.lattices)
