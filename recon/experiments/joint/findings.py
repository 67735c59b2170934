"""What the results of the four questions say: tables, figures and sentences.

Certificates beside attacks, without noise and with it; intervals of correlations; explanations.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from recon.attacks.attacking.correlations import DEFINITE, DISCRETE, WORLDS
from recon.attacks.correlation.model_less import bin_of, exact_accuracy
from recon.experiments.declaration import Declaration, Line, named_lines, records, where
from recon.experiments.experiment import ExperimentFindings
from recon.experiments.joint.releases import LEARNERS
from recon.experiments.splits import NAMES

BASELINE = "always in"
NO_NOISE = 100.0  # where the axis of epsilon shows counts without noise
NOISE = ("noise epsilon=10", "noise epsilon=1", "noise epsilon=0.1")
EXACT = (DEFINITE, DISCRETE, WORLDS)
ATTACKERS = (DEFINITE, DISCRETE, *NOISE[::-1], WORLDS)
SKETCHED = dict(zip((*EXACT, *NOISE), (1.887, 0.913, 0.506, 0.507, 0.517, 0.614), strict=True))
ROUNDING = 1e-9
DRAWN = "greedy rule list, 4 rules, width 1"
BY, MODEL = ["dataset", "learner"], ["dataset", "columns", "model", "counted"]
EXPLAINED = ["dataset", "rows", "what", "explained", "statements", "distinct", "before_per_row", "removed_low",
             "removed_high", "exact", "engine", "recall_black_box", "recall_explainer", "delta_recall",
             "fpr_black_box", "fpr_explainer", "auc_black_box", "auc_explainer", "fidelity"]  # fmt: skip
DECLARED = Declaration("joint", NAMES=NAMES, LEARNERS=list(LEARNERS))
FRAMES = (
    "certificates",
    "attacks",
    "refused",
    "compared",
    "explanations",
    "measured",
    "noise",
    "lists",
    "bins",
    "sketched",
)


def findings(results: pd.DataFrame) -> ExperimentFindings:
    """Return the tables, figures and sentences of all questions that have results."""
    found: dict[str, Any] = {**dict.fromkeys(FRAMES, pd.DataFrame()), "held": {}, "steps": pd.Series()}
    for question, of in (("correlations", _correlations), ("membership", _memberships),
                         ("explanations", _explanations), ("noise", _noise)):  # fmt: skip
        if len(some := where(results, question=question)):
            found |= of(some.reset_index(drop=True))
    frames = {name: frame for name, frame in found.items() if isinstance(frame, pd.DataFrame)}
    return DECLARED.findings(frames, **{name: value for name, value in found.items() if name not in frames})


def _memberships(some: pd.DataFrame) -> dict[str, Any]:
    """Return what certificates prove and attacks guess of the same rows."""
    certificates = DECLARED.aggregate("certificates", where(some, what="certificates"))
    certificates.insert(5, "undetermined", 1 - certificates["coverage"])
    guessed = where(some, what="attack")
    attacks = DECLARED.aggregate("attacks", guessed[guessed["attack"] != BASELINE])
    models = where(some, what="model")
    names = ["leaves", "accuracy_members", "accuracy_others", "fidelity", "v", "v_authors", "both_sides", "best_auc"]
    models = models.reindex(columns=[*BY, *names]).astype(dict.fromkeys(names, float))
    true = where(certificates, counted="attributes")
    once = ["members_in_once", "others_out_once", "auc_once"]
    true = true[[*BY, "members_in", "others_out", "undetermined", "errors", *once]]
    whole = DECLARED.aggregate("models", models)
    whole = whole.merge(true.rename(columns={"auc_once": "auc_once_proved"}), on=BY, how="left")
    for rows, end in (("all", ""), ("once", "_once")):
        best = {f"auc_least{end}": ("auc", "min"), f"auc_most{end}": ("auc", "max")}
        best |= {f"{name}{end}": (name, "max") for name in ("tpr_at_001", "tpr_at_01")}
        own = where(attacks, asked_rows=rows).groupby(BY, as_index=False, sort=False).agg(**best)
        whole = whole.merge(own, on=BY, how="left")
    order = {name: k for k, name in enumerate((*NAMES, *LEARNERS))}
    whole = whole.sort_values(BY, key=lambda names: names.map(order), ignore_index=True)
    drawn = whole.assign(settled=1 - whole["undetermined"], name=whole["dataset"].map(NAMES))
    compared = some.reindex(columns=list(dict.fromkeys([*some.columns, "v"])))
    return {"membership": whole, "certificates": certificates, "attacks": attacks, "compared": compared,
            "drawn-membership": drawn, "refused": where(some, what="refused")}  # fmt: skip


def _noise(some: pd.DataFrame) -> dict[str, Any]:
    """Return certificates, bits, accuracy and AUC against epsilon."""
    some = some.reindex(columns=list(dict.fromkeys([*some.columns, "errors"])))
    covered = some["covered"].astype(bool)
    errors = {"errors_inside": some["errors"].where(covered), "errors_beyond": some["errors"].where(~covered)}
    table = DECLARED.aggregate("noise", some.assign(covered=covered, **errors))
    table = table.sort_values([*BY, "epsilon"], ignore_index=True)
    at = table["epsilon"].where(table["epsilon"] > 0, NO_NOISE)
    placed = table.assign(at=at, rows=table["rows"].astype(int), name=table["dataset"].map(NAMES))
    return {"noise": table, "placed": placed.sort_values([*BY, "at"], kind="stable")}


def _model_name(line: Line) -> str:
    """Return what a line's model is called: its learner and size."""
    size = f"{line['rules']:.0f} rules" if "list" in line["learner"] else f"depth {line['depth']:.0f}"
    width = f", width {line['width']:.0f}" if line["learner"] == "greedy rule list" else ""
    return f"{line['learner']}, {size}{width}"


