"""A second checker of alignments, for tiny domains: who left and who came is tried in every way, all is made anew.

Source: docs/certificates.md, "Alignment: rows of two files". Shares no code with the project: removals are replayed as
tests/plain_removals.py does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import position_oracle
from plain_checker import Rejected, demand, has_keys, listed, whole
from plain_removals import Replay, Rows, box_of

TIMES, TRIED = 4, 8
Pair = tuple[int, int]  # the positions of a row before and after, -1: none


@dataclass(frozen=True)
class Alignments:
    """What all alignments say: who can have left and come, and the pairs that all of them share."""

    left: frozenset[int]
    came: frozenset[int]
    partners: frozenset[Pair]


@dataclass
class Versions:
    """Two releases of one forest each, over one domain; `where`: the conditions of the claim, which must find cuts."""

    releases: tuple[dict, dict]
    removed: int
    added: int
    where: tuple[dict, ...]
    replays: Iterator[Any]
    done: dict[frozenset[Pair], tuple[list[Pair], Replay, bool]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.models = tuple(
            max((m for m in one["models"] if "multiplicities" in m), key=lambda m: len(m["trees"]))
            for one in self.releases
        )
        self.n, self.m = (len(model["multiplicities"][0]) for model in self.models)

    def together(self, partners: frozenset[Pair]) -> tuple[list[Pair], Replay, bool]:
        """Return the rows of both files, what the trees of both leave of them, and whether that is a contradiction."""
        if partners in self.done:
            return self.done[partners]
        after = dict(partners)
        alone = sorted(set(range(self.m)) - set(after.values()))
        rows = [(p, after.get(p, -1)) for p in range(self.n)] + [(-1, q) for q in alone]
        bags = [
            [0 if pair[which] < 0 else bag[pair[which]] for pair in rows]
            for which, model in enumerate(self.models)
            for bag in model["multiplicities"]
        ]
        without = all(model.get("resample") == "without" for model in self.models)
        forest = {
            "kind": "forest", "trees": [tree for model in self.models for tree in model["trees"]],
            "multiplicities": bags, **({"resample": "without"} if without else {"bootstrap": True}),
        }  # fmt: skip
        release = {"recon": 1, "domain": self.releases[0]["domain"], "models": [forest]}
        replay = Replay(Rows(position_oracle.finite(release, self.where)))
        steps = next(self.replays, None)
        demand(steps is not None, "the proof ends too early")
        self.done[partners] = rows, replay, replay.run(steps)
        return self.done[partners]

    def aligned(self, partners: frozenset[Pair]) -> Alignments:
        """Return what all alignments say of the rows that are put together with these partners."""
        rows, replay, over = self.together(partners)
        demand(not over, "no rows fit both files")
        places = [[replay.places(i, k) for k in range(len(replay.rows.orders))] for i in range(len(rows))]
        before = {p: i for i, (p, _) in enumerate(rows) if p >= 0}
        after = {q: i for i, (_, q) in enumerate(rows) if q >= 0}

        def meet(p: int, q: int) -> bool:
            i, j = before[p], after[q]
            return i == j or all(a & b for a, b in zip(places[i], places[j], strict=True))

        found = []
        for gone in combinations(range(self.n), self.removed):
            for new in combinations(range(self.m), self.added):
                pairs = list(
                    zip(*(sorted(set(range(k)) - set(s)) for k, s in ((self.n, gone), (self.m, new))), strict=False)
                )
                if len(pairs) == self.n - len(gone) == self.m - len(new) and all(meet(p, q) for p, q in pairs):
                    found.append((frozenset(gone), frozenset(new), frozenset(pairs)))
        demand(bool(found), "no alignment is left")
        left, came, pairs_of_all = zip(*found, strict=True)
        return Alignments(frozenset().union(*left), frozenset().union(*came), frozenset.intersection(*pairs_of_all))


def follow(versions: Versions) -> tuple[Alignments, list[Pair], Replay, bool]:
    """Return where the replays end: the alignments, the rows as they are put together, and what is left of them."""
    every, partners, said = versions.n - versions.removed, frozenset[Pair](), None
    for _ in ("removals", "values tried as well"):
        for _ in range(TIMES):
            before, said = said, versions.aligned(partners)
            partners = said.partners
            if len(partners) == every or (before is not None and before.partners == partners):
                break
        if len(partners) == every:
            break
    assert said is not None
    if (versions.removed, versions.added) != (1, 0) or not 1 < len(said.left) <= TRIED:
        return said, *versions.together(partners)
    fitting = {}
    for gone in sorted(said.left):
        pairs = frozenset((p, p - (p > gone)) for p in range(versions.n) if p != gone)
        if not versions.together(pairs)[2]:
            fitting[gone] = pairs
    demand(bool(fitting), "each of the positions is impossible")
    partners = next(iter(fitting.values())) if len(fitting) == 1 else partners
    return Alignments(frozenset(fitting), said.came, partners), *versions.together(partners)


def check(before: dict, after: dict, numbers: Pair, certificate: dict) -> None:
    """Check a certificate of two releases of which so many rows left and came; `Rejected` where it proves nothing."""
    claim = has_keys(has_keys(certificate["claim"], {"aligned"})["aligned"], {"left", "came", "positions"})
    lines = [has_keys(x, {"position", "position_after", "where"}) for x in listed(claim["positions"])]
    replays = iter(listed(has_keys(certificate["proof"], {"kind", "replays"})["replays"]))
    where = tuple(line["where"] for line in lines)
    found, rows, replay, over = follow(Versions((before, after), *numbers, where, replays))
    demand(next(replays, None) is None, "the proof has removals that nothing asks for")
    for key, possible in (("left", found.left), ("came", found.came)):
        demand(possible <= {whole(p) for p in listed(claim[key])}, f"{key} leaves out what is possible")
    for line in lines:
        pair = whole(line["position"]), whole(line["position_after"])
        demand(pair in rows, "the positions are not known to be of one row")
        box = box_of(replay.rows, line["where"])
        demand(over or replay.within(rows.index(pair), box), "the row may be elsewhere")


__all__ = ["Rejected", "check"]
