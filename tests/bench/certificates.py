"""Certificates at real sizes: seconds to find and write, to verify from nothing, and their size.

    python tests/bench/certificates.py [--small]

Needs scikit-learn and the data folder (RECON_DATA). Every line runs in a process of its own. "verify" starts from a
release encoded anew: statements are numbered and cells walked again. `without` is the same question without proofs.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

from forests import Cells, Section, figure, peak, print_sections, size_of, timed, trained, warm


def written(certificates: Any) -> tuple[Any, str]:
    """Return certificates as they are read back, and their sizes."""
    text = json.dumps(certificates, separators=(",", ":"))
    packed = len(gzip.compress(text.encode(), mtime=0))
    return json.loads(text), f"{len(text) / 1e3:,.0f} kB ({packed / 1e3:,.0f} packed)"


def verified(forest: Any, domain: Any, certificates: Any) -> tuple[str, str]:
    """Return the seconds that verification takes from a release encoded anew, and how many certificates held."""
    import recon
    from recon.certificates.verifying import verify

    release = recon.encode(forest, domain)
    seconds, found = timed(lambda: verify(certificates, release))
    return figure(seconds), f"{len(found.checked) - len(found.rejected):,} of {len(found.checked):,}"


def kinds(certificates: list[Any]) -> str:
    """Return how many certificates are of each kind."""
    names = [c["proof"]["kind"] for c in certificates if c is not None]
    missing = sum(c is None for c in certificates)
    told = [f"{names.count(kind):,} {kind}" for kind in sorted(set(names))]
    return ", ".join([*told, *([f"{missing:,} none"] if missing else [])])


def unique(name: str, n: int, trees: int) -> list[Cells]:
    """Certify that the reconstruction of a forest of full-grown trees is the only possible training set."""
    import recon
    from recon.certificates.issuing import world_certificate

    rows, _, domain, forest = trained(name, n, trees)
    warm()
    release = recon.encode(forest, domain)
    back, world = timed(lambda: recon.reconstruct(release))
    write, certificate = timed(lambda: world_certificate(release, world, None))
    read, size = written([certificate])
    seconds, held = verified(forest, domain, read)
    steps = 0 if certificate is None else len(certificate["proof"]["tree"]["steps"])
    line = [size_of(name, len(rows), trees), "the only one", figure(back), figure(write), seconds, held]
    return [[*line, f"{kinds([certificate])}, {steps:,} steps", size, str(peak())]]


def verdicts(name: str, n: int, trees: int, depth: int | None, each: int) -> list[Cells]:
    """Certify verdicts on profiles: half of them random rows of the domain, half true rows with one value changed."""
    import numpy as np
    import pandas as pd

    import recon
    from recon.frames.selections import raw_indices
    from recon.frames.world import values_of

    rows, _, domain, forest = trained(name, n, trees, depth)
    rng = np.random.default_rng(0)
    width = len(domain.all)
    made = np.stack([rng.integers(a.span[1], size=2 * each) for a in domain.all], axis=1)
    near = raw_indices(domain, rows.sample(2 * each, random_state=1, replace=True))
    for row, k in zip(near, rng.integers(width, size=len(near)), strict=True):
        row[k] = rng.integers(domain.all[k].span[1])
    both = rng.permutation(np.concatenate([made, near]))
    people = pd.DataFrame({a.name: values_of(a, both[:, k]) for k, a in enumerate(domain.all)})
    warm()
    release = recon.encode(forest, domain)
    said = recon.certify(release, people, certificates=False)["verdict"]
    about = size_of(name, len(rows), trees, depth)
    return [
        [
            about,
            *one_kind(forest, domain, people[(said == verdict).to_numpy()].head(each).reset_index(drop=True), verdict),
        ]
        for verdict in ("impossible", "certain")
    ]


def one_kind(forest: Any, domain: Any, some: Any, verdict: str) -> Cells:
    """Certify profiles that all have one verdict, beside the same question without certificates."""
    import recon

    bare = recon.encode(forest, domain)
    plain = timed(lambda: recon.certify(bare, some, certificates=False))[0]
    fresh = recon.encode(forest, domain)
    write, answered = timed(lambda: recon.certify(fresh, some, certificates=True))
    found = answered["certificate"].tolist()
    read, size = written(found)
    seconds, held = verified(forest, domain, read)
    line = [f"{len(some):,} {verdict}", figure(plain), figure(write), seconds, held]
    return [*line, kinds(found), size, str(peak())]


COLUMNS = "forest:28; claims:16; without s:9; write s:8; verify s:8; verified:14; proofs:45; size:26; peak MB:7"
SECTIONS = {
    "unique": Section(
        "Uniqueness of a whole reconstruction",
        COLUMNS,
        unique,
        (("compas14", 7_000, 100), ("credit21", 5_000, 100), ("adult19", 48_842, 100)),
        (("compas14", 500, 20),),
    ),
    "verdicts": Section(
        "Verdicts on profiles",
        COLUMNS,
        verdicts,
        (
            ("compas14", 7_000, 100, None, 1_000),
            ("compas14", 7_000, 100, 5, 1_000),
            ("adult19", 5_000, 50, None, 1_000),
        ),
        (("compas14", 500, 20, None, 100),),
    ),
}

if __name__ == "__main__":
    print_sections(SECTIONS, sys.argv[1:])
