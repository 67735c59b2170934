"""The report of a membership attack: guesses and certificates about the same rows, in sections of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from recon.attacks.attacking.membership import ALWAYS, Certified, Judged, MembershipAttack
from recon.attacks.evaluation import Evaluation, verdict
from recon.report.page.blocks import PagePart, section_parts
from recon.report.wording.headline import (
    DIGITS,
    PartReport,
    assumption_lines,
    finite,
    provenance_json,
    provenance_lines,
)
from solvers.foundation.exact import level_text

DIFFERENCE = (
    "A guess has error rates: they are measured here because the training rows are at hand, hold for rows like these "
    "on average, and say nothing about one person. A certificate has none: the person it is about is in the training "
    "set, or is not, as long as what it assumes holds; it is silent about all others."
)
RATES = ("precision", "recall", "f1", "accuracy", "fpr")


@dataclass(frozen=True, eq=False)
class MembershipReport(PartReport):
    """A finished membership attack; `to_json`, `to_markdown`, `to_html` and `to_text` show the same figures."""

    found: MembershipAttack

    @property
    def about(self) -> str:
        """Return the file of the release."""
        return self.found.release.file

    @property
    def status(self) -> str:
        """Return "exact" where everything was done, "bounds" where limits left something open."""
        return self.found.status

    @property
    def title(self) -> str:
        """Return the report's title."""
        return f"Membership attacks on {self.about or 'a release'}"

    def to_dict(self, digits: int = DIGITS) -> dict[str, Any]:
        """Return the report as an object ready for JSON; there are no long numbers in it."""
        found = self.found
        return {
            "attack": 1, "kind": "membership", "file": self.about, "read_from": provenance_json(found.release),
            "status": self.status, "seed": found.seed, "confidence": found.confidence, "folds": found.folds,
            "black_box": {"model": found.model, "format": found.form or None, "accuracy_members": found.accuracy[0],
                          "accuracy_others": found.accuracy[1]},
            "rows": {
                "members": found.members, "others": found.others, "asked_members": found.asked[0],
                "asked_others": found.asked[1], "shadow": found.shadow_rows, "distinct": found.duplicates.distinct,
                "members_both": found.duplicates.members_both, "others_both": found.duplicates.others_both,
                "best_auc": found.duplicates.best_auc, "best_advantage": found.duplicates.best_advantage,
            },
            "statistical": [_judged_json(one) for one in found.statistical],
            "means": [
                {"attack": name, "shadow": shadow, "rows": rows,
                 "figures": {k: [finite(s.mean), finite(s.low), finite(s.high)] for k, s in figures.items()}}
                for name, shadow, rows, figures in found.averaged
            ],
            "not_run": [{"attack": one.attack, "shadow": one.shadow, "refused": one.refused, "why": one.why}
                        for one in found.not_run],
            "certified": None if found.certified is None else _certified_json(found.certified),
            "not_certified": found.uncertified or None, "difference": DIFFERENCE, "notes": list(found.notes),
            "assumptions": list(found.assumptions),
        }  # fmt: skip

    def parts(self) -> list[PagePart]:
        """Return the report's parts: what is guessed, what is proved."""
        found = self.found
        release = found.release
        own = [a for a in found.assumptions if a not in release.assumptions]
        sections = [
            ("What was attacked, and about whom it was asked", list(self.about_rows())),
            ("STATISTICAL: what attacks guess, with error rates", list(self.guesses())),
            ("CERTIFIED: what the release proves, about the same rows", list(self.proofs())),
            ("What the difference is", [DIFFERENCE]),
            ("What the counts are", provenance_lines(release)),
            ("This assumes", [*own, *assumption_lines(release)]),
        ]
        return section_parts(sections)

    def about_rows(self) -> Iterator[str]:
        """Yield what the black box is, and which rows it was asked about."""
        found = self.found
        form = found.form and f" ({found.form})"
        yield f"black box: the {found.model}{form} as recon read it; nothing of the file was run"
        yield (f"it is right about {_share(found.accuracy[0])} of the training rows asked about and "
               f"{_share(found.accuracy[1])} of the others")  # fmt: skip
        yield (f"asked about: {found.asked[0]:,} of {found.members:,} training rows, {found.asked[1]:,} of "
               f"{found.others:,} others; the attacker has {found.shadow_rows:,} other rows"
               f"{' in each fold' if found.folds > 1 else ''}")  # fmt: skip
        yield found.duplicates.sentence()
        yield from found.notes

    def guesses(self) -> Iterator[str]:
        """Yield what every attack is worth, and which were not run."""
        found = self.found
        if found.folds > 1:
            yield from _folded(found)
        else:
            for one in found.statistical:
                if one.rows == "all":
                    yield from self.guess(one)
        refused: dict[tuple[str, str], list[str]] = {}
        for not_run in found.not_run:
            how = "does not apply" if not_run.refused else "was not finished"
            refused.setdefault((f"{not_run.attack} {how}", not_run.why), []).append(not_run.shadow)
        for (head, why), shadows in refused.items():
            yield f"{head} (shadow data {', '.join(dict.fromkeys(shadows))}): {why}"

    def guess(self, one: Judged) -> Iterator[str]:
        """Yield what one attack is worth: scores, decisions, the same on other rows."""
        of = one.evaluation
        if one.attack == ALWAYS:
            yield (f"always in (needs no knowledge): precision {_share(of.precision)}, recall 100 %, FPR 100 %, "
                   "advantage 0, AUC 0.5")  # fmt: skip
            return
        yield (f"{one.attack}, shadow data {one.shadow}: AUC {of.auc:.3f} ({of.auc_low:.3f} to {of.auc_high:.3f}), "
               f"{verdict(of, 0.0, 0.0)}")  # fmt: skip
        yield (f"  TPR at FPR 0.1 %: {_interval(of.tpr_at_001, of.tpr_at_001_low, of.tpr_at_001_high)}; at FPR 1 %: "
               f"{_interval(of.tpr_at_01, of.tpr_at_01_low, of.tpr_at_01_high)}")  # fmt: skip
        yield f"  decisions: {_decisions(of)}"
        same = [o for o in self.found.statistical if (o.attack, o.shadow) == (one.attack, one.shadow)]
        for other in same:
            on = other.evaluation
            if other.rows == "balanced":
                yield (f"  as many of both ({on.members:,}): precision {_precision(on)}, F1 {on.f1:.3f}, accuracy "
                       f"{_share(on.accuracy)}")  # fmt: skip
            elif other.rows == "once":
                yield (f"  rows that occur once ({on.members:,} and {on.others:,}): AUC {on.auc:.3f} "
                       f"({on.auc_low:.3f} to {on.auc_high:.3f}), advantage {on.advantage:+.3f}")  # fmt: skip
        if one.note:
            yield f"  {one.note}"

    def proofs(self) -> Iterator[str]:
        """Yield what is proved of the same rows, and whether it is right."""
        found = self.found.certified
        if found is None:
            yield f"nothing was certified: {self.found.uncertified}"
            return
        at = "" if found.confidence == 1 else f", at confidence {level_text(found.confidence)} over the noise"
        yield (f"proved to be in the training set{at}: {found.members_in:,} of {found.members:,} training rows, "
               f"{_interval(found.tpr, found.tpr_low, found.tpr_high)}: the TPR at FPR 0")  # fmt: skip
        yield f"proved not to be in it{at}: {found.others_out:,} of {found.others:,} others"
        yield (f"left open: {found.open_rows:,} of {found.members + found.others:,} rows; settled: "
               f"{_share(found.coverage)}")  # fmt: skip
        if found.unknown:
            yield f"  {found.unknown:,} of them because limits ended the work (--time)"
        if found.outside:
            yield f"outside the domain, so that nothing was asked: {found.outside:,} rows (--domain declares another)"
        if found.both:
            yield f"others whose like is in the training set, of which that may be proved rightly: {found.both:,}"
        if found.certificates:
            yield f"verdicts on distinct rows with a certificate, re-checked: {found.certificates:,} (recon certify)"
        yield from _error_lines(found)


