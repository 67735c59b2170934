"""Denoised counts up to 10^13 against a search over the one free number; native solvers do not write into output."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import recon
from recon.queries.measures.attribute_bits import _all_several
from recon.queries.noisy.denoising import denoise
from recon.release.remediation.thresholds import shown_threshold
from solvers.engines.figures.partition import dist_of_mixture
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits
from solvers.statements.boxes import Attribute, Box, RowSpace
from solvers.statements.observations import observations, widened


def noisy(rng, n, name):
    """Return trees of two leaves over n known rows, with figures near the same two counts."""
    count, models = rng.randrange(n), []
    for _ in range(rng.randint(1, 3)):
        law = rng.choice(["laplace", "discrete_laplace", "gaussian", "discrete_gaussian"])
        scale = rng.choice([0.5, 1, 3, 100, 12345, 10**6] if "discrete" not in law else [1, 3, 100, 12345, 10**6])
        near = [count + rng.gauss(0, 2 * scale), n - count + rng.gauss(0, 2 * scale)]
        leaves = [{"count": round(x) if "discrete" in law else round(x, 2)} for x in near]
        nodes = [{"if": {name: 0}, "then": 1, "else": 2}, *leaves]
        models.append({"kind": "tree", "noise": {"law": law, "scale": scale}, "nodes": nodes})
    domain = {"attributes": [{"name": name, "values": [0, 1]}]}
    return {"recon": 1, "domain": domain, "rows": n, "models": models}


@pytest.mark.sampled(1, 4)
@pytest.mark.parametrize("seed", range(16))
def test_the_most_likely_counts_are_found_and_proved(seed, tmp_path):
    rng = random.Random(f"huge {seed}")
    n = [50, 10**4, 10**7, 10**10, 10**13][seed % 5]
    path = tmp_path / "release.json"
    path.write_text(json.dumps(noisy(rng, n, "a")), encoding="utf-8")
    release = recon.load(str(path))
    seen = observations(widened(release.statements))

    def log_likelihood(count):
        """Concave in the number of rows of the first leaf."""
        counts = [count if i % 2 == 0 else n - count for i in range(len(seen))]
        return sum(
            float(o.law.log_likelihood(o.published, np.array([c], dtype=np.int64))[0])
            for o, c in zip(seen, counts, strict=True)
        )

    low, high = 0, n
    while high - low > 1000:
        third = (high - low) // 3
        if log_likelihood(low + third) < log_likelihood(high - third):
            low += third
        else:
            high -= third
    best = max(map(log_likelihood, range(low, high + 1)))
    found = denoise(release, Limits(seconds=600)).found
    assert found.proved
    assert best - 2e-4 <= found.log_likelihood <= best + 1e-6
    assert found.bound >= best - 1e-6


ONE_AFTER_THE_OTHER = """
import sys
from recon.cli.app import main
for path in sys.argv[1:]:
    sys.argv = ["recon", "denoise", path, "--time", "600"]
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
    print(end="\\0", flush=True)
