"""The privacy ledger of a learner: what every step spent, and whether a proof stands behind it.

Sequential composition (Dwork and Roth, "The Algorithmic Foundations of Differential Privacy", 2014, Theorem 3.16):
the epsilons and deltas of steps that see the same rows add up. A sum is worth as much as its weakest entry.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from math import fsum
from typing import Any, Literal, get_args

from solvers.statements.noise.laws import Neighbours

Standing = Literal["guaranteed", "claimed", "none"]
ORDER: tuple[Standing, ...] = get_args(Standing)  # from the best to the worst


@dataclass(frozen=True, slots=True)
class PrivacyStep:
    """One step: its mechanism, what it spent, and why that holds (proof or source) or what is wrong with it.

    `standing`: "guaranteed" where a proof covers the code as it runs; "claimed" where a paper says so, or where it
    holds under a condition that the entry names; "none" where the step is not private at all.
    """

    step: str
    mechanism: str
    epsilon: float
    delta: float
    standing: Standing
    why: str


@dataclass(frozen=True)
class PrivacyLedger:
    """All steps of one fit; `neighbours` says which datasets are distinguished, `assumes` what is taken as public."""

    neighbours: Neighbours
    assumes: tuple[str, ...]
    entries: tuple[PrivacyStep, ...]

    @property
    def epsilon(self) -> float:
        """Return the sum of the epsilons."""
        return fsum(e.epsilon for e in self.entries)

    @property
    def delta(self) -> float:
        """Return the sum of the deltas."""
        return fsum(e.delta for e in self.entries)

    @property
    def standing(self) -> Standing:
        """Return the worst standing of an entry ("guaranteed" without entries: nothing was released)."""
        return max((e.standing for e in self.entries), key=ORDER.index, default="guaranteed")

    def with_public(self, public: Iterable[str]) -> PrivacyLedger:
        """Return the ledger with more that is taken as public: what was written down without spending anything."""
        return replace(self, assumes=(*self.assumes, *public))

    def lines(self) -> list[str]:
        """Return a table as text: a header, a line per entry, the total, the neighbours, a line per assumption."""
        rows = [("step", "mechanism", "epsilon", "delta", "standing", "why")]
        rows += [(e.step, e.mechanism, f"{e.epsilon:.6g}", f"{e.delta:.3g}", e.standing, e.why) for e in self.entries]
        rows.append(("total", "", f"{self.epsilon:.6g}", f"{self.delta:.3g}", self.standing, ""))
        wide = [max(len(row[k]) for row in rows) for k in range(5)]
        table = ["  ".join([*(c.ljust(w) for c, w in zip(row, wide, strict=False)), row[5]]).rstrip() for row in rows]
        return [*table, f"neighbours: {self.neighbours}", *(f"assumed: {a}" for a in self.assumes)]

    def to_json(self) -> dict[str, Any]:
        """Return plain values for a JSON file: neighbours, assumes, epsilon, delta, standing, entries."""
        return {
            "neighbours": self.neighbours,
            "assumes": list(self.assumes),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "standing": self.standing,
            "entries": [asdict(e) for e in self.entries],
        }