def _error_lines(found: Certified) -> Iterator[str]:
    """Yield how many verdicts were wrong, and what that means."""
    if found.broken is None:
        world = "the rows leave attributes of the domain open: whether they are a possible world was not looked at"
    elif found.broken:
        world = f"the training rows given contradict the release: {found.broken[0]}"
        world += f", and {len(found.broken) - 1:,} more statements" if len(found.broken) > 1 else ""
    else:
        world = "the training rows given are a possible world of the release"
    if not found.errors:
        yield f"wrong verdicts: 0; {world}"
        return
    why = "they are not (all) the rows it was made from, so that what is proved of those is no error of the proof"
    if found.broken is not None and not found.broken:
        why = "at a confidence below 1 that may be" if found.confidence < 1 else "which must not be: please report it"
    yield f"verdicts that differ from what is called a training row: {found.errors:,}; {world}: {why}"


def _folded(found: MembershipAttack) -> Iterator[str]:
    """Yield the means over folds with Student's intervals; of rates at low FPR the means of Clopper's and Pearson's."""
    for name, shadow, rows, figures in found.averaged:
        if name == ALWAYS:
            yield (f"always in (needs no knowledge): precision {_share(figures['precision'].mean)}, recall 100 %, "
                   "FPR 100 %, advantage 0, AUC 0.5")  # fmt: skip
        elif rows == "all":
            yield f"{name}, shadow data {shadow}, means over {found.folds} folds: AUC {figures['auc']}"
            strict, loose = (
                _interval(*(figures[f"{key}{end}"].mean for end in ("", "_low", "_high")))
                for key in ("tpr_at_001", "tpr_at_01")
            )
            yield f"  TPR at FPR 0.1 %: {strict}; at FPR 1 %: {loose} (of one fold, in the mean)"
            shown = ("advantage", "recall", "fpr", "precision", "f1", "accuracy")
            yield f"  {'; '.join(f'{_label(k)} {figures[k]}' for k in shown)}"
        elif rows == "balanced":
            yield (
                f"  as many of both: {', '.join(f'{_label(k)} {figures[k]}' for k in ('precision', 'f1', 'accuracy'))}"
            )
        else:
            yield f"  rows that occur once: AUC {figures['auc']}, advantage {figures['advantage']}"


