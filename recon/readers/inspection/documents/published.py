"""What a file publishes as a model, in the words of the module that reads it, and what a release file of recon says.

The rules of the inspection name what an object stores; a list of rules or a drawn tree is nothing but counts. What
`recon.readers.formats.detection` reads is therefore told here wherever no rule has told its counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from recon.readers.inspection.documents.leftovers import name_findings, own_texts
from recon.readers.inspection.findings.findings import Finding, Level
from recon.readers.inspection.findings.leaf_values import leaf_value_findings
from recon.readers.inspection.findings.severity import graded, is_counting, of_draft, of_models, with_sizes
from solvers.foundation.errors import Inconclusive, ReconError

if TYPE_CHECKING:
    from encoders.models.models import AnyModel, CountKind
    from recon.readers.formats.drafts.drafts import Draft

Found = tuple[str, int | None, list[Finding]]
# Rules whose findings say the counts of a model (or that it has none): nothing is added to them.
LEARNER_RULES = frozenset([
    "counts", "noisy-counts", "shares", "leaf-counts", "leaf-hessians", "tree", "histogram-tree", "figs-counts",
    "rule-counts", "bin-counts", "r-frame", "rules", "published-counts",
])  # fmt: skip
_AUDIT = "recon count and recon audit work out what follows"
_INHERENT = "inherent in the model: release it without counts, or round, suppress or noise them before"


def completed(
    rows: int | None, findings: list[Finding], data: bytes, memory: int, boosted: bool = False
) -> tuple[int | None, list[Finding]]:
    """Return the number of rows and the findings with what the file's reader says, where the rules left it open.

    The file is read a second time only then, and where it is a boosted model, whose leaf values are rated. What no
    reader reads adds nothing. The level of counts is what all of them together allow.
    """
    known = any(one.rule in LEARNER_RULES for one in findings)
    sized = all(one.smallest is not None for one in findings if is_counting(one.rule))
    if rows is not None and known and sized and not boosted:
        return rows, graded(findings)
    from recon.readers.formats.detection import read_draft

    try:
        draft = read_draft(data, memory)
    except Inconclusive:  # the time was up: what was not looked at is not told as nothing
        raise
    except ReconError:
        return rows, graded(findings)
    if draft is None:
        return rows, graded(findings)
    found = with_sizes(findings, draft) + draft_findings(draft, findings)
    rows = rows_of(draft) if rows is None else rows
    return rows, graded([*found, *(leaf_value_findings(draft, rows) if boosted else [])])


def rows_of(draft: Draft) -> int | None:
    """Return the number of training rows that a file says, None where it gives an interval or nothing."""
    return draft.rows.low if draft.rows is not None and draft.rows.exact else None


def draft_findings(draft: Draft, known: Sequence[Finding] = ()) -> list[Finding]:
    """Return one finding on the counts that a draft holds; none where it holds none, or where they are told."""
    kinds = draft.origin.counts
    if not kinds or any(one.rule in LEARNER_RULES for one in known):
        return []
    what = ", ".join([draft.origin.format, *_sizes(draft.models)])
    smallest, models = of_draft(draft)
    return [Finding(_level(kinds), "published-counts", "(the model)", what, _meaning(kinds), _INHERENT,
                    smallest=smallest, models=models)]  # fmt: skip


def release_findings(data: bytes) -> Found:
    """Return what a release file of recon publishes; `ReleaseError` with the sentence of its reader where broken."""
    from encoders.models.models import kinds_of
    from recon.readers.formats.release.parts import to_models, to_rows
    from recon.readers.formats.release.reading import parse

    part = parse(data, "")
    rows, found = to_rows(part), []
    for number, (model, stated) in enumerate(zip(to_models(part), part.models, strict=True)):
        path, kinds = f"models[{number}]", kinds_of(model)
        if stated.noise is not None:
            text = f"counts with {stated.noise.law} noise: intervals and a posterior of the true ones"
            fix = "recon posterior says what they give away"
            found.append(Finding("info", "noisy-counts", path, stated.kind, text, fix))
        else:
            text = _meaning(kinds) if kinds else "no counts are published"
            # Of another name for each kind: findings of one name are told as one.
            rule = "counts" if kinds == ("exact",) else "-".join([*kinds, "counts"])
            smallest, models = of_models([model])
            found.append(Finding(_level(kinds), rule, path, stated.kind, text, _INHERENT, smallest=smallest,
                                 models=models))  # fmt: skip
        if getattr(stated, "multiplicities", None):
            text = "how often each training row is in each tree's bag, by its position in the training file"
            place = f"{path}.multiplicities"
            found.append(Finding("high", "bags", place, stated.kind, text, "leave multiplicities out"))
    content = json.loads(data.decode("utf-8-sig"))
    found += name_findings(content, "(texts)", own_texts(content))
    return "release file", rows.low if rows is not None and rows.exact else None, found


def _level(kinds: Sequence[CountKind]) -> Level:
    """Return how grave counts of these kinds are: noisy ones and labels alone are no exact statistics."""
    return "medium" if set(kinds) - {"label", "noisy"} else "info"


def _meaning(kinds: Sequence[CountKind]) -> str:
    """Return what kinds of counts mean, and who works out what follows."""
    from encoders.models.models import MEANING

    notes = [f"{kind}{'' if kind == 'label' else ' counts'}: {MEANING[kind]}" for kind in kinds]
    return "; ".join([*notes, _AUDIT])


def _sizes(models: Sequence[AnyModel]) -> list[str]:
    """Return how many leaves, rules and statements the models have, in words; nothing where they have none."""
    words = {"node": "leaves", "tree": "leaves", "figure": "statements"}
    sizes = {"leaves": 0, "rules": 0, "statements": 0}
    for model in models:
        name = words.get(model.unit, f"{model.unit}s")
        size = sum(map(len, model.count_tables())) if name != "statements" else model.size()
        sizes[name] = sizes.get(name, 0) + size
    return [f"{size:,} {name}" for name, size in sizes.items() if size]
