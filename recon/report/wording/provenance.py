"""What kind of counts a release holds and where they were read from, for reports and for people who convert."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from encoders.domain.domain import GUESSED
from encoders.encode.encoder import EncodedRelease
from encoders.models.count_kinds import MEANING, kinds_of
from encoders.models.models import CountKind, Provenance
from recon.io.console.suggesting import suggestion
from recon.readers.formats.drafts.guessing import WANTING
from recon.readers.inspection.findings.severity import is_counting

if TYPE_CHECKING:
    from recon.readers.inspection.inspecting import Inspection

MODELS_SHOWN = 5
NOTES_SHOWN = 12
GRAVE = ("critical", "high", "unknown")  # what is about single training rows, or may be


def provenance_json(release: EncodedRelease) -> list[dict[str, Any]]:
    """Return one object per model: its kind, the format it was read from (null: a release file), kinds of counts."""
    return [
        {"model": m.name, "format": (m.origin and m.origin.format) or None, "counts": list(kinds_of(m))}
        for m in release.models
    ]


def provenance_lines(release: EncodedRelease) -> list[str]:
    """Return where the models were read from, what their counts are, and what their readers have to say."""
    found: dict[tuple[Provenance | None, tuple[CountKind, ...]], list[str]] = {}
    for model in release.models:
        found.setdefault((model.origin, kinds_of(model)), []).append(model.name)
    lines = []
    for (origin, kinds), names in list(found.items())[:MODELS_SHOWN]:
        what = "; ".join(f"{kind}: {MEANING[kind]}" for kind in kinds) or "none"
        source = (origin and origin.format) or "a release file"
        lines.append(f"{names[0] if len(names) == 1 else f'{len(names)} models'}, read from {source}; counts {what}")
    if len(found) > MODELS_SHOWN:
        lines.append(f"and {len(found) - MODELS_SHOWN} more kinds of models")
    return [*lines, *release.reader_notes]


def stored_lines(found: Inspection) -> list[str]:
    """Return what a file stores about single training rows, one line each, and how much else.

    Not its counts: what they say of single rows is the rest of the report.
    """
    if found.format.startswith("not inspected"):
        return [f"{found.file}: {found.format}"]
    grave = [one for one in found.findings if one.level in GRAVE and not is_counting(one.rule)]
    lines = [f"{one.level}: {one.path}: {one.follows}" for one in grave]
    counted = any(is_counting(one.rule) for one in found.findings)
    others = sum(1 for one in found.findings if one.level == "medium" and not is_counting(one.rule))
    kinds = "1 kind" if others == 1 else f"{others} kinds"
    further = ["counts of training rows: what they give away is the rest of this report"] if counted else []
    further += [f"{kinds} of other exact statistics of the training set (means, extremes, ...)"] if others else []
    remedy = ", and how to take it out" if grave else ""
    return [*lines, "; ".join([*further, f"{suggestion('inspect', [found.file])} lists everything{remedy}"])]


def assumption_lines(release: EncodedRelease) -> list[str]:
    """Return the assumptions, the notes on the domain in one line (`recon domain` and --json give them whole)."""
    notes = release.domain.notes
    kept = [a for a in release.assumptions if a not in notes]
    if release.domain.source != GUESSED or not notes:
        return kept + ([f"the domain makes {len(notes)} further assumptions, listed by --json"] if notes else [])
    more = f"; and {len(notes) - NOTES_SHOWN} more, listed by --json" if len(notes) > NOTES_SHOWN else ""
    return [*kept, "; ".join(notes[:NOTES_SHOWN]).replace(f"; {WANTING}", "; ") + more]


def doubts(release: EncodedRelease) -> list[str]:
    """Return what else may be wrong where no training set fits: the guessed domain."""
    guess = "nobody declared a domain: the guessed one may exclude the training rows (give --domain)"
    return [guess] if release.domain.source == GUESSED else []
