"""Every refusal of a certificate before its proof is looked at: its format, its claim, its seal, the files it names.

Like `test_refusals` for the kernel: each place that refuses is reached by a forgery, and says its own words.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from extras import with_seal
from test_refusals import raised, unreached

import recon
from encoders.models.models import Provenance
from recon.io.files.named_files import MAX_NAME, read_regular
from recon.io.files.named_files import named_file as located
from recon.queries.certificates.certificate_format import claim_of, digest, level_of
from recon.queries.certificates.verifying import Readings, _check, open_certificate
from solvers.foundation.limits import Limits
from solvers.kernel.claims import Possible

TWO = Path(__file__).parents[1] / "examples" / "releases" / "two_trees.json"
Change = Callable[[dict], None]


@pytest.fixture(scope="module")
def release():
    return recon.load(TWO)


@pytest.fixture(scope="module")
def good(release):
    """Return a certificate that holds, as its JSON says."""
    found = recon.certify(release, [{"smoker": 1, "age": "young"}])["certificate"][0]
    return json.dumps(found)


def claim(**said):
    return lambda release, good, folder: claim_of(said, release)


def changed(**values):
    """Check a certificate with some values changed, under a new seal."""
    return lambda release, good, folder: _check(with_seal(json.loads(good) | values), Readings(release, Limits()), None)


def with_another_table(release, good, folder):
    """Check a certificate beside a table of what is known that it does not rest on."""
    beside = replace(release, beside=SimpleNamespace(to_dict=lambda: {"file": "known.csv", "sha256": "1" * 64}))
    return _check(json.loads(good), Readings(beside, Limits()), None)


def with_an_adversary(**values):
    """Check a certificate, with some values changed, beside what an adversary knows."""

    def run(release, good, folder):
        beside = replace(release, knowledge=SimpleNamespace(sha256="1" * 64))
        return _check(with_seal(json.loads(good) | values), Readings(beside, Limits()), None)

    return run


def level(**values):
    return lambda release, good, folder: level_of(json.loads(good) | values)


def world(**values):
    names = {"columns": ["smoker", "age"], "rows": [[1, "old"], [0, "old"]], "times": [2, 1]} | values
    return claim(only_world=names)


def open_one(**values):
    return lambda release, good, folder: open_certificate(json.loads(good) | values, [str(folder)], 1 << 20)


def stored(content=None, sha256=None, **values):
    """Open a certificate that names a file: its content, and what the result says of it."""

    def run(release, good, folder):
        import hashlib

        whole = json.loads(good)
        data = json.dumps(whole | (content or {})).encode() if content != "none" else b"[1]"
        (folder / "one.json").write_bytes(data)
        named = {key: whole[key] for key in ("recon_certificate", "claim", "release_sha256", "statements_sha256")}
        named |= {key: whole[key] for key in whole if key == "release_files"}
        named |= {"file": "one.json", "sha256": sha256 or hashlib.sha256(data).hexdigest()} | values
        return open_certificate(named, [str(folder)], 1 << 20)

    return run


def named_file(name):
    return lambda release, good, folder: located(name, [str(folder)])


def beside(release, good, folder):
    """Name a file outside the folder, by a link inside it."""
    (folder.parent / "secret.json").write_text("{}")
    link = folder / "link.json"
    if not link.exists():
        os.symlink(folder.parent / "secret.json", link)
    return located("link.json", [str(folder)])


def read(kind, most=99):
    def run(release, good, folder):
        (folder / "full.json").write_text("x" * 9)
        path = {"folder": folder, "missing": folder / "no.json", "device": "/dev/zero"}.get(kind, folder / "full.json")
        return read_regular(str(path), most)

    return run


def models_in_models(release, good, folder):
    """Read a proof by the leaf values of 21 models whose steps another certificate holds."""
    proof = {"kind": "regions", "statements": []}
    for _ in range(21):
        proof = {"kind": "leaf_values", "model": 0, "shared": digest([]), "last": proof}
    readings = Readings(release, Limits())
    readings.steps[digest([])] = []
    return readings.proof(proof)


def of_a_model_file(release, good, folder):
    """Check that no data set fits a release that was read from a model file."""
    origin = Provenance("LightGBM, model file", ("size",), ("no row was weighted",))
    read = replace(release, models=tuple(replace(model, origin=origin) for model in release.models))
    return _check(with_seal(json.loads(good) | {"claim": {"worlds": 0}}), Readings(read, Limits()), None)


FORGERIES = {
    "no world of a model file": ("no data set fits a model file proves nothing about it", of_a_model_file),
    "too many boosted models": ("proof.last is of more than 20 boosted models", models_in_models),
    "no claim": ("the claim is not an object", lambda release, good, folder: claim_of([], release)),
    "some worlds": ("only that there is no world", claim(worlds=1)),
    "worlds and more": (r"the claim has \['profile2', 'worlds'\] instead", claim(worlds=0, profile2={})),
    "an empty claim": ("the claim has no 'only_world'", claim()),
    "an only world and more": ("the claim has", claim(only_world={}, x=1)),
    "half an only world": ("claim.only_world has", claim(only_world={"columns": []})),
    "no lists": ("claim.only_world is not made of lists", world(times={})),
    "other attributes": ("does not have the attributes of the domain", world(columns=["age", "smoker"])),
    "a short row": ("a row of claim.only_world does not have all", world(rows=[[1, "old"], [0]])),
    "a row that is none": ("a row of claim.only_world does not", world(rows=["ab", [0, "old"]])),
    "half a row": ("claim.only_world.times is 1.5, not a whole", world(times=[1.5, 1])),
    "no profile": ("the claim's profile is not an object", claim(profile=[], at_most=0)),
    "an empty value": ("the claim's profile has an empty value", claim(profile={"age": None}, at_most=0)),
    "possibly": ("claim.possible is not true", claim(profile={"age": "old"}, possible=1)),
    "at most and at least": ("the claim has", claim(profile={"age": "old"}, at_most=1, at_least=1)),
    "at least nothing": ("claim.at_least is None", claim(profile={"age": "old"}, at_least=None)),
    "possible at most": ("the claim has", claim(profile={"age": "old"}, at_most=1, possible=True)),
    "neither": ("the claim has", claim(profile={"age": "old"})),
    "a confidence in format 1": ("of format 1 has no confidence", level(confidence=0.9)),
    "format 2 without": ("the certificate has no 'confidence'", level(recon_certificate=2)),
    "a list for a confidence": ("its confidence is not a number", level(recon_certificate=2, confidence=[])),
    "truth for a confidence": ("its confidence is not a number", level(recon_certificate=2, confidence=True)),
    "confidence above 1": (r"confidence 1.5 is not a number in \(0, 1\)", level(recon_certificate=2, confidence=1.5)),
    "a word for a confidence": (r"is not a number in", level(recon_certificate=2, confidence="most")),
    "full confidence": ("its confidence is 1: such", level(recon_certificate=2, confidence=1)),
    "confidence without noise": ("no noise is unbounded", changed(recon_certificate=2, confidence=0.9)),
    "what JSON cannot hold": (
        "what JSON cannot hold",
        lambda release, good, folder: _check(json.loads(good) | {"x": float("nan")}, Readings(release, Limits()), None),
    ),
    "a broken seal": (
        "its seal is broken",
        lambda release, good, folder: _check(json.loads(good) | {"seal": "0"}, Readings(release, Limits()), None),
    ),
    "another release": ("it is about another release", changed(release_sha256="0" * 64)),
    "other statements": ("other statements .* the same files", changed(statements_sha256="0" * 64)),
    "other statements of no file": ("another release", changed(statements_sha256="0" * 64, release_sha256=None)),
    "beside a table of what is known": ("does not rest on the table of --known", with_another_table),
    "a table of what is known": ("rests on what is known of rows by position", changed(known={"sha256": "0" * 64})),
    "an adversary's file that is not given": ("give verify that file", changed(adversary={"sha256": "0" * 64})),
    "an adversary's file too many": ("leave that out", with_an_adversary()),
    "another adversary's file": ("what another adversary knows", with_an_adversary(adversary={"sha256": "0" * 64})),
    "steps that stand nowhere": (
        "which this result does not hold",
        changed(proof={"kind": "removals", "shared": "0" * 64}),
    ),
    "other relations": ("related otherwise", changed(related={"datasets": [{"name": "march"}]})),
    "other assumptions": ("it assumes something else", changed(assumptions=["nothing"])),
    "version of another type": ("is True, not a version", open_one(recon_certificate=True)),
    "version in words": ("is '1', not a version", open_one(recon_certificate="1")),
    "version 0": ("there never was such a format", open_one(recon_certificate=0)),
    "version 3": ("it is written in format 3", open_one(recon_certificate=3)),
    "a key more": ("the certificate has", open_one(x=1)),
    "a key more beside a file": ("the certificate has", stored(x=1)),
    "another file": ("is not the one that was written", stored(sha256="0" * 64)),
    "a file of something else": ("holds no certificate", stored("none")),
    "a file with a key more": ("holds no certificate", stored({"x": 1})),
    "a file about another release": ("certifies something else", stored({"release_sha256": "0"})),
    "a file about other statements": ("certifies something else", stored({"statements_sha256": "0"})),
    "a file with another claim": ("certifies something else", stored({"claim": {"worlds": 0}})),
    "no name": ("'' is not a name of a file", named_file("")),
    "a number for a name": ("3 is not a name of a file", named_file(3)),
    "a long name": ("is not a name of a file", named_file("x" * (MAX_NAME + 1))),
    "a name that ends early": ("is not a name of a file", named_file("a\0b")),
    "a file that is not there": ("is not a regular file inside", named_file("none.json")),
    "a folder": ("is not a regular file inside", named_file(".")),
    "a device": ("is not a regular file inside", named_file("/dev/zero")),
    "a file outside": ("is not a regular file inside", named_file("../secret.json")),
    "a link to the outside": ("is not a regular file inside", beside),
    "a folder in place of a file": ("not a regular file|cannot be read", read("folder")),
    "a device in place of a file": ("a file that it names is not a regular file", read("device")),
    "a file that went": ("cannot be read: No such file", read("missing")),
    "a file too large": ("is larger than --memory allows", read("full", 8)),
}


def ready(release, good, folder):
    """Return the forgeries about a release, with files in a folder."""
    (folder / "inner").mkdir(exist_ok=True)
    return {
        name: (words, lambda forge=forge: forge(release, good, folder / "inner"))
        for name, (words, forge) in FORGERIES.items()
    }


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forgery_is_refused_by_its_own_message(name, release, good, tmp_path):
    words, forgery = ready(release, good, tmp_path)[name]
    assert re.search(words, str(raised(forgery)[0]))


def test_no_refusal_is_without_a_forgery(release, good, tmp_path):
    made = [forgery for _, forgery in ready(release, good, tmp_path).values()]
    assert not unreached((claim_of, _check, located), made)


def test_what_holds_is_accepted(release, good, tmp_path):
    found = json.loads(good)
    _check(found, Readings(release, Limits()), None)
    assert open_certificate(found, [str(tmp_path)], 1 << 20) == found
    assert stored()(release, good, tmp_path) == found
    assert level_of(found) == 1
    assert level_of(found | {"recon_certificate": 2, "confidence": "1/3"}) == Fraction(1, 3)
    assert isinstance(claim_of({"profile": {"age": "old"}, "possible": True}, release), Possible)
    assert read("full", 9)(release, good, tmp_path) == b"x" * 9
