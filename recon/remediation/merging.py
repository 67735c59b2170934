"""The fewest merges of leaves into their parents after which a release meets a policy.

One tree and one rule list are exact: dynamic programming over nodes (`recon.remediation.search`). Of forests each tree
alone is exact for rules about single groups; what rules about all people need beyond is greedy, and is called so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from encoders.encode.encoder import EncodedRelease, encode, with_known_rows
from encoders.models.models import AnyModel, Boosting, Forest, RuleList, Tree
from recon.loading.settled import as_released
from recon.remediation.demands import Demands, demands_of, figures_of, outcomes, together, unmet
from recon.remediation.pruning import Groups, groups_of, pruned, shortened
from recon.remediation.search import prunings
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.escaping import named
from solvers.foundation.limits import Limits

SECONDS = 120.0  # where no limit is given
PART = 0.2  # of the time, for the figures before
TRIES = 50  # prunings that are looked at where rounding decides
EXACT_TREE = "exact: dynamic programming over the nodes of the tree; no fewer merges meet the policy"
EXACT_LIST = (
    "exact over all prefixes: the shortest run of last rules merged into the default; merging other rules is not tried"
)
EACH_TREE = (
    "exact: rules about single groups concern each tree alone, so each is merged alone by dynamic programming over its "
    "nodes; rules about all people need no more; no fewer merges meet the policy"
)
RESAMPLED = (
    "greedy: each tree counts a resample, so each is merged alone until its groups hold enough different rows of it; "
    "fewer merges may do"
)
GREEDY = (
    "greedy: each tree alone meets the rules about single groups with the fewest merges (exact); then the most exposed "
    "pairs of leaves are merged first, as many as the rules about all people need; fewer merges may do"
)
GREEDY_TREE = (
    "greedy: the exact search was too large for so many rules about all people; the pairs of leaves whose merge "
    "repairs most are merged first; fewer merges may do"
)


class NoMerging(Unsupported):
    """No merging meets the policy: even one leaf, or one rule, violates it."""


@dataclass(frozen=True, eq=False)
class Merging:
    """A release whose leaves were merged until it meets a policy.

    `merges`: how many pairs of leaves became one. `exact`: whether no fewer do; `how` says why, or that it is greedy.
    `collapsed`: per tree the nodes (numbers of the released model) that became leaves; of a rule list the rule from
    which on rules are merged into the default. `before`, `after`: figures, see `recon.remediation.figures.figures_of`.
    """

    release: EncodedRelease
    merges: int
    exact: bool
    how: str
    collapsed: tuple[tuple[int, ...], ...]
    before: Mapping[str, Any]
    after: Mapping[str, Any]

    @property
    def leaves(self) -> int:
        """Return how many leaves or rules are left."""
        return leaves_of(self.release.models[0])


def merged(release: EncodedRelease, policy: Any, limits: Limits | None = None) -> Merging:
    """Return the release with the fewest merges of leaves into parents after which it meets the policy.

    Rules that merging cannot repair (kinds of counts, what the file stores, profiles) are not looked at: assess the
    result. `policy`: a policy or a mapping of its keys; `limits`: two minutes, where they have no time. Raises
    `Unsupported` naming what is no tree, rule list or forest, and for noisy counts; `NoMerging` where one leaf alone
    violates the policy, naming the rule; `Inconclusive` where the limits leave it open. Cost: see
    `recon.remediation.search.prunings`; of forests also some joint measures.
    """
    limits = (limits or Limits()).limited(SECONDS)
    release, demands = as_released(release), demands_of(policy)
    model = mergeable(release)
    before = figures_of(release, limits.share(PART))
    if isinstance(model, Forest):
        from recon.remediation.greedy import merged_forest

        return merged_forest(release, model, demands, before, limits)
    groups = groups_of(model, release.domain, limits, demands.sized)
    change: Callable[[Sequence[int]], AnyModel] = (
        (lambda at: pruned(model, at)[0]) if isinstance(model, Tree) else (lambda at: shortened(model, at))
    )
    try:
        for merges, at in islice(prunings(groups, demands, limits), TRIES):
            found = with_models(release, [change(at)]) if at else release
            after = figures_of(found, limits)
            if together(outcomes(after, demands)) == "met":
                how = EXACT_TREE if isinstance(model, Tree) else EXACT_LIST
                return Merging(found, merges, True, how, (tuple(at),), before, after)
    except TooLarge:
        if not isinstance(model, Tree):
            raise
        from recon.remediation.greedy import merged_greedily

        return merged_greedily(release, model, groups, demands, before, limits)
    raise no_merging(release, model, demands, groups, limits)


def no_merging(
    release: EncodedRelease, model: Tree | RuleList, demands: Demands, groups: Groups, limits: Limits
) -> NoMerging | Inconclusive:
    """Return the refusal that says which rule one leaf alone violates."""
    root = [0] if groups.leaves[0] > 1 else []
    one = pruned(model, root)[0] if isinstance(model, Tree) else shortened(model, root)
    found = outcomes(figures_of(with_models(release, [one]), limits), demands)
    if together(found) == "met":
        return Inconclusive(
            "the fewest merges that meet the policy were not settled: rounding decides; change it a bit"
        )
    return NoMerging(
        f"no merging meets the policy: one leaf for everybody leaves {'; '.join(unmet(found, demands))}. Publish less "
        "(no class counts, or none at all), or change the policy"
    )


def mergeable(release: EncodedRelease) -> Tree | RuleList | Forest:
    """Return the one model of a release whose groups can be merged; `Unsupported` says by name why there is none."""
    if release.noisy or any(m.noise is not None for m in release.models):
        raise Unsupported(
            "leaves with noisy counts are not merged: their noise would add up; merge the exact counts, then add noise"
        )
    first, *rest = release.models
    if isinstance(first, Tree) and rest and all(m.origin is not None and m.origin == first.origin for m in rest):
        raise Unsupported(
            "a regression tree whose leaves say totals of the target is not merged: give a domain without the target "
            "(--domain), over which its leaves say how many rows they have"
        )
    if rest:
        raise Unsupported(
            f"a release of {len(release.models)} models is not merged: give one file, and merge each model alone"
        )
    model = first
    if isinstance(model, Tree | RuleList | Forest):
        return model
    what = f"the {model.kind.replace('_', ' ')} '{named(model.name, 80)}'"
    if isinstance(model, Boosting):
        raise Unsupported(
            f"{what} is not merged: its leaf values say more than its counts; recon audit --remedies shows what "
            "rounded leaf values and fewer trees leave"
        )
    raise Unsupported(
        f"{what} has no leaves with parents to merge: leave out its small groups, or publish intervals in their place"
    )


def with_models(release: EncodedRelease, models: Sequence[AnyModel]) -> EncodedRelease:
    """Return the release with other models over the same domain and rows. Cost: that of encoding."""
    found = encode(release.domain, models, release.declared or release.rows, release.file)
    found = replace(found, sha256=release.sha256, files=release.files, reader_notes=release.reader_notes)
    return found if release.known is None else with_known_rows(found, release.known)


def leaves_of(model: AnyModel) -> int:
    """Return how many leaves a tree or forest has, how many rules a list."""
    if isinstance(model, Tree):
        return len(model.nodes.leaves)
    if isinstance(model, Forest):
        return sum(len(tree.nodes.leaves) for tree in model.trees)
    return len(model.rules) if isinstance(model, RuleList) else 0
