"""Errors by privacy budget, trees, depth and accuracy, and what the posterior says, beside the paper."""

from __future__ import annotations

import pandas as pd

from recon.experiments.declaration import Declaration, named_lines
from recon.experiments.draft2024.questions import BASELINES, NAMES
from recon.experiments.experiment import ExperimentFindings

DECLARED = Declaration("draftdp2025", NAMES=NAMES)
FOUND = ("error", "rows_right", "proved", "log_likelihood", "gap")  # that no forest of a small run may have


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the figures, tables and sentences of all results that are there."""
    results = results.reindex(columns=list(dict.fromkeys([*results.columns, *FOUND, "posterior_error"])))
    short = results["truth_log_likelihood"] - results["log_likelihood"].astype(float)
    known = results.assign(found=results["error"].notna(), proved=results["proved"].eq(True), short=short)
    means = DECLARED.aggregate("means", known)
    means = means.merge(DECLARED.published("errors"), on=["dataset", "trees", "depth", "epsilon"], how="left")
    solved = means[means["error"].notna()]
    drawn = results[results["posterior_error"].notna()]
    posterior = DECLARED.aggregate("posterior", drawn)
    gain = known["test_accuracy"] - known["constant_accuracy"]
    frames = {
        "means": means, "results": results, "drawn": drawn, "both": solved[solved["published"].notna()],
        "posterior": posterior.assign(title=posterior["dataset"].map(NAMES), doubted=posterior["trusted"].ne(True)),
        "known": named_lines(known.assign(gain=gain)[known["found"]], NAMES),
        "solved": solved,
        "by-budget": named_lines(solved.assign(unproved=solved["proved"] < solved["forests"],
                                      s=solved["trees"].map(lambda trees: "s" if trees != 1 else "")), NAMES),
    }  # fmt: skip
    for name, kept in (("trees", "depth == @DEPTH"), ("depth", "trees == @TREES")):
        some = solved.query(kept, local_dict=DECLARED.values)
        flat = some.groupby(["dataset", "epsilon"], as_index=False)[list(BASELINES)].mean()
        each = [flat.assign(guess=what, error=flat[guess]) for guess, what in BASELINES.items()]
        frames[f"guesses-by-{name}"] = pd.concat(each)
    return DECLARED.findings(frames)
