"""Certificates at real sizes: seconds to find and write, to verify from nothing, and their size.

    python tests/bench/certificates.py [--quick | --lines BEGINNING ...] [--check]

The baseline is the same question without certificates. "write" finds the proofs, checks and writes them; "verify"
starts from a release encoded anew: statements are numbered and cells walked again. Needs scikit-learn and the data
folder (RECON_DATA). What a line says: harness.py.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

from forests import size_of, trained
from harness import Job, Line, main, measured

WITHOUT = "the same without certificates"
Certificates = list[Any]


def sizes(certificates: Certificates) -> tuple[Any, dict[str, Any]]:
    """Return certificates as they are read back, and their sizes."""
    text = json.dumps(certificates, separators=(",", ":"))
    packed = len(gzip.compress(text.encode(), mtime=0))
    return json.loads(text), {"kB": round(len(text) / 1e3), "packed kB": round(packed / 1e3)}


def kinds(certificates: Certificates) -> dict[str, int]:
    """Return how many certificates are of each kind."""
    names = ["none" if c is None else c["proof"]["kind"] for c in certificates]
    return {kind: names.count(kind) for kind in sorted(set(names))}


def both(job: str, certificates: Certificates, encode: Any, write: Any, without: Any) -> list[Line]:
    """Return the lines of certificates that were written, and of their verification."""
    from recon.queries.certificates.verifying import verify

    read, size = sizes(certificates)
    checked = measured(lambda release: verify(read, release), encode)
    held = {"held": len(checked.found.checked) - len(checked.found.rejected)}
    steps = sum(len(c["proof"]["tree"]["steps"]) for c in certificates if c and "tree" in c["proof"])
    said = kinds(certificates) | ({"steps": steps} if steps else {})
    issued = {"certificates": sum(c is not None for c in certificates)}
    return [
        Line(f"{job}: write", write, WITHOUT, without, more=issued, less={"kB": float(size["kB"])}, said=said | size),
        Line(f"{job}: verify", checked, WITHOUT, without, more=held),
    ]


def unique(job: str, name: str, n: int, trees: int) -> list[Line]:
    """Certify that the reconstruction of a forest of full-grown trees is the only possible training set."""
    import recon
    from recon.queries.certificates.issuing import world_certificate

    _, _, domain, fit = trained(name, n, trees)
    encode = lambda: recon.encode(fit.found, domain)  # noqa: E731
    without = measured(recon.reconstruct, encode)

    def solved() -> tuple[Any, Any]:
        release = encode()
        return release, recon.reconstruct(release)

    write = measured(lambda given: world_certificate(*given, None), solved)
    return both(job, [write.found], encode, write, without)


def verdicts(job: str, verdict: str, name: str, n: int, trees: int, depth: int | None, each: int) -> list[Line]:
    """Certify verdicts on profiles: half of them random rows of the domain, half true rows with one value changed."""
    import numpy as np
    import pandas as pd

    import recon
    from recon.readers.frames.selections import raw_indices
    from recon.readers.frames.world import _values_of

    rows, _, domain, fit = trained(name, n, trees, depth)
    rng = np.random.default_rng(0)
    made = np.stack([rng.integers(a.span[1], size=2 * each) for a in domain.all], axis=1)
    near = raw_indices(domain, rows.sample(2 * each, random_state=1, replace=True))
    for row, k in zip(near, rng.integers(len(domain.all), size=len(near)), strict=True):
        row[k] = rng.integers(domain.all[k].span[1])
    mixed = rng.permutation(np.concatenate([made, near]))
    people = pd.DataFrame({a.name: _values_of(a, mixed[:, k]) for k, a in enumerate(domain.all)})
    encode = lambda: recon.encode(fit.found, domain)  # noqa: E731
    said = recon.certify(encode(), people, certificates=False)["verdict"]
    some = people[(said == verdict).to_numpy()].head(each).reset_index(drop=True)
    without = measured(lambda release: recon.certify(release, some, certificates=False), encode)
    write = measured(lambda release: recon.certify(release, some, certificates=True), encode)
    return both(job, write.found["certificate"].tolist(), encode, write, without)


def jobs() -> dict[str, Job]:
    """Return the jobs by their names."""
    out: dict[str, Job] = {}
    for one in (("compas14", 7_000, 100), ("credit21", 5_000, 100), ("adult19", 48_842, 100)):
        job = f"the only training set, {size_of(*one)}"
        out[job] = Job(unique, (job, *one))
    for depth in (None, 5):
        for verdict in ("impossible", "certain"):
            job = f"1,000 {verdict}, {size_of('compas14', 7_000, 100, depth)}"
            out[job] = Job(verdicts, (job, verdict, "compas14", 7_000, 100, depth, 1_000))
    job = f"1,000 impossible, {size_of('adult19', 5_000, 50)}"
    out[job] = Job(verdicts, (job, "impossible", "adult19", 5_000, 50, None, 1_000))
    return out


JOBS = jobs()

if __name__ == "__main__":
    main("certificates", JOBS)
