"""What commands print for an adversary who knows more, beside what they print for nobody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from solvers.foundation.displayed import escape_text

if TYPE_CHECKING:
    import pandas as pd

    from encoders.encode.encoder import EncodedRelease
    from recon.queries.measures.figures import Measures
    from solvers.foundation.limits import Limits


@dataclass(frozen=True, eq=False)
class MeasuresBeside:
    """The measures of a release beside what an adversary knows, printed beside those for nobody."""

    release: EncodedRelease
    measures: Measures

    @property
    def _weighed(self) -> bool:
        return self.release.knowledge is not None and self.release.knowledge.weighed

    def status(self, nobody: Measures) -> str:
        """Return how both answers ended: a contradiction of either is one."""
        return "unsat" if self.measures.status == "unsat" else nobody.status

    def compared(self, nobody: dict[str, Any], digits: int, limits: Limits) -> dict[str, Any]:
        """Return the JSON of `count` with what is left for the adversary, and the certificate where nothing is."""
        from recon.queries.answers.compared import COUNTED, compared_object
        from recon.queries.certificates.issuing import contradiction_certificate
        from recon.report.wording.headline import count_json

        said = count_json(self.release, self.measures, digits)
        if self.measures.status == "unsat" and (proved := contradiction_certificate(self.release, limits)) is not None:
            said["certificate"] = proved
        if self._weighed:
            said |= {"worlds": None, "log2_worlds": None, "log2_lower": None, "log2_upper": None}  # it is a weight
        found = compared_object(nobody, said, COUNTED)
        return found | ({} if self.release.knowledge is None else {"adversary": self.release.knowledge.to_dict()})

    def lines(self, nobody: Measures) -> list[str]:
        """Return what is left for the adversary in words, and how much less that is."""
        from recon.report.wording.headline import worlds_lines

        file = "" if self.release.knowledge is None else escape_text(self.release.knowledge.file)
        head = f"for an adversary who knows what {file} says:"
        if self.measures.status == "unsat":
            clash = [f"  {source}" for source in self.measures.counted.conflict]
            return [f"{head} no world is left, it contradicts the release", *clash]
        lines = worlds_lines(self.measures)
        if self._weighed:
            lines = [line for line in lines if not line.startswith("training sets that agree")]
        return [head, *(f"  {line}" for line in lines), f"difference: {difference_text(nobody, self.measures)}"]


def difference_text(nobody: Measures, theirs: Measures) -> str:
    """Return how many bits less are left for an adversary than for nobody, in words."""
    if nobody.convention != theirs.convention or nobody.entropy_bits is None or theirs.entropy_bits is None:
        return "not given: the two are not of the same worlds, or not exact"
    return f"{theirs.entropy_bits - nobody.entropy_bits:+,.1f} bits left"


def verdicts_beside(
    beside: EncodedRelease, people: pd.DataFrame, nobody: pd.DataFrame, chosen: str | None, limits: Limits, json: bool
) -> pd.DataFrame:
    """Return verdicts with those for the adversary behind them, as JSON with the proofs of all that these claim."""
    import pandas as pd

    from recon.cli.output.printing import stored_certificates
    from recon.queries.answers.compared import ADVERSARY, VERDICTS, compared_frame
    from recon.queries.questions.line_proofs import line_proofs
    from recon.queries.questions.questions import certify

    theirs = certify(beside, people, chosen, limits)
    found = compared_frame(nobody, theirs, VERDICTS)
    if json:
        proofs = line_proofs(beside, people, theirs, limits, False)
        every = iter(stored_certificates([c for line in proofs for c in line], None, None))
        held = [[next(every) for _ in line] for line in proofs]
        own = stored_certificates(theirs["certificate"].tolist(), None, None)
        found["certificate" + ADVERSARY] = pd.Series(own, dtype=object, index=found.index)
        found["proofs" + ADVERSARY] = pd.Series(held, dtype=object, index=found.index)
        return found
    from recon.queries.certificates.certificate_format import proof_word

    kinds = ["" if c is None else f"{proof_word(c)} ({c['proof']['kind']})" for c in theirs["certificate"].tolist()]
    return found.assign(**{"certificate" + ADVERSARY: kinds})
