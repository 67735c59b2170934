"""The fewest merges of leaves into their parents after which a release meets a policy.

One tree and one rule list are exact: dynamic programming over nodes (`recon.release.remediation.search`). Of forests
each tree alone is exact for rules about single groups; what rules about all people need beyond is greedy, and is
called so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from encoders.encode.encoder import EncodedRelease
from encoders.models.models import AnyModel, Boosting, Forest, RuleList, Tree
from recon.readers.loading.settled import as_released
from recon.release.remediation.demands import Demands, demands_of, figures_of, outcomes, together, unmet
from recon.release.remediation.greedy import merged_forest, merged_greedily
from recon.release.remediation.pruning import (
    EXACT_LIST,
    EXACT_TREE,
    GroupTree,
    Merging,
    NoMerging,
    groups_of,
    pruned,
    shortened,
    with_models,
)
from recon.release.remediation.search import prunings
from solvers.foundation.errors import Inconclusive, TooLarge, Unsupported
from solvers.foundation.escaping import named
from solvers.foundation.limits import Limits

TRIES = 50  # prunings that are looked at where rounding decides


def merged(release: EncodedRelease, policy: Any, limits: Limits | None = None) -> Merging:
    """Return the release with the fewest merges of leaves into parents after which it meets the policy.

    Rules that merging cannot repair (kinds of counts, what the file stores, profiles) are not looked at: assess the
    result. `policy`: a policy or a mapping of its keys; `limits`: two minutes, where they have no time. Raises
    `Unsupported` naming what is no tree, rule list or forest, and for noisy counts; `NoMerging` where one leaf alone
    violates the policy, naming the rule; `Inconclusive` where the limits leave it open. Cost: see
    `recon.release.remediation.search.prunings`; of forests also some joint measures.
    """
    limits = (limits or Limits()).limited()
    release, demands = as_released(release), demands_of(policy)
    model = mergeable(release)
    before = figures_of(release, limits.stage("figures of a merge"), demands)
    if isinstance(model, Forest):
        return merged_forest(release, model, demands, before, limits)
    groups = groups_of(model, release.domain, limits, demands.sized)
    change: Callable[[Sequence[int]], AnyModel] = (
        (lambda at: pruned(model, at)[0]) if isinstance(model, Tree) else (lambda at: shortened(model, at))
    )
    try:
        for merges, at in islice(prunings(groups, demands, limits), TRIES):
            found = with_models(release, [change(at)]) if at else release
            after = figures_of(found, limits, demands)
            if together(outcomes(after, demands)) == "met":
                how = EXACT_TREE if isinstance(model, Tree) else EXACT_LIST
                return Merging(found, merges, True, how, (tuple(at),), before, after)
    except TooLarge:
        if not isinstance(model, Tree):
            raise

        return merged_greedily(release, model, groups, demands, before, limits)
    raise no_merging(release, model, demands, groups, limits)


def no_merging(
    release: EncodedRelease, model: Tree | RuleList, demands: Demands, groups: GroupTree, limits: Limits
) -> NoMerging | Inconclusive:
    """Return the refusal that says which rule one leaf alone violates."""
    root = [0] if groups.leaves[0] > 1 else []
    one = pruned(model, root)[0] if isinstance(model, Tree) else shortened(model, root)
    found = outcomes(figures_of(with_models(release, [one]), limits, demands), demands)
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
