"""Say who is certainly, possibly or certainly not among the training rows, and what else follows about them."""

from __future__ import annotations

from pathlib import Path

import recon

release = recon.load(Path(__file__).parent / "releases" / "adult_tree.json")
profiles = [
    {"education": "Masters_Doctorate", "capital_gain": ">0", "gender": "Female"},
    {"education": "HS-grad", "occupation": "Service", "age": "low", "hours_per_week": "low", "income": 1},
]
print(recon.certify(release, profiles).drop(columns=["confidence", "certificate"]).to_string(index=False))
print(recon.attribute(release, profiles[:1], "income").to_string(index=False))
