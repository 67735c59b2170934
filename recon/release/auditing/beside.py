"""An audit for somebody who knows more: what is left for nobody, for an adversary, and how much less that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.encode.encoder import EncodedRelease
from recon.queries.answers.compared import ADVERSARY, DIFFERENCE, compared_object
from recon.queries.answers.counting import common_convention
from recon.queries.measures.figures import Measures
from recon.queries.measures.measures import measure
from recon.queries.questions.questions import certify
from recon.readers.loading.adversary import Knows, adversary_of
from solvers.foundation.displayed import escape_text
from solvers.foundation.errors import ContradictionError
from solvers.foundation.limits import Limits

if TYPE_CHECKING:
    import pandas as pd

FIGURES = {  # as JSON has them, and in words
    "log2_worlds": "possible training sets (log2)",
    "entropy_bits": "bits left",
    "bits_removed_per_row": "bits removed per row",
    "dist_g": "Dist_G",
    "people_known": "people fully known",
    "smallest_cell_possible_rows": "fewest different rows that a person can have",
    "profiles_certain": "people asked about who are certainly in the data",
    "profiles_possible": "people asked about who may be in the data",
    "profiles_impossible": "people asked about who are certainly not in the data",
}


@dataclass(frozen=True, eq=False)
class AdversaryAudit:
    """The figures of an audit for nobody and for an adversary, by the keys of `FIGURES`; None where not exact.

    `conflict`: statements that cannot hold together, where what is known contradicts the release.
    """

    file: str
    sha256: str
    convention: str
    nobody: dict[str, Any]
    adversary: dict[str, Any]
    assumptions: tuple[str, ...]
    conflict: tuple[str, ...] = ()

    @property
    def contradicts(self) -> bool:
        """Return whether what is known contradicts the release."""
        return bool(self.conflict)

    def to_json(self) -> dict[str, Any]:
        """Return the figures for nobody, with `_adversary` and `_difference` behind each."""
        both = compared_object(self.nobody, self.adversary, FIGURES)
        both.pop("assumptions" + ADVERSARY)
        return {
            "file": self.file, "sha256": self.sha256, "convention": self.convention, "figures": both,
            "assumptions": list(self.assumptions), "conflict": list(self.conflict), "sentences": self.sentences,
        }  # fmt: skip

    @property
    def sentences(self) -> list[str]:
        """Return a line per figure: nobody, this adversary, the difference."""
        if self.conflict:
            return [f"What {escape_text(self.file)} says contradicts the release: {'; '.join(self.conflict)}"]
        both, out = compared_object(self.nobody, self.adversary, FIGURES), []
        for name, words in FIGURES.items():
            ours, theirs = self.nobody.get(name), self.adversary.get(name)
            if ours is None and theirs is None:
                continue
            change = both.get(name + DIFFERENCE)
            more = "" if change is None else f", difference {change:+,.4g}"
            out.append(f"{words}: nobody {_text(ours)}, this adversary {_text(theirs)}{more}")
        return [*out, f"this adversary knows what {escape_text(self.file)} says (SHA-256 {self.sha256})"]


def _text(value: Any) -> str:
    return "not known" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def audit_beside(
    release: EncodedRelease, adversary: Knows, profiles: pd.DataFrame | None, limits: Limits, label: str | None = None,
    convention: str | None = None, nobody: Measures | None = None,
) -> AdversaryAudit:  # fmt: skip
    """Return what is left for nobody and for an adversary; `nobody`: measures that are known already.

    Raises what `Adversary.beside` raises. Cost: that of measuring a release twice, and of verdicts on the profiles.
    """
    beside = adversary_of(adversary).beside(release, label, limits)
    known = beside.knowledge
    assert known is not None
    chosen = convention or common_convention(release, beside)
    first = nobody if nobody is not None and nobody.convention == chosen else measure(release, chosen, limits)
    second = measure(beside, convention, limits) if known.people is not None else measure(beside, chosen, limits)
    head = known.file, known.sha256, chosen
    if second.status == "unsat":
        return AdversaryAudit(*head, _figures(first), {}, beside.assumptions, tuple(second.counted.conflict))
    figures = [_figures(first), _figures(second)]
    if known.weighed:
        figures[1]["log2_worlds"] = None  # that number is a weight
    if profiles is not None:
        for figure, one in zip(figures, (release, beside), strict=True):
            try:
                told = certify(one, profiles, chosen, limits, False, label)["verdict"].value_counts()
            except ContradictionError as error:
                return AdversaryAudit(*head, figures[0], {}, beside.assumptions, tuple(error.conflict))
            figure |= {f"profiles_{word}": int(told.get(word, 0)) for word in ("certain", "possible", "impossible")}
    return AdversaryAudit(*head, figures[0], figures[1], beside.assumptions)


def _figures(m: Measures) -> dict[str, Any]:
    """Return the figures of measures, as JSON has them."""
    return {
        "log2_worlds": m.counted.log2, "entropy_bits": m.entropy_bits, "bits_removed_per_row": m.bits_removed_per_row,
        "dist_g": m.dist_g, "people_known": m.determined_rows, "smallest_cell_possible_rows": m.smallest_region,
    }  # fmt: skip


def adversary_rows(found: dict[str, Any]) -> Sequence[tuple[str, Any, Any, Any]]:
    """Return figure, nobody, this adversary, difference of a document, a line per figure that has some."""
    figures = found.get("figures") or {}
    lines = ((w, figures.get(k), figures.get(k + ADVERSARY), figures.get(k + DIFFERENCE)) for k, w in FIGURES.items())
    return [line for line in lines if line[1:3] != (None, None)]
