"""Where sizes are only known between bounds: every figure still holds, and what is open is called open."""

from __future__ import annotations

import random

import pytest
from extras import batches

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Test
from encoders.encode.encoder import encode
from encoders.models.models import Rule, RuleList
from encoders.models.nodes import Support
from solvers.foundation.limits import Limits


def release_of(seed, d=60, rules=40, width=3):
    rng = random.Random(seed)
    listed = [
        Rule(tuple((f"b{k}", Test(values=(rng.randrange(2),))) for k in rng.sample(range(d), width)), Support((2, 1)))
        for _ in range(rules)
    ]
    domain = Domain(tuple(Categorical(f"b{k}", (0, 1)) for k in range(d)), Categorical("y", (0, 1)))
    return encode(domain, [RuleList((*listed, Rule((), Support((3, 3)))))]), rng


@pytest.mark.slow
@pytest.mark.parametrize("seed", batches(1, 2))
def test_bounds_hold_and_verdicts_agree_with_the_exact_ones(seed):
    exact, rng = release_of(seed)
    short, _ = release_of(seed)
    none = Limits(seconds=0.0)
    truth, bounds = recon.count(exact), recon.count(short, limits=none)
    assert (truth.status, bounds.status) == ("exact", "bounds")
    assert bounds.bounds[0] <= truth.log2 <= bounds.bounds[1]
    assert bounds.value is None
    people = recon.sample(exact, 1, seed=seed)[0].to_frame().iloc[:15]
    profiles = people.to_dict("records") + [{f"b{k}": rng.randrange(2) for k in rng.sample(range(60), 3)} for _ in "ab"]
    sure = recon.certify(exact, profiles)
    loose = recon.certify(short, profiles, limits=none)
    for a, b in zip(sure.to_dict("records"), loose.to_dict("records"), strict=True):
        assert b["verdict"] in {a["verdict"], "unknown"}
        assert b["min_count"] <= a["min_count"] <= a["max_count"] <= b["max_count"]
    assert (loose["verdict"] != "unknown").any()
    with pytest.raises(recon.Inconclusive, match="between bounds"):
        recon.sample(short, 1, limits=none)
