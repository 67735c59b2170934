"""The same tree with its columns as attributes (what can exist) and as independent bits (what papers count)."""

from __future__ import annotations

from pathlib import Path

import recon
from encoders.encode.encoder import encode

release = recon.load(Path(__file__).parent / "releases" / "compas_tree.json")
bits = encode(release.domain.as_columns(), release.models)
for name, one in (("attributes", release), ("independent columns", bits)):
    m = recon.measure(one)
    print(f"{name}: {one.cut.solver.size:,} possible rows, 2^{m.entropy_bits:,.0f} worlds, Dist_G {m.dist_g:.3f}")