def _decisions(of: Evaluation) -> str:
    """Return the rates of the decisions in words."""
    return (f"recall {_share(of.recall)}, FPR {_share(of.fpr)}, advantage {of.advantage:+.3f}; precision "
            f"{_precision(of)}, F1 {of.f1:.3f}, accuracy {_share(of.accuracy)}")  # fmt: skip


def _precision(of: Evaluation) -> str:
    """Return the precision in percent; none where nobody is called a member."""
    return "not defined (nobody is called a member)" if isnan(of.precision) else _share(of.precision)


def _label(name: str) -> str:
    """Return what a figure is called."""
    return {"fpr": "FPR", "f1": "F1"}.get(name, name)


def _percent(x: float) -> str:
    """Return a share in percent; what is not quite 0 or 1 is not rounded to it where two digits tell."""
    text = f"{100 * x:.1f}"
    return f"{100 * x:.2f}" if (text == "100.0" and x < 1) or (text == "0.0" and x > 0) else text


def _share(x: float) -> str:
    """Return a share in percent, with the sign."""
    return f"{_percent(x)} %"


def _interval(x: float, low: float, high: float) -> str:
    """Return a share with its interval in percent."""
    return f"{_share(x)} ({_percent(low)} to {_percent(high)})"


def _judged_json(one: Judged) -> dict[str, Any]:
    """Return one line of the statistical figures."""
    figures = {k: finite(v) if isinstance(v, float) else v for k, v in one.evaluation.row().items()}
    return {"attack": one.attack, "shadow": one.shadow, "rows": one.rows, "fold": one.fold, **figures,
            "note": one.note or None}  # fmt: skip


def _certified_json(found: Certified) -> dict[str, Any]:
    """Return what is proved, as an object."""
    return {
        "members": found.members, "others": found.others, "distinct": found.distinct,
        "members_proved_in": found.members_in, "others_proved_out": found.others_out, "open": found.open_rows,
        "unknown": found.unknown, "outside": found.outside, "others_in_training_set": found.both,
        "coverage": found.coverage, "errors": found.errors, "tpr_at_fpr_0": found.tpr,
        "tpr_at_fpr_0_interval": [found.tpr_low, found.tpr_high], "confidence": found.confidence,
        "certificates": found.certificates,
        "data_is_a_world": None if found.broken is None else not found.broken,
        "contradictions": [] if found.broken is None else list(found.broken[:100]), "notes": list(found.notes),
        "assumptions": list(found.assumptions),
    }  # fmt: skip
