"""List, draw and bound: what the data behind a released rule list may look like."""

from __future__ import annotations

from pathlib import Path

import recon

release = recon.load(Path(__file__).parent / "releases" / "compas_rule_list.json")
answer = recon.bound(release, {"Race": "Hispanic", "Recidivate-Within-Two-Years": 1})
print(f"Hispanic and reoffended: {answer.min} to {answer.max} people, {answer.expectation:.1f} on average over worlds")
for world in recon.sample(release, k=3, seed=1):
    frame = world.to_frame()
    print("a drawn world:", (frame["Race"] == "Hispanic").mean().round(3), "of its people are Hispanic")
print(next(recon.worlds(release)).to_frame(views=True).iloc[0].to_dict())
