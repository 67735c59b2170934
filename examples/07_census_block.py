"""Work out the people behind published tables: the census block of Garfinkel, Abowd, Martindale (CACM 62(3), 2019)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import recon
from encoders.encode.encoder import encode

# Counts, medians and means of seven people by sex, race and status; the smallest counts are suppressed.
release = recon.load(Path(__file__).parent / "releases" / "census_block.json")
print("as published:", recon.count(release, "multiset").value, "set of people agrees")
print(recon.reconstruct(release).to_frame().sort_values("age").to_string(index=False))

# The same block, had the figures on black women been left out.
table = release.models[0]
fewer = tuple(f for f in table.statements if "black female" not in f.name)
safer = encode(release.domain, [replace(table, statements=fewer)], release.rows)
print("\nwithout the figures on black women:", recon.count(safer, "multiset").value, "sets of people agree")
for world in recon.worlds(safer):
    print(world.to_frame().sort_values("age").to_string(index=False), end="\n\n")
