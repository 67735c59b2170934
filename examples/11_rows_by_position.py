"""What a default forest gives back about every row of its training file: labels, intervals, exact values."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import recon

RELEASES = Path(__file__).parent / "releases"
truth = pd.read_csv(RELEASES / "diabetes_rows.csv")  # 100 people, in the order in which fit got them
codebook = recon.Domain.from_frame(truth, label="progressed")  # which values there are: whole ages, tenths of a bmi

# RandomForestClassifier().fit(X, y), saved: its trees' seeds say how often each of them drew every row.
for what, domain in (("the file alone", None), ("and a codebook", codebook)):
    release = recon.load(RELEASES / "diabetes_forest.joblib", domain=domain)
    for learner, ranges in (("none", None), ("midpoints", None if domain is None else "attained")):
        table = recon.positions(release, learner=learner, ranges=ranges)
        found = table.attrs
        print(
            f"{what}, learner {learner}: {found['labels_known']} of {found['labels']} labels, "
            f"{found['share_values_known']:.0%} of values, mean width {found['mean_width']:.3f} ({found['width_of']}), "
            f"rows fully known: {found['rows_known']}"
        )

# The last table beside the truth: every true value is among those left.
beside = recon.positions(release, learner="midpoints", ranges="attained", truth=truth).attrs["truth"]
print("every true value inside:", beside["inside"])
print(table[table["position"] == 0][["attribute", "low", "high", "exact"]].to_string(index=False))

# Without the seeds there is nothing by position: recon.readers.inspection.stripping.strip (recon inspect FILE --strip
# OUT).