def _correlations(some: pd.DataFrame) -> dict[str, Any]:
    """Return how wide the attackers' intervals are, whether they hold the truth, and what they say of its bin."""
    some = some.assign(model=[_model_name(line) for line in records(some)])
    table = _widths(some)
    found: dict[str, Any] = {"correlations": table, "held": _truths_held(some)}
    sketch = where(table, columns="four")
    sketch = sketch.assign(sketch=sketch["attacker"].map(SKETCHED))
    if len(sketch):
        wide = sketch.pivot_table(
            index=["attacker", "sketch"], columns=["counted", "model"], values="width", sort=False
        )
        wide.columns = pd.Index([": ".join(map(str, pair)) for pair in wide.columns])
        found |= {"correlations-sketch": wide.reset_index(), "sketched": where(sketch, counted="bits")}
    used = where(table, columns="used")
    if len(used):
        epsilon = used["attacker"].where(used["attacker"].isin(NOISE)).str.partition("=")[2].astype(float)
        drawn = used.assign(epsilon=epsilon, backwards=-epsilon, name=used["dataset"].map(NAMES),
                            short=used["model"].str.partition(", width")[0], rows=used["rows"].astype(int))  # fmt: skip
        drawn = drawn[drawn["model"].str.startswith(DRAWN)]
        budgets = drawn.dropna(subset=["epsilon"]).sort_values("backwards")[[*MODEL, "epsilon"]]
        sure = where(drawn, attacker=EXACT).drop(columns="epsilon").merge(budgets, on=MODEL)
        lists = used[used["model"].str.contains("list")]
        lists = lists.groupby(["dataset", "counted", "attacker"], as_index=False, sort=False)[["width"]].mean()
        lists = named_lines(lists, {name: name for name in ATTACKERS}, "attacker")
        order = used.drop_duplicates(["dataset", "counted"])[["dataset", "counted"]]
        found |= {"widths": drawn, "sure-widths": sure, "lists": order.merge(lists, on=["dataset", "counted"])}
        found |= _bins(where(some, columns="used"))
    return found


def _widths(some: pd.DataFrame) -> pd.DataFrame:
    """Return a line per model, way of counting and attacker; means over pairs and draws."""
    floats = some.astype(dict.fromkeys(("holds", "bin_right", "bin_sure"), float))
    pair = some["first"].astype(str) + "\n" + some["second"].astype(str)
    floats = floats.assign(exact=(some["status"] == "exact").astype(float), pair=pair).astype({"columns_used": int})
    table = DECLARED.aggregate("attackers", floats, one_mean=_mean)
    covered = some.drop_duplicates([*MODEL, "attacker", "draw"]).dropna(subset=["covered"])
    covered = DECLARED.aggregate("covered", covered.assign(covered=covered["covered"].astype(bool)))
    table = table.merge(covered, on=[*MODEL, "attacker"], how="left")
    place = table["attacker"].map({name: k for k, name in enumerate(ATTACKERS)})
    keyed = table.assign(by_model=table.groupby(MODEL, sort=False).ngroup(), place=place).dropna(subset=["place"])
    return keyed.sort_values(["by_model", "place"], ignore_index=True).drop(columns=["by_model", "place"])