"""


@pytest.mark.slow
def test_native_solvers_do_not_write_into_the_output(tmp_path):
    """HiGHS prints a debugging line of its own on some programs, even when told to be quiet."""
    paths = [tmp_path / f"{seed}.json" for seed in range(3)]
    for seed, path in enumerate(paths):
        path.write_text(json.dumps(noisy(random.Random(f"stdout {seed}"), 10**12, "a")), encoding="utf-8")
    command = [sys.executable, "-c", ONE_AFTER_THE_OTHER, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = [json.loads(one) for one in done.stdout.split("\0")[:-1]]
    assert [one["rows"] for one in found] == [10**12] * 3


@pytest.mark.parametrize("count", [10**400, -(10**400), 10**4000, 10**20], ids=["1e400", "-1e400", "1e4000", "1e20"])
@pytest.mark.parametrize("kind", ["tree", "table", "rule_set"])
def test_a_count_beyond_all_floats_is_refused_in_a_sentence(tmp_path, count, kind):
    """Of trees, tables and rule sets; a count that is not a number of rows is an error of the file, not of recon."""
    models = {
        "tree": {"nodes": [{"if": {"a": 1}, "then": 1, "else": 2}, {"count": count}, {"count": 4}]},
        "table": {"statements": [{"where": {"a": 1}, "count": count}]},
        "rule_set": {"rules": [{"if": {"a": 1}, "count": count}]},
    }
    domain = {"attributes": [{"name": "a", "values": [0, 1]}]}
    path = tmp_path / "huge.json"
    path.write_text(json.dumps({"recon": 1, "domain": domain, "models": [{"kind": kind, **models[kind]}]}))
    with pytest.raises(ReleaseError, match=r"huge\.json"):
        recon.load(str(path))


def test_a_cell_beyond_all_floats_has_a_most_likely_world(tmp_path):
    """Found by tests/grown.py: 2^1100 rows are possible in one leaf, three stand there."""
    attributes = [{"name": f"a{i}", "values": [0, 1]} for i in range(1100)]
    nodes = [{"if": {"a0": 0}, "then": 1, "else": 2}, {"count": 3}, {"count": 1}]
    release = {"recon": 1, "domain": {"attributes": attributes}, "models": [{"kind": "tree", "nodes": nodes}] * 2}
    path = tmp_path / "release.json"
    path.write_text(json.dumps(release), encoding="utf-8")
    world = recon.reconstruct(recon.load(str(path)))
    assert sorted(world.to_frame()["a0"]) == [0, 0, 0, 1]


@pytest.mark.parametrize("name", ["epsilon", "sensitivity"])
def test_noise_of_whole_numbers_beyond_all_floats_is_refused_in_a_sentence(tmp_path, name):
    file = noisy(random.Random(1), 5, "a")
    budget = {"law": "discrete_laplace", "epsilon": 1.0, "sensitivity": 1, "neighbours": "add_remove"}
    file["models"][0]["noise"] = budget | {name: 10**400}
    file["models"] = file["models"][:1]
    path = tmp_path / "noisy.json"
    path.write_text(json.dumps(file))
    with pytest.raises(ReleaseError, match=r"10000.* is beyond the range of doubles"):
        recon.load(path)


def test_sizes_ends_and_thresholds_beyond_floats():
    """Quotients and logarithms are floats, not what they are made of; a sentence says the power of ten."""
    space = RowSpace((Attribute("x", (10**400, 10**400)),))
    assert dist_of_mixture(space, [(3, [Box(())])]) == pytest.approx(1.0)
    assert dist_of_mixture(space, [(3, [Box(((0, 1),))])]) == pytest.approx(1.0 - 1.0 / math.log2(2 * 10**400))
    assert _all_several([(Fraction(0), 0), (Fraction(10**400), 0), (math.inf, 0)])
    assert not _all_several([(Fraction(10**400), 0), (Fraction(10**400 + 1), 0)])
    assert [shown_threshold(x) for x in (10, 10**400, 0.05)] == ["10", "about 10^400", "0.05"]


@pytest.mark.slow
def test_a_threshold_beyond_floats_is_no_internal_error(tmp_path, run):
    """A policy that asks for groups of 10^400 people: violated, and no merging repairs it."""
    policy = tmp_path / "policy.toml"
    policy.write_text(f"smallest_group = {10**400}\n", encoding="utf-8")
    tree = Path(__file__).parent / "golden" / "tree_classes.json"
    said = run("audit", tree, "--policy", policy, "--remedies", code=1)
    assert "10^400" in said.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["audit", "certify"])
def test_millions_of_profiles_are_refused_before_memory_is_taken(tmp_path, run, command):
    """A Parquet file of some kilobytes with 1.5 million profiles: one sentence, not 700 MB under --memory 512M."""
    pytest.importorskip("pyarrow")
    path = tmp_path / "people.parquet"
    pd.DataFrame({"smoker": np.zeros(1_500_000, dtype=np.int8)}).to_parquet(path)
    release = Path(__file__).parents[1] / "examples" / "releases" / "two_trees.json"
    said = run(command, release, "--profiles", path, "--memory", "512M", code=3)
    assert "1,500,000 profiles" in said.stderr
    assert "needs more than the 512 MB of memory allowed (--memory)" in said.stderr
