"""`make demo`: judges a tree by a policy, audits other models, asks about people, and says what to type next."""

from __future__ import annotations

import os
from pathlib import Path

import recon

RELEASES = Path(os.path.relpath(Path(__file__).parent / "releases"))
LABEL = "Recidivate-Within-Two-Years"
POLICY = "preset:minimum-cell-10"


def main() -> None:
    """Print the audits of a forest, a boosted model, a tree and a rule list, two shorter ones, verdicts on people."""
    step("1 of 7", "A decision tree on 7,214 people, judged by the rule that no group may have fewer than 10 people")
    print(recon.audit(recon.load(RELEASES / "compas_tree.json"), POLICY).to_text())
    step("2 of 7", "A random forest on 100 people at its defaults: every label and much of every row by position")
    print(recon.audit(recon.load(RELEASES / "diabetes_forest.joblib")).to_text())
    step("3 of 7", "A boosted model: what its leaf values determine")
    boosted = recon.load(RELEASES / "boosted_model.txt", domain=str(RELEASES.parent / "boosted_domain.json"))
    print(recon.audit(boosted).to_text())
    step("4 of 7", "A rule list, and in short two models of 48,842 people")
    print(recon.audit(recon.load(RELEASES / "compas_rule_list.json")).to_text())
    for name in ("adult_tree", "adult_rule_list"):
        m = recon.measure(recon.load(RELEASES / f"{name}.json"), "multiset")
        print(
            f"  {name}: 2^{m.entropy_bits:,.0f} datasets agree, whatever the order of rows, Dist_G {m.dist_g:.3f}, "
            f"{m.bits_removed_per_row:.2f} bits removed per row, {m.determined_rows} rows known"
        )
    step("5 of 7", "What the tree of step 1 says about single people")
    people(recon.load(RELEASES / "compas_tree.json"))
    step("6 of 7", "What the pickle of another forest stores outright, without any attack")
    pickled(RELEASES / "compas_forest.pkl")
    step("7 of 7", "What a forest of 30 full-grown trees says about the 300 people it was trained on")
    forest(recon.load(RELEASES / "compas_forest.json"))
    print(f"""
What to type next (`. .venv/bin/activate` first, or `.venv/bin/recon`)
  recon gate {RELEASES / "compas_tree.json"} --policy {POLICY}
  recon remedy {RELEASES / "compas_tree.json"} --policy {POLICY} --out better.json
  recon audit {RELEASES / "compas_tree.json"} --policy {POLICY} --out report.html
tables of 28 real census tracts, and that one set of 63,969 people alone fits them (docs/census.md):
  python {os.path.relpath(Path(__file__).parent / "13_census_tracts.py")} tracts
  recon variability tracts/tables.json
and for a model of your own, with the table that it was trained on:
  recon audit model.joblib --domain data.csv --policy {POLICY} --out report.html""")


def step(number: str, title: str) -> None:
    """Print where the demo is."""
    print(f"\n=== {number}: {title} ===", flush=True)


def pickled(path: Path) -> None:
    """Look into a pickled forest, which is not run: it stores the labels and the bags of the rows it was trained on."""
    for finding in recon.inspect(path).findings:
        if finding.level in {"critical", "high"}:
            print(f"  {finding.level}: {finding.path}: {finding.follows}")


def forest(release: recon.EncodedRelease) -> None:
    """Give back the rows that a forest of full-grown trees was trained on."""
    world = recon.reconstruct(release)
    found = recon.certify(release, world.to_frame())
    print(f"  datasets that agree with every leaf of every tree: {recon.count(release, 'multiset').value}")
    print(f"  rows reconstructed: {world.rows}, the only possible ones: {'yes' if world.unique else 'no'}")
    checked = recon.verify(found["certificate"].tolist(), release)
    good = len(checked.checked) - len(checked.rejected)
    print(
        f"  of them in the data for certain: {(found['verdict'] == 'certain').sum()}, re-checked certificates: {good}"
    )
    print("  the first three:")
    names = {"juvenile-misdemeanors:>0": "misdemeanors", "recidivate-within-two-years:1": "reoffended"}
    kept = ["sex:Male", "age", "juvenile-misdemeanors:>0", "priors", "recidivate-within-two-years:1"]
    for line in world.to_frame().head(3)[kept].rename(columns=names).to_dict("records"):
        print("    " + ", ".join(f"{k} = {v}" for k, v in line.items()))


def people(release: recon.EncodedRelease) -> None:
    """Ask about the only person in one leaf of the COMPAS tree."""
    group = {"Age": {"in": ["41-44", ">=45"]}, "Race": "Asian", "Prior-Crimes": "4-5"}
    person = {"Age": ">=45", "Race": "Asian", "Prior-Crimes": "4-5"}
    found = recon.bound(release, group)
    print(f"  Asian, 41 or older, 4-5 prior crimes: {found.min} to {found.max} such people are in the data")
    for line in recon.attribute(release, [person], LABEL).to_dict("records"):
        if line["certain"]:
            print(f"  whoever knows one of 45 or older among them learns: reoffended = {line['value']}, in every world")
    for line in recon.certify(release, [{**person, LABEL: 0}, {**person, LABEL: 1}]).to_dict("records"):
        print(
            f"  one who did {'' if line['profile'] else 'not '}reoffend: {line['verdict']}, in "
            f"{100 * line['probability']:.1f} % of the worlds ({100 * line['probability_before']:.1f} % before)"
        )


if __name__ == "__main__":
    main()