def _mean(values: pd.Series) -> float:
    """Return the mean as one sum gives it: grouped means differ in the last digit."""
    return float(values.mean())


def _truths_held(some: pd.DataFrame) -> dict[str, int]:
    """Return how many intervals hold the truth, without noise, with noise, and with noise inside its intervals."""
    sure, noisy = some[some["confidence"] == 1], some[some["confidence"] < 1]
    parts = {"sure": sure, "noisy": noisy, "inside": noisy[noisy["covered"].astype(bool)]}
    nested, chains, left_out = _nesting(some)
    return {
        **{name: int(part["holds"].sum()) for name, part in parts.items()},
        **{f"of_{name}": len(part) for name, part in parts.items()},
        "nested": nested, "chains": chains, "left_out": left_out,
    }  # fmt: skip


def _bins(used: pd.DataFrame) -> dict[str, Any]:
    """Return how often the bins that intervals name are right, and how often surely."""
    floats = used.astype({"bin_right": float, "bin_sure": float})
    rates = floats.groupby("attacker", as_index=False)[["bin_right", "bin_sure"]].mean()
    truths = used.drop_duplicates(["first", "second", *MODEL])["truth"].to_numpy(dtype=np.float64)
    commonest = np.bincount(bin_of(truths)).max() / len(truths)
    bins = named_lines(rates, {name: name for name in EXACT}, "attacker")
    return {"bins": bins, "uniform": exact_accuracy(side=400), "commonest": commonest}


def _nesting(some: pd.DataFrame) -> tuple[int, int, int]:
    """Return how many chains (a pair, a draw, an epsilon) are nested, of how many, and draws left out.

    A draw whose noise lies outside its joint intervals is left out: it need not hold what exact counts leave.
    """
    keys = [*MODEL, "first", "second"]
    ends = {name: where(some, attacker=name).set_index(keys)[["low", "high"]] for name in EXACT}
    nested = total = other = 0
    for _, part in where(some, attacker=NOISE).groupby(["attacker", "draw"]):
        covered = part["covered"].astype(bool)
        other += int(part.loc[~covered].groupby(MODEL).ngroups)
        lines = part[covered].set_index(keys)[["low", "high"]]
        chain = [ends[DEFINITE].loc[lines.index], ends[DISCRETE].loc[lines.index], lines, ends[WORLDS].loc[lines.index]]
        good = np.ones(len(lines), dtype=bool)
        for outer, inner in pairwise(one.to_numpy() for one in chain):
            good &= (outer[:, 0] <= inner[:, 0] + ROUNDING) & (inner[:, 1] <= outer[:, 1] + ROUNDING)
        nested, total = nested + int(good.sum()), total + len(lines)
    return nested, total, other


def _explanations(some: pd.DataFrame) -> dict[str, Any]:
    """Return how many bits explanations with their counts take away, beside REVEAL's difference of recalls."""
    table = some.reindex(columns=EXPLAINED).sort_values(EXPLAINED[:4], ignore_index=True)
    table = table.astype(dict.fromkeys(["rows", "explained", "statements", "distinct"], int))
    sizes = {name: " and ".join(map(str, sorted(set(part)))) for name, part in table.groupby("dataset")["rows"]}
    drawn = table.assign(bounded=~table["exact"].astype(bool), name=table["dataset"].map(NAMES),
                         sizes=table["dataset"].map(sizes))  # fmt: skip
    most = drawn.groupby("dataset")["explained"].transform("max").astype(float)
    surrogates = where(drawn.assign(most=most), what="TREPAN").drop_duplicates(["dataset", "rows"])
    ends = pd.concat([surrogates.assign(at=0.0), surrogates.assign(at=surrogates["most"])])
    measured = table.dropna(subset=["delta_recall"])
    steps = where(measured, what="LORE").groupby(["dataset", "rows"])["delta_recall"].diff().dropna()
    return {"explanations": table, "explained": drawn, "surrogates": ends, "measured": measured, "steps": steps}
