"""Findings on seeds: those that give bags away, and those that only repeat the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.readers.formats.sklearn.trees.calls import last_call
from recon.readers.formats.sklearn.trees.seeds import EnsembleBags, explain_bags
from recon.readers.inspection.findings.findings import EXAMPLES, Finding
from recon.readers.inspection.objects.traversal import GraphPlace
from recon.readers.stored.objects.things import Thing

TAKE_OUT = "set it to None (recon inspect --strip): it is read when fitting only"
# The methods of these read random_state when they predict or transform.
DRAWING = frozenset(["DummyClassifier", "IterativeImputer", "LatentDirichletAllocation", "BernoulliRBM"])
NAMES = frozenset(
    ["random_state", "_seeds", "_random_seed", "random_state_", "_random_state", "_rng", "_feature_subsample_rng"]
)
FITTING_ONLY = {"random_state", "_seeds", "_random_seed", "_feature_subsample_rng"}
MOST_SEEDS = 100_000  # of one ensemble
GENERATORS = ("numpy.random.", "random.")


@dataclass(frozen=True)
class Seeds:
    """Findings on seeds, the places that can go, the numbers of rows of the ensembles, and all places of seeds."""

    findings: list[Finding]
    places: list[GraphPlace]
    rows: list[int]
    told: list[GraphPlace]


def seed_findings(places: list[GraphPlace]) -> Seeds:
    """Return what seeds give away: the bags of every ensemble, checked against its trees; other seeds by name."""
    found: list[Finding] = []
    held: list[GraphPlace] = []
    rows: list[int] = []
    reported: set[int] = set()
    met: set[int] = set()
    for place in places:
        if isinstance(place.value, Thing) and place.value.has("estimators_") and id(place.value) not in met:
            met.add(id(place.value))
            bags = explain_bags(last_call(place.value).last)
            if bags.multiplicities is None:
                continue
            rows.append(bags.multiplicities.shape[1])
            found.append(_bag_finding(place, bags))
            mine = _seeds_of(place, places)
            held += mine
            reported.update(id(p.owner) for p in mine)
    for place in places:
        if not is_seed(place) or (id(place.owner) in reported and not place.nested):
            continue
        found.append(_other(place))
        if is_removable(place):
            held.append(place)
    return Seeds(found, held, rows, [p for p in places if is_seed(p) and _is_short(p.value)])


def is_seed(place: GraphPlace) -> bool:
    """Return whether the place is a seed or a generator that an object holds."""
    value = place.value
    if place.holder is not None:  # parameters of a search
        return str(place.step[-1]).endswith("random_state") and isinstance(value, (int, list))
    if place.nested or place.attribute not in NAMES:
        return False
    if isinstance(value, Thing):
        return value.kind.startswith(GENERATORS)
    return isinstance(value, np.ndarray) or (isinstance(value, int) and not isinstance(value, bool))


def _is_short(value: Any) -> bool:
    """Return whether a value holds no more than a seed or the state of a generator."""
    if isinstance(value, int):
        return value.bit_length() <= 64
    return isinstance(value, (Thing, np.ndarray)) and (isinstance(value, Thing) or value.nbytes <= 8 * MOST_SEEDS)


def is_removable(place: GraphPlace) -> bool:
    """Return whether the seed can be None without a change of predictions: only fitting reads it."""
    owner = place.owner
    if place.holder is not None:
        return owner is not None and owner.kind.startswith("sklearn.model_selection.")
    return (
        owner is not None
        and (place.attribute in FITTING_ONLY or (place.attribute == "_rng" and owner.class_name.startswith("Gradient")))
        and owner.class_name not in DRAWING
        and owner.kind.partition(".")[0] in {"sklearn", "imodels"}
    )


def _seeds_of(ensemble: GraphPlace, places: list[GraphPlace]) -> list[GraphPlace]:
    """Return the seeds of an ensemble and of its members."""
    members = ensemble.value.get("estimators_")
    inside = {id(ensemble.value), *(id(m) for m in members)}
    return [p for p in places if p.holder is None and is_seed(p) and id(p.owner) in inside]


def _bag_finding(place: GraphPlace, bags: EnsembleBags) -> Finding:
    """Return that an ensemble's bags are known, with an example and what the check was."""
    drawn = bags.multiplicities
    assert drawn is not None
    path = f"{place.path}.{bags.seeds}" if place.path else bags.seeds
    trees, rows = drawn.shape
    left_out = int((drawn == 0).sum(axis=1).mean())
    follows = (
        f"how often each of the {rows:,} training rows is in each of the {trees:,} bags, by its position in the "
        f"training file (on average {left_out:,} rows are left out); so the trees' counts are about known rows: "
        "recon positions says what is proved of every one"
    )
    if bags.checked:
        follows += f"; checked: {bags.why}, in all {bags.checked:,} trees"
    what = f"{trees:,} seeds" if bags.seeds != "random_state" else f"the seed of {trees:,} seeds"
    take_out = f"{TAKE_OUT}; without it nothing follows by position, unless somebody guesses the seed"
    own = bags.seeds != "random_state" and isinstance(place.value.get("random_state"), int)
    also = "; the ensemble's own random_state gives the same seeds" if own else ""
    return Finding("high", "bag-seeds", path, what, follows, take_out + also, True, _stored(place.value, bags.seeds))


def _stored(ensemble: Thing, attribute: str) -> tuple[Any, ...]:
    """Return the first seeds that an ensemble stores in the attribute that its bags follow from."""
    if attribute == "random_state":
        return (ensemble.get("random_state"),)
    held = ensemble.get("_seeds")
    if attribute == "_seeds":
        return tuple(int(v) for v in held[:EXAMPLES])
    return tuple(member.get("random_state") for member in ensemble.get("estimators_")[:EXAMPLES])


def _other(place: GraphPlace) -> Finding:
    """Return that a seed is stored which gives no bag away."""
    follows = (
        "whoever has the same rows can repeat the fit; with early stopping or subsampling it also says which rows "
        "were held out"
    )
    value = place.value
    what = f"generator {value.class_name}" if isinstance(value, Thing) else "seed"
    if isinstance(value, Thing):
        follows += "; a generator's state can be run backwards to the first draw"
    removable = is_removable(place)
    remove = TAKE_OUT if removable else "set it to None before fitting"
    values = (value,) if isinstance(value, int) else ()
    return Finding("info", "seed", place.path, what, follows, remove, removable, values)
