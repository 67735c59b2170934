"""Certificates that one data set only fits the tables of a top area, and their check from the release alone.

A certificate holds the numbers of statements to apply in turn, each once (`solvers.tables.replay`); the statements are
made anew from the release. What it proves is about the cells that the tables of the smallest areas tell apart.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recon.queries.tables.answering import TablesAnswer, counted
from recon.queries.tables.tables import Tables
from solvers.foundation.errors import CertificateError, ContradictionError
from solvers.foundation.limits import Limits
from solvers.tables.replay import replayed
from solvers.tables.solving import Designs, Solved
from solvers.tables.steps import steps_for
from solvers.tables.sums.areas import live

KEY = "recon_tables_certificate"
KEYS = {KEY, "area", "claim", "people", "cells", "release", "steps"}
CLAIM = "one data set only over the cells that the tables of its smallest areas tell apart"
MOST_STEPS = 50_000_000


def certificate(tables: Tables, one: Solved) -> dict[str, Any] | None:
    """Return the certificate that a top area has one data set; None where propagation leaves a count open."""
    steps = steps_for(one.live)
    if steps is None:
        return None
    changes = np.diff(np.array([0, *steps], np.int64))
    signed = np.where(changes < 0, -2 * changes - 1, 2 * changes)
    packed = base64.b64encode(zlib.compress(_varints(signed.tolist()), 9)).decode()
    people, cells = int(one.low.sum()), int((one.low > 0).sum())
    return {KEY: 1, "area": one.live.top.names[0], "claim": CLAIM, "people": people, "cells": cells,
            "release": list(tables.hashes), "steps": packed}  # fmt: skip


def counted_with_proofs(tables: Tables, limits: Limits) -> tuple[TablesAnswer, dict[str, Any]]:
    """Return what is proved of every top area, and the certificates by area."""
    proofs: dict[str, Any] = {}

    def proved(one: Solved) -> None:
        if not len(one.open):
            proofs[one.live.top.names[0]] = certificate(tables, one)

    return counted(tables, limits, proved), proofs


def _varints(numbers: list[int]) -> bytes:
    out = bytearray()
    for n in numbers:
        rest = n
        while rest > 127:
            out.append(rest & 127 | 128)
            rest >>= 7
        out.append(rest)
    return bytes(out)


def _unpacked(text: Any) -> list[int]:
    """Return the steps of a certificate; `CertificateError` where they are none."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(str(text), validate=True), MOST_STEPS)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise CertificateError(f"its steps cannot be unpacked ({error})") from None
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise CertificateError("its steps are cut off, or too many")
    steps, at, n, shift = list[int](), 0, 0, 0
    for byte in data:
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            at += n // 2 if n % 2 == 0 else -(n // 2) - 1
            steps.append(at)
            n = shift = 0
        elif shift > 56:
            raise CertificateError("its steps are malformed")
    if shift:
        raise CertificateError("its steps are cut off")
    return steps


@dataclass(frozen=True)
class Checked:
    """One certificate that was checked: the top area it is about, what it claims, and why it does not hold ("")."""

    area: str
    claim: str
    error: str


def certificates_in(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every certificate about tables in a result."""
    if isinstance(data, dict):
        if KEY in data:
            yield data
            return
        for value in data.values():
            yield from certificates_in(value)
    elif isinstance(data, list):
        for value in data:
            yield from certificates_in(value)


def verified(data: Any, tables: Tables, limits: Limits) -> list[Checked]:
    """Return what the check of every certificate in a result found; those that time left out say so."""
    designs, out = Designs(tables.system), []
    place = {name: k for k, name in enumerate(tables.top_names)}
    for found in certificates_in(data):
        error = "not verified: the time was up" if limits.expired() else _error(found, tables, designs, place)
        said = f"{found.get('area')!s:.200}: {found.get('claim')!s:.80} ({found.get('people')!s:.20} people)"
        out.append(Checked(f"{found.get('area')!s:.200}", said, error))
    return out


def _error(found: Mapping[str, Any], tables: Tables, designs: Designs, place: dict[str, int]) -> str:
    try:
        if set(found) != KEYS or found[KEY] != 1 or isinstance(found[KEY], bool) or found["claim"] != CLAIM:
            raise CertificateError("it is no certificate of this format")
        if found["release"] != list(tables.hashes):
            raise CertificateError("it is about another release")
        if found["area"] not in place:
            raise CertificateError("there is no such area that lies in no other")
        top = tables.top(place[found["area"]])
        x = replayed(live(tables.system, top, designs.of(top)), _unpacked(found["steps"]))
        if (int(x.sum()), int((x > 0).sum())) != (found["people"], found["cells"]):
            raise CertificateError("it says another number of people or cells than follows")
    except (CertificateError, ContradictionError) as error:
        return str(error)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"it is malformed ({type(error).__name__})"
    return ""
