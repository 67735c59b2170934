"""The authors' own results for single forests, from the result files of their code, and how ours stand beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from recon.experiments.draft2024.forests import KNOWN, NONE, UNKNOWN
from recon.experiments.draft2024.rows import NAMES

ROWS = 100
SAME = 1e-9  # accuracies are shares of 100 and of 1,400 rows


@dataclass(frozen=True)
class PublishedRun:
    """One run: 100 training rows, forest and solver as given, CP-SAT on 16 threads."""

    dataset: str
    bootstrap: bool
    trees: int
    depth: int | None
    seed: int
    train_accuracy: float
    test_accuracy: float
    error: float
    seconds: float


# github.com/vidalt/DRAFT, results/results_cp-sat (commit 4064270): those of the runs drawn here that could be had.
PUBLISHED = (
    PublishedRun("compas14", False, 1, None, 0, 0.87, 743 / 1400, 111 / 1400, 0.8),
    PublishedRun("compas14", False, 1, None, 1, 0.76, 833 / 1400, 141 / 1400, 1.1),
    PublishedRun("compas14", False, 10, None, 0, 0.87, 781 / 1400, 0.0, 5.4),
    PublishedRun("compas14", False, 10, None, 1, 0.76, 855 / 1400, 4 / 1400, 14.1),
    PublishedRun("compas14", False, 10, None, 2, 0.83, 840 / 1400, 2 / 1400, 6.9),
    PublishedRun("compas14", False, 100, None, 1, 0.76, 861 / 1400, 0.0, 107.6),
    PublishedRun("compas14", False, 100, None, 2, 0.83, 838 / 1400, 0.0, 103.2),
    PublishedRun("compas14", False, 100, 3, 0, 0.73, 920 / 1400, 6 / 1400, 41.7),
    PublishedRun("compas14", True, 1, None, 0, 0.74, 805 / 1400, 292 / 1400, 3601.6),
    PublishedRun("compas14", True, 10, None, 0, 0.84, 820 / 1400, 89 / 1400, 3621.9),
    PublishedRun("compas14", True, 10, None, 1, 0.75, 836 / 1400, 68 / 1400, 3624.7),
    PublishedRun("compas14", True, 20, None, 1, 0.76, 846 / 1400, 61 / 1400, 3638.4),
    PublishedRun("compas14", True, 50, None, 1, 0.76, 849 / 1400, 52 / 1400, 3687.8),
    PublishedRun("compas14", True, 50, None, 2, 0.83, 841 / 1400, 63 / 1400, 3716.0),
    PublishedRun("compas14", True, 100, None, 1, 0.76, 867 / 1400, 58 / 1400, 7448.2),
    PublishedRun("compas14", True, 100, 5, 0, 0.79, 909 / 1400, 94 / 1400, 3733.5),
    PublishedRun("adult19", False, 1, None, 2, 0.97, 1049 / 1400, 207 / 1900, 0.8),
    PublishedRun("adult19", False, 10, None, 0, 0.96, 1055 / 1400, 63 / 1900, 272.9),
    PublishedRun("adult19", False, 10, None, 3, 0.94, 1084 / 1400, 97 / 1900, 25.3),
    PublishedRun("adult19", False, 100, None, 0, 0.96, 1088 / 1400, 2 / 1900, 296.1),
    PublishedRun("adult19", False, 100, None, 1, 0.96, 1026 / 1400, 0.0, 120.8),
    PublishedRun("adult19", False, 100, None, 2, 0.97, 1082 / 1400, 1 / 1900, 126.3),
    PublishedRun("adult19", False, 100, 3, 0, 0.88, 1088 / 1400, 94 / 1900, 220.5),
    PublishedRun("adult19", False, 100, 5, 1, 0.91, 1058 / 1400, 4 / 1900, 62.4),
    PublishedRun("adult19", True, 1, None, 0, 0.85, 957 / 1400, 371 / 1900, 10802.7),
    PublishedRun("adult19", True, 10, None, 1, 0.96, 968 / 1400, 223 / 1900, 10826.4),
    PublishedRun("adult19", True, 20, None, 0, 0.96, 1074 / 1400, 187 / 1900, 10848.0),
    PublishedRun("adult19", True, 50, None, 0, 0.96, 1057 / 1400, 153 / 1900, 10919.6),
    PublishedRun("adult19", True, 100, None, 0, 0.96, 1067 / 1400, 155 / 1900, 10968.2),
    PublishedRun("adult19", True, 100, None, 2, 0.97, 1087 / 1400, 113 / 1900, 18288.4),
    PublishedRun("credit21", False, 10, None, 0, 0.98, 1051 / 1400, 73 / 2100, 22.0),
    PublishedRun("credit21", False, 10, None, 1, 0.92, 982 / 1400, 46 / 2100, 21.9),
    PublishedRun("credit21", True, 20, None, 0, 0.98, 1083 / 1400, 276 / 2100, 7248.4),
    PublishedRun("credit21", True, 50, None, 0, 0.98, 1068 / 1400, 244 / 2100, 7282.0),
)


def beside(results: pd.DataFrame) -> pd.DataFrame:
    """Return a line per published run and kind of bags that was run here: both errors, and whether forests agree."""
    out, mine = [], {}
    for line in results[results["rows"] == ROWS].to_dict("records"):
        depth = None if pd.isna(line["depth"]) else int(line["depth"])
        mine[line["dataset"], line["bags"], line["trees"], depth, line["seed"]] = line
    for one in PUBLISHED:
        for bags in (KNOWN, UNKNOWN) if one.bootstrap else (NONE,):
            if (own := mine.get((one.dataset, bags, one.trees, one.depth, one.seed))) is None:
                continue
            apart = [abs(own[f"{part}_accuracy"] - getattr(one, f"{part}_accuracy")) for part in ("train", "test")]
            out.append({
                "dataset": one.dataset, "bags": bags, "trees": one.trees, "depth": one.depth, "seed": one.seed,
                "published": one.error, "ours": own["error"], "unique": own["unique"],
                "same_forest": max(apart) < SAME, "published_seconds": one.seconds,
            })  # fmt: skip
    return pd.DataFrame(out)


def sentences(pairs: pd.DataFrame) -> list[str]:
    """Return how our errors compare with the published ones, forest by forest, where there is more than one tree."""
    out = []
    pairs = pairs[pairs["trees"] > 1] if len(pairs) else pairs
    for bags, what in WHAT.items():
        some = pairs[(pairs["bags"] == bags) & pairs["same_forest"].astype(bool)] if len(pairs) else pairs
        for name in NAMES:
            part = some[some["dataset"] == name] if len(some) else some
            if not len(part):
                continue
            done = part[part["ours"].notna()]
            text = f"{NAMES[name]}, {what}: of {len(part)} forests of several trees whose errors the authors published"
            if len(done) < len(part):
                text += f" {len(part) - len(done)} gave us no data set within the time"
            if len(done):
                ours, theirs = done["ours"].to_numpy(dtype=float), done["published"].to_numpy(dtype=float)
                text += (
                    f" {'; of the others' if len(done) < len(part) else ''} our error is smaller in "
                    f"{int(np.sum(ours < theirs - 1e-9))}, equal in {int(np.sum(abs(ours - theirs) <= 1e-9))}, larger "
                    f"in {int(np.sum(ours > theirs + 1e-9))}; means {ours.mean():.4f} (ours) and {theirs.mean():.4f}"
                )
            low, high = part["published_seconds"].min(), part["published_seconds"].max()
            taken = f"{low:,.0f} to {high:,.0f} s" if f"{low:,.0f}" != f"{high:,.0f}" else f"{low:,.0f} s"
            out.append(f"{text}; their solver took {taken} a forest.".replace("  ", " ").replace(" ;", ";"))
    return out


WHAT = {
    NONE: "no bootstrap",
    KNOWN: "bootstrap, bags read off the file (the authors took them for unknown)",
    UNKNOWN: "bootstrap, bags unknown (ours uses the number of different rows in every node as well)",
}
