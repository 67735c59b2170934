"""Prove verdicts to somebody who does not trust you: write certificates, re-check them, see a forgery rejected."""

from __future__ import annotations

import copy
from pathlib import Path

import recon
from recon.queries.certificates.certificate_format import seal_of
from recon.queries.certificates.issuing import world_certificate

# Two trees about the same three people; docs/certificates.md checks these proofs by hand.
release = recon.load(Path(__file__).parent / "releases" / "two_trees.json")
found = recon.certify(release, [{"smoker": 1, "age": "young"}, {"smoker": 1, "age": "old"}])
for verdict, certificate in zip(found["verdict"], found["certificate"], strict=True):
    print(f"{verdict}: claim {certificate['claim']}, proof {certificate['proof']}")

# That the reconstruction is the only possible training set is proved in the same way.
alone = world_certificate(release, recon.reconstruct(release), None)
assert alone is not None
print("the only world:", alone["claim"]["only_world"]["rows"], "times", alone["claim"]["only_world"]["times"])

# Whoever has the release can re-check all of them; no solver is needed.
checked = recon.verify([*found["certificate"], alone], release)
print(f"{len(checked.checked) - len(checked.rejected)} of {len(checked.checked)} certificates verified")

# A forged claim is rejected, even with the forger's own seal on it.
forged = copy.deepcopy(found["certificate"][0])
forged["claim"]["profile"]["age"] = "old"
for attempt in (forged, {**forged, "seal": seal_of(forged)}):
    print("forged:", recon.verify([attempt], release).rejected[0].error)
