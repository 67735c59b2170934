"""What a check says in words: one sentence with the figure, the threshold, its source and the worst place."""

from __future__ import annotations

from recon.policies.intervals import Outcome, interval_text
from recon.policies.policy import Threshold
from recon.policies.rules import Said
from solvers.foundation.escaping import named

TITLES = {
    "smallest_group": "Smallest group",
    "smallest_cell": "Smallest number of rows of one class in a group",
    "most_pinned": "People pinned down exactly",
    "least_bits_left": "Bits left about the most exposed person",
    "mean_bits_left": "Bits left per person",
    "class_disclosure": "Rows in groups of one class only",
    "target_disclosure": "Rows whose numeric target is published exactly",
    "kinds_of_counts": "Kinds of counts published",
    "stored": "Stored training data",
    "profiles": "Verdicts on the given profiles",
}
SUBJECTS = {
    "smallest_group": "The smallest group has {found}",
    "smallest_cell": "The rarest class of a group has {found}",
    "most_pinned": "{found} are pinned down exactly",
    "least_bits_left": "About the most exposed person {found} are left",
    "mean_bits_left": "Per person {found} are left on average",
    "class_disclosure": "{found} stand in groups of one class only, so that belonging to the group tells the class",
    "target_disclosure": "{found} have their numeric target published exactly",
    "kinds_of_counts": "The release publishes {found}",
    "stored": "Beside the model, the file stores {found}",
    "profiles": "Of the given profiles: {found}",
}
ONE = {" are ": " is ", " stand ": " stands ", " have their ": " has its "}  # of one row, person or bit
REMEDY = "recon remedy FILE --policy POLICY --out OUT"
REMEDIES = {
    "smallest_group": f"Merge the groups that are too small into larger ones: {REMEDY}.",
    "smallest_cell": f"Merge groups until no class is rare in one, or publish no counts per class: {REMEDY}.",
    "most_pinned": "Publish fewer or larger groups, fewer trees, or noisy counts; recon audit --remedies tries them.",
    "least_bits_left": f"Merge the groups of the most exposed people into larger ones: {REMEDY}.",
    "mean_bits_left": "Publish fewer groups, less depth, or fewer trees; recon audit --remedies tries them.",
    "class_disclosure": f"Merge groups of one class with others, or publish no counts per class: {REMEDY}.",
    "target_disclosure": "Publish larger groups, or targets that are rounded: a group of one row publishes its target.",
    "kinds_of_counts": "Publish the model without these counts, or with noise on them.",
    "stored": "Take out what predictions do not need: recon inspect FILE --strip OUT; train without what then stays.",
    "profiles": "Publish less about these people, or train without them, and audit again.",
}
NOT_FOUND = {"not known", "not inspected", "none given"}
OPEN = "Give the audit more time, memory or the figures it lacks, then ask again: an open question is no permission."


def check_sentence(rule: str, said: Said, threshold: Threshold, at: str, counted: bool) -> str:
    """Return one sentence: what was found where, what the policy asks for, by which source.

    `at`: the confidence in words, "" where the figures are certain. `counted`: it is open, which counts as violated.
    """
    text = asked_text(rule, said)
    if at and said.found not in NOT_FOUND and said.outcome != "not applicable":
        text = f"At {at}: {text[:1].lower()}{text[1:]}"
    source = named(threshold.source, 1000)
    text += f" (source: {source})" if source else f" (set in {named(threshold.set_in)})"
    if said.outcome == "inconclusive":
        text += f"; this is open{f': {said.why}' if said.why else ''}"
        text += ", and the policy counts what is open as a violation" if counted else ""
    return text + "."


def asked_text(rule: str, said: Said) -> str:
    """Return what was found, with the worst place, beside what the policy asks for."""
    if said.outcome == "not applicable" or said.found in NOT_FOUND:
        return f"{TITLES[rule]}: {said.found}, the policy asks for {said.asked}"
    text = SUBJECTS[rule].format(found=said.found)
    if said.found.split()[-2:-1] == ["1"]:
        for many, one in ONE.items():
            text = text.replace(many, one)
    if said.places and said.outcome != "met":
        text += f" ({worst_place(said)})"
    return f"{text[:1].upper()}{text[1:]}, the policy asks for {said.asked}"


def worst_place(said: Said) -> str:
    """Return the worst place in words, and how many more there are."""
    first = said.places[0]
    where = f": {named(first['where'])}" if first["where"] else ""
    rows = f", {interval_text(first['rows'], 'row')}" if first["rows"] is not None else ""
    more = f"; {said.places_in_all - 1:,} more" if said.places_in_all > 1 else ""
    return f"{named(first['name'])}{where}{rows}{more}"


def remedy_sentence(rule: str, outcome: Outcome, said: Said) -> str:
    """Return what to do about a check in one sentence, "" where nothing is to be done."""
    if outcome in {"met", "not applicable"}:
        return ""
    return OPEN if said.outcome == "inconclusive" else REMEDIES[rule]
