"""Names that a library changed on their way into a model, found again: "mean radius" is LightGBM's "mean_radius".

LightGBM turns spaces into underscores, R every sign into a dot; XGBoost refuses brackets and <, so that people take
them out. Names are alike where only such signs differ, and a pair counts where it is the only one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace

from encoders.domain.domain import Domain
from recon.readers.formats.drafts.drafts import Draft

SHOWN = 5


def loose(name: str) -> str:
    """Return the name with every run of other signs than letters and digits as one underscore, none at its ends."""
    return re.sub(r"[\W_]+", "_", name).strip("_")


def alike(wanted: Iterable[str], known: Collection[str]) -> dict[str, str]:
    """Return, per wanted name that is not known, the one name that only differs in signs and that nobody else wants.

    A name that is known under itself is left alone, and so are names of which several are alike.
    """
    asked = list(dict.fromkeys(wanted))
    left = [name for name in asked if name not in known]
    free = [name for name in known if name not in set(asked)]
    of_left, of_free = Counter(map(loose, left)), Counter(map(loose, free))
    place = {loose(name): name for name in free}
    return {
        name: place[key] for name in left if (key := loose(name)) and of_left[key] == 1 and of_free.get(key, 0) == 1
    }


def matching_notes(found: dict[str, str], who: str, what: str) -> list[str]:
    """Return a sentence on names that were matched, [] for none."""
    if not found:
        return []
    pairs = ", ".join(f"'{a}' as '{b}'" for a, b in list(found.items())[:SHOWN])
    more = f", and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return [f"{who} were matched with {what} whose names differ in signs only: {pairs}{more}"]


def with_own_names(draft: Draft, domain: Domain) -> tuple[Draft, Domain]:
    """Return the draft with features called as in the domain where a library changed their names; a note says so."""
    if not draft.named:
        return draft, domain
    label = () if domain.label is None else (domain.label.name,)
    known = [name for name in (*domain.place, *domain.columns) if name not in label]
    found = alike((f.attribute for f in draft.features), known)
    if not found:
        return draft, domain
    features = tuple(replace(f, attribute=found.get(f.attribute, f.attribute)) for f in draft.features)
    notes = matching_notes(found, "features of the model", "attributes of the domain")
    return replace(draft, features=features), replace(domain, notes=(*domain.notes, *notes))
