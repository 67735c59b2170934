"""Leave-one-out of `attribute`, by taking the row out of the published counts and asking again."""

from __future__ import annotations

import copy
import json
import math
import random

import oracle
import pytest
from extras import encoded
from test_against_oracle import names, random_profile

import recon


def parts(release):
    model = release["models"][0]
    return [p for p in model.get("nodes", model.get("rules")) if "then" not in p]


def without_one(release, cell, label):
    """The same release, one row fewer in one leaf or rule (and class); None where there is none."""
    out = copy.deepcopy(release)
    for node in out["models"][0].get("nodes", []):
        if "then" in node:
            node.pop("counts", None)
            node.pop("count", None)
    part = parts(out)[cell]
    if "counts" in part:
        if not part["counts"][label]:
            return None
        part["counts"][label] -= 1
    else:
        if label or not part["count"]:
            return None
        part["count"] -= 1
    if "rows" in out:
        out["rows"] -= 1
    return out


def expected_share(release, profile, sensitive, value):
    """Σ over cells of P(the person, who is (q, v), lies in the cell) times the share of v without her."""
    everything = encoded(release)
    both = {**profile, sensitive: value}
    total, out = 0.0, 0.0
    labels = len(release["domain"]["label"]["values"]) if release["domain"].get("label") else 1
    here = recon.bound(everything, both).expectation
    for cell in range(len(parts(release))):
        for label in range(labels):
            less = without_one(release, cell, label)
            if less is None:
                continue
            count = (parts(release)[cell].get("counts") or [parts(release)[cell].get("count")])[label]
            rest = encoded(less)
            weight = count * (here - recon.bound(rest, both).expectation)
            remaining = recon.bound(rest, profile).expectation
            if weight > 1e-12 and remaining > 1e-12:
                total += weight
                out += weight * recon.bound(rest, both).expectation / remaining
    return out / total if total else math.nan


@pytest.mark.sampled(0, 1)
@pytest.mark.parametrize("batch", range(4))
def test_leave_one_out(batch):
    rng = random.Random(batch)
    compared = 0
    while compared < 40:
        release, truth = oracle.random_release(rng)
        model = release["models"][0]
        if "rules" in model and (not model["rules"] or model["rules"][-1]["if"]):
            continue  # an implicit default rule has no count of its own to take one from
        sensitive = rng.choice(names(release))
        profile = random_profile(rng, release, truth)
        profile.pop(sensitive, None)
        for line in recon.attribute(encoded(release), [profile], sensitive).to_dict("records"):
            expected = expected_share(json.loads(json.dumps(release)), profile, sensitive, line["value"])
            assert line["leave_one_out"] == pytest.approx(expected, abs=1e-9, nan_ok=True)
            compared += 1
