"""Give back the training rows of a released forest, and say whether any other rows would have made it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import recon
from encoders.encode.encoder import encode

# 30 full-grown trees without bootstrap, trained on 300 of the people of COMPAS.
release = recon.load(Path(__file__).parent / "releases" / "compas_forest.json")
forest = release.models[0]
few = encode(release.domain, [replace(forest, trees=forest.trees[:20])])  # had only 20 of the trees been released

for name, one in (("all 30 trees", release), ("the first 20 trees", few)):
    world = recon.reconstruct(one)
    frame = world.to_frame()
    # A row counts as certain as often as it is in every dataset that agrees with the trees.
    certain = recon.certify(one, frame.drop_duplicates())["min_count"].sum() / len(frame)
    print(f"{name}: datasets that agree, row order aside: {recon.count(one, 'multiset').value:,}")
    print(f"{len(frame)} rows reconstructed, the only possible ones: {world.unique}; {certain:.0%} of them certain")
    print(frame.head(4).to_string(index=False), end="\n\n")
