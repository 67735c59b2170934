"""A kind of model that recon has never heard of, added as docs/architecture.md says, through every command.

Clusters: boxes that may overlap, each with how many rows are in it. Every command answers, or refuses naming the kind;
a rule set with the same rules publishes the same statements, and is the measure of what an answer is.
"""

import dataclasses
import importlib.machinery
import json
import sys
import types
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from extras import run

from encoders.models.models import PublishedModel, PublishedPart, RuleSet
from encoders.parts.base import Encoder
from recon.readers.formats.release import parts, reading, schema, writing

PROFILES = "a,b,y\n0,0,n\n1,,p\n2,1,p\n"
RELEASE = {
    "recon": 1,
    "domain": {
        "attributes": [{"name": "a", "values": [0, 1, 2]}, {"name": "b", "values": [0, 1]}],
        "label": {"name": "y", "values": ["n", "p"]},
    },
    "rows": 5,
}
CELLS = [{"if": {"a": 0}, "counts": [2, 0]}, {"if": {"a": {"at_least": 1}}, "counts": [1, 2]}]
COMMANDS = {
    "inspect": "inspect FILE --json",
    "convert": "convert FILE --out DIR/out.json",
    "domain": "domain FILE --out DIR/domain.json",
    "plan": "plan FILE --json",
    "count": "count FILE --json",
    "count in words": "count FILE",
    "worlds": "worlds FILE --json",
    "sample": "sample FILE --json",
    "reconstruct": "reconstruct FILE --json",
    "table": "table FILE --json",
    "certify": "certify FILE --profiles DIR/profiles.csv --json",
    "attribute": "attribute FILE --profiles DIR/people.csv --sensitive b --json",
    "bound": "bound FILE --where {} --of a --json",
    "positions": "positions FILE --json",
    "labels": "labels FILE --known-columns DIR/known.csv --json",
    "posterior": "posterior FILE --json",
    "denoise": "denoise FILE --json",
    "sweep": "sweep FILE --json",
    "audit": "audit FILE --json",
    "audit in words": "audit FILE",
    "audit with a policy": "audit FILE --policy preset:minimum-cell-10 --json",
    "audit with remedies": "audit FILE --remedies --json",
    "audit as a page": "audit FILE --out DIR/page.html",
    "audit with the truth": "audit FILE --truth DIR/truth.csv --json",
    "audit with rows": "audit FILE --data DIR/truth.csv --profiles DIR/profiles.csv --json",
    "gate": "gate --policy preset:minimum-cell-10 FILE --json",
    "remedy": "remedy FILE --policy DIR/policy.toml --out DIR/remedy.json --json",
    "register": "register DIR/register --add FILE --decision release --json",
    "export dimacs": "export FILE --to dimacs --out DIR/out.cnf",
    "export graphml": "export FILE --to graphml --out DIR/out.graphml",
    "count with a learner": "count FILE --learner greedy --json",
    "attack membership": "attack membership FILE --data DIR/truth.csv --others DIR/others.csv --json",
    "attack correlation": "attack correlation FILE --data DIR/truth.csv --json",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Clusters(PublishedModel):
    """Boxes that may overlap, each with how many rows are in it."""

    kind: ClassVar[str] = "clusters"
    unit: ClassVar[str] = "cluster"
    cells: tuple
    name: str = "clusters"
    noise: object = None
    origin: object = None

    def parts(self):
        return (PublishedPart(f"cells[{i}]", c.condition, c.support, c.name) for i, c in enumerate(self.cells))

    def mapped(self, condition, support):
        changed = [
            dataclasses.replace(c, condition=condition(c.condition), support=support(c.support)) for c in self.cells
        ]
        return dataclasses.replace(self, cells=tuple(changed))


class ClustersPart(schema.ModelPart, kw_only=True, tag_field="kind", tag="clusters"):
    """Clusters in a release file."""

    cells: list[schema.RulePart]


class ExtendedReleasePart(schema.ReleasePart):
    """A release file that may hold clusters."""

    models: list[schema.AnyModelPart | ClustersPart] = msgspec.field(default_factory=list)


def as_rules(model):
    """Return the rule set that publishes the same statements."""
    return RuleSet(model.cells, model.name)


class ClustersEncoder(Encoder):
    """Clusters say what a rule set of the same rules says."""

    def __init__(self):
        import encoders.kinds.rule_set

        self.rules = encoders.kinds.rule_set.RuleSetEncoder()

    def check(self, model, domain, place):
        self.rules.check(as_rules(model), domain, place)

    def conditions(self, model, place):
        return self.rules.conditions(as_rules(model), place)

    def total(self, model):
        return self.rules.total(as_rules(model))

    def blocks(self, model, cut, resolved, rows, place):
        return self.rules.blocks(as_rules(model), cut, resolved, rows, place)


@pytest.fixture
def clusters(monkeypatch):
    """Add the kind at the places of the list: the encoder, the schema, the reader, the writer."""
    module = types.ModuleType("encoders.kinds.clusters")
    module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
    module.ClustersEncoder = ClustersEncoder
    monkeypatch.setitem(sys.modules, module.__name__, module)
    read, write = parts._to_bare_model, writing._model_json

    def to_model(part, place, number):
        if not isinstance(part, ClustersPart):
            return read(part, place, number)
        rules = schema.RuleSetPart(rules=part.cells, name=part.name or "clusters")
        return Clusters(read(rules, place, number).rules, part.name or "clusters" + number)

    def to_json(model):
        if not isinstance(model, Clusters):
            return write(model)
        kept = write(as_rules(model))
        return {**{k: v for k, v in kept.items() if k != "rules"}, "kind": "clusters", "cells": kept["rules"]}

    monkeypatch.setattr(parts, read.__name__, to_model)
    monkeypatch.setattr(writing, write.__name__, to_json)
    monkeypatch.setattr(reading, "ReleasePart", ExtendedReleasePart)
    monkeypatch.setattr(reading, "DECODER", msgspec.json.Decoder(ExtendedReleasePart))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with both releases and the tables that commands want."""
    for name, key in (("clusters", "cells"), ("rule_set", "rules")):
        release = RELEASE | {"models": [{"kind": name, key: CELLS}]}
        (tmp_path / f"{name}.json").write_text(json.dumps(release), encoding="utf-8")
    for name, rows in (("truth", "0,0,n\n0,1,n\n1,0,n\n1,1,p\n2,0,p\n"), ("others", "0,0,p\n2,1,n\n1,1,n\n2,0,n\n")):
        (tmp_path / f"{name}.csv").write_text(f"a,b,y\n{rows}", encoding="utf-8")
    (tmp_path / "profiles.csv").write_text(PROFILES, encoding="utf-8")
    (tmp_path / "people.csv").write_text("a,y\n0,n\n1,\n2,p\n", encoding="utf-8")
    (tmp_path / "known.csv").write_text("a,b\n0,0\n0,1\n1,0\n1,1\n2,0\n", encoding="utf-8")
    (tmp_path / "policy.toml").write_text('name = "three"\nsmallest_group = 3\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_or_a_refusal_by_name(name, clusters, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    ended = []
    for kind in ("clusters", "rule_set"):
        folder_of = folder / f"of_{kind}"
        folder_of.mkdir()
        for table in (*folder.glob("*.csv"), *folder.glob("*.toml")):
            (folder_of / table.name).write_bytes(table.read_bytes())
        words = [w.replace("DIR", str(folder_of)).replace("FILE", f"{kind}.json") for w in COMMANDS[name].split()]
        ended.append(run(capsys, *words))
    (code, out, err), (usual, expected, _) = ended
    assert code in {0, 1, 3, 4, 5}, err
    refused = code == 3 and "clusters" in err.replace("clusters.json", "")
    assert refused or code == usual, err
    if not refused and name in {"count", "bound", "certify", "worlds", "attribute"}:
        assert figures(out) == figures(expected)


def figures(text):
    """Return the figures of an answer: what no name and no path is in."""
    found = json.loads(text)
    if isinstance(found, list):
        return [{k: v for k, v in line.items() if k not in {"certificate", "proofs"}} for line in found]
    return {k: v for k, v in found.items() if not isinstance(v, (dict, list, str)) and k != "seconds"}


def test_the_kind_is_unknown_without_its_registration(folder, capsys):
    code, _, err = run(capsys, "count", str(folder / "clusters.json"))
    assert code == 3
    assert "'clusters'" in err
    assert Path(folder / "clusters.json").exists()
