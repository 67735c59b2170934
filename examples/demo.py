"""`make demo`: audits of four released models, and what they say about single people."""

from __future__ import annotations

from pathlib import Path

import recon

RELEASES = Path(__file__).parent / "releases"


def main() -> None:
    """Print the audit of a tree and of a rule list, two shorter ones, and three certificates."""
    for name in ("compas_tree", "compas_rule_list"):
        release = recon.load(RELEASES / f"{name}.json")
        print(recon.audit(release).to_text())
    for name in ("adult_tree", "adult_rule_list"):
        release = recon.load(RELEASES / f"{name}.json")
        m = recon.measure(release)
        print(
            f"{name}: {m.rows:,} rows, 2^{m.entropy_bits:,.0f} possible training sets, Dist_G {m.dist_g:.3f}, "
            f"{m.bits_removed_per_row:.2f} bits removed per row, {m.determined_rows} rows determined"
        )
    release = recon.load(RELEASES / "compas_tree.json")
    people = [
        {"Age": "18-20", "Gender=Male": 1, "Prior-Crimes": ">5"},
        {
            "Age": "18-20",
            "Gender=Male": 0,
            "Prior-Crimes": "0",
            "Race": "Asian",
            "Current-Charge-Degree=Misdemeanor": 0,
        },
    ]
    print("\nIs somebody like this among the 7,214 people? (compas_tree)")
    for person, line in zip(people, recon.certify(release, people).to_dict("records"), strict=True):
        print(
            f"  {person}\n    {line['verdict']}: {line['min_count']} to {line['max_count']} of them, in "
            f"{100 * line['probability']:.1f} % of the possible worlds (before the release "
            f"{100 * line['probability_before']:.1f} %)"
        )


if __name__ == "__main__":
    main()
