"""The second checker of certificates for releases of related data sets: types are derived here once more, by sentences.

A row is a raw row of the domain and the set of data sets that it is in. A model counts the rows of its data set; a tree
or list has one more region, for everybody else; numbers that relations state stand last. How many rows are of each type
is taken from the loaded release, as is where the parts of attributes begin: `allowed` lists the numbers by brute force.

Source: docs/versions.md, docs/certificates.md; which numbers of relations are statements was read in the encoder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import oracle
import plain_checker
from plain_checker import Bounds, Checker, Facts, Said
from versions_oracle import _allowed

Types = frozenset[str]


def types_of(release: dict) -> list[Types]:
    """Return the sets of data sets that a row can be in, those of the first data set before those of the second."""
    names = [one["name"] for one in release["datasets"]]
    some = [frozenset(c) for k in range(1, len(names) + 1) for c in combinations(names, k)]
    found = [kind for kind in some if _allowed(kind, release["datasets"], release.get("relations", []))]
    return sorted(found, key=lambda kind: sum(1 << i for i, name in enumerate(names) if name in kind))


def typed_domain(release: dict, kinds: list[Types]) -> dict:
    """Return the domain with the type as one more attribute, by its number, and a column per data set."""
    domain = release["domain"]
    columns = {
        f"in {one['name']}": {"attribute": "in", "in": [t for t, kind in enumerate(kinds) if one["name"] in kind]}
        for one in release["datasets"]
    }
    attribute = {"name": "in", "values": list(range(len(kinds)))}
    return {
        **domain, "attributes": [*domain["attributes"], attribute], "columns": {**domain.get("columns", {}), **columns}
    }  # fmt: skip


class TypedFacts(Facts):
    """What a release of related data sets says, over its raw rows with types; `numbers`: of rows, by type."""

    def __init__(self, release: dict, numbers: Sequence[Bounds]) -> None:
        self.kinds, self.numbers = types_of(release), list(numbers)
        self.space = oracle._Space({**release, "domain": typed_domain(release, self.kinds)})
        self.rows = self.space.rows
        self.place = self.space.position["in"]
        self.statements: list[Said] = []
        self.blocks: list[Any] = []
        models = [(m["dataset"], {key: v for key, v in m.items() if key != "dataset"}) for m in release["models"]]
        self.stated = self.numbers_stated(release, models)
        for name, model in models:
            for each in oracle._trees(model) if model["kind"] == "forest" else [model]:
                self.add_model(each, name)
        self.add_relations()
        self.everybody = len(self.statements)
        self.least, self.most = self.between(range(len(self.kinds)))
        self.statements.append(Said((1,) * len(self.rows), self.least, self.most))

    def within(self, name: str) -> list[int]:
        """Return the types of the rows of a data set."""
        return [t for t, kind in enumerate(self.kinds) if name in kind]

    def numbers_stated(self, release: dict, models: list[tuple[str, dict]]) -> list[tuple[list[int], Bounds]]:
        """Return the numbers of rows that the file states, with the types that they are of."""
        out = []
        for one in release["datasets"]:
            own = self.within(one["name"])
            if "rows" in one:
                out.append((own, _ends(one["rows"])))
            every = ({"domain": release["domain"], "models": [m]} for name, m in models if name == one["name"])
            totals = [plain_checker.number_of_rows(single) for single in every]
            if totals:
                highs = [high for _, high in totals if high is not None]
                out.append((own, (max(low for low, _ in totals), min(highs, default=None))))
            if "from" in one and "without" not in one:
                before = self.within(one["from"])
                out.append(([t for t in before if t not in own], _ends(one.get("removed"))))
                out.append(([t for t in own if t not in before], _ends(one.get("added"))))
        return out

    def between(self, types: Any) -> Bounds:
        """Return between how many rows are of some types."""
        some = [self.numbers[t] for t in types]
        low, highs = sum(a for a, _ in some), [b for _, b in some]
        high = None if None in highs else sum(b for b in highs if b is not None)
        for own, (least, most) in self.stated:
            if sorted(own) == sorted(types):
                low = max(low, least)
                high = min((h for h in (high, most) if h is not None), default=None)
        return low, high

    def add_model(self, model: dict, name: str) -> None:
        """Add the statements of a model about the rows of a data set, and the region of all others."""
        own = self.within(name)
        others = [t for t in range(len(self.kinds)) if t not in own]
        here = [row[self.place] in own for row in self.rows]
        self.least, self.most = self.between(own)
        first, block = len(self.statements), len(self.blocks)
        {"table": self.add_table, "rule_set": self.add_rule_set}.get(model["kind"], self.add_partition)(model)
        for s in range(first, len(self.statements)):
            self.statements[s] = _cut(self.statements[s], here)
        if others and len(self.blocks) > block and self.blocks[-1].kind == "partition":
            self.blocks[-1].alternatives[0].append(len(self.statements))
            self.statements.append(Said(tuple(int(not h) for h in here), *self.between(others)))
        for one in self.blocks[block:]:
            one.dataset = own

    def add_relations(self) -> None:
        """Add the numbers that relations state and that are no counts, nor sums of counts, of a tree or list."""
        said: list[list[int]] = [[]]
        for block in self.blocks:
            if block.kind == "partition":
                others = [t for t in range(len(self.kinds)) if t not in block.dataset]
                counts = block.numbers[:-1] if others else block.numbers
                said.append(others)
                if all(self.statements[s].low == self.statements[s].high for s in counts):
                    said.append(block.dataset)
        found = []
        for types, _ in self.stated:
            if types not in said:
                said.append(types)
                found.append(Said(tuple(int(row[self.place] in types) for row in self.rows), *self.between(types)))
        if found:
            self.add("loose", [found])


def _ends(given: Any) -> Bounds:
    if given is None:
        return 0, None
    if isinstance(given, dict):
        return given.get("at_least", 0), given.get("at_most")
    return given, given


def _cut(said: Said, here: Sequence[bool]) -> Said:
    """Return a statement about some rows only."""
    coefs = tuple(a if h else 0 for a, h in zip(said.coefs, here, strict=True))
    within = tuple(w and h for w, h in zip(said.within, here, strict=True)) if said.within else ()
    marks = tuple(m if h else None for m, h in zip(said.marks, here, strict=True)) if said.marks else ()
    return dataclasses.replace(said, coefs=coefs, within=within, marks=marks)


class TypedChecker(Checker):
    """Checks certificates about one release of related data sets; `loaded`: the release that recon read."""

    def __init__(self, release: dict, loaded: Any) -> None:
        typed = loaded.typed
        self.facts = TypedFacts(release, [(one.low, one.high) for one in typed.numbers])
        starts = plain_checker.starts_of(loaded)
        place = self.facts.place
        self.starts = [list(range(len(self.facts.kinds))) if k == place else s for k, s in enumerate(starts)]


def contained(facts: TypedFacts, numbers: Sequence[Sequence[int]]) -> bool:
    """Return whether the loaded numbers of rows by type hold all vectors of numbers that the statements allow."""
    for some in numbers:
        sums = ((sum(some[t] for t in types), ends) for types, ends in facts.stated)
        if all(low <= n and (high is None or n <= high) for n, (low, high) in sums) and not all(
            low <= n and (high is None or n <= high) for n, (low, high) in zip(some, facts.numbers, strict=True)
        ):
            return False
    return True
