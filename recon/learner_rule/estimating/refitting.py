"""Rule lists learned again on the rows of a world: nothing is drawn, so that a list is chosen or not."""

from __future__ import annotations

import numpy as np

from encoders.domain.domain import Domain
from encoders.models.learner import Learner
from encoders.models.models import RuleList
from recon.learner_rule.estimating.columns import seen_of
from recon.learner_rule.settings import exact_refusals
from recon.readers.frames.world import World
from solvers.foundation.errors import Unsupported
from solvers.foundation.escaping import named


def list_again(model: RuleList, learner: Learner, world: World) -> bool:
    """Return whether GreedyRL with a learner's settings, fitted to a world's rows, gives the published list.

    Ties are broken as recon's own learner breaks them. Raises `Unsupported` for another learner, and for columns that
    are not binary. Cost: one fit.
    """
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier

    domain, name = world.domain, named(model.name)
    if learner.name != "greedy rule list":
        raise Unsupported(f"{name}: no share of worlds is estimated under the rule of a {learner.name}")
    columns = [column for seen in seen_of(domain) for column in seen.names]
    columns = [column for column in domain.in_order or columns if column in columns]
    reasons = tuple(one for one in exact_refusals(learner, len(columns)) if "conjunctions couple" not in one)
    if reasons:
        raise Unsupported(f"no share of worlds of {name} is estimated under its learner's rule", reasons)
    frame = world.to_frame(views=True)
    assert domain.label is not None
    y = frame[domain.label.name]
    if y.nunique() < 2:
        return False
    if not np.isin(frame[columns].to_numpy(), (0, 1)).all():
        raise Unsupported(f"{name}: GreedyRL takes binary columns, these have other values")
    again = GreedyRuleListClassifier(
        learner.width or 1,
        int(learner.min_support or 1),
        learner.max_length,
        learner.negations,
        learner.ties or "fewest",
    ).fit(frame[columns], y)
    values = [domain.label.value_at(i) for i in range(domain.label.known[1])]
    return said(again.to_model(label_values=values), domain) == said(model, domain)


def said(model: RuleList, domain: Domain) -> list[object]:
    """Return the rules of a list as what they say, whatever words they say it with."""
    return [(sorted(domain.resolve(rule.condition).items()), rule.support.counts) for rule in model.rules]
