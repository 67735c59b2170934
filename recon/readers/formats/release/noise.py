"""The `noise` of a model in a release file turned into a law, and back."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from encoders.domain.values import plain
from encoders.models.ledger import PrivacyLedger, PrivacyStep
from encoders.models.models import Noise
from recon.readers.formats.release.schema import LedgerPart, NoisePart
from solvers.foundation.errors import ReleaseError
from solvers.statements.noise.laws import NoiseLaw, scale_of, truncation_of

GAUSSIAN = {"gaussian", "discrete_gaussian"}


def to_noise(part: NoisePart, place: str) -> Noise:
    """Return the law of a model's noise; `ReleaseError` for a missing or impossible number, or another law."""
    if part.decided is not None:
        message = f"the draws also decided {part.decided!r}, so the law of the published counts is another one"
        raise ReleaseError(f"{message}: release fresh draws", place=f"{place}.decided")
    if part.adjusted:
        message = "counts adjusted to add up no longer carry independent noise: give the counts before that"
        raise ReleaseError(message, place=f"{place}.adjusted")
    ledger = None if part.ledger is None else _to_ledger(part.ledger, f"{place}.ledger")
    budget = {name: getattr(part, name) for name in ("epsilon", "delta", "sensitivity", "neighbours")}
    given = {name: value for name, value in budget.items() if value is not None}
    try:
        if part.scale is not None:
            if given:
                raise ReleaseError(f"give 'scale' or {', '.join(map(repr, given))}, not both")
            bound = None if part.bound is None else _number(part.bound, "bound")
            law = NoiseLaw(part.law, _number(part.scale, "scale"), bound, part.rounded, part.clamped)
            return Noise(law, ledger=ledger)
        return replace(_from_budget(part), ledger=ledger)
    except ReleaseError as error:
        raise error.at(place=place) from None


def _to_ledger(part: LedgerPart, place: str) -> PrivacyLedger:
    """Return the ledger of a file; `ReleaseError` where its totals are not those of its entries."""
    entries = (
        PrivacyStep(e.step, e.mechanism, float(e.epsilon), float(e.delta), e.standing, e.why) for e in part.entries
    )
    found = PrivacyLedger(part.neighbours, tuple(part.assumes), tuple(entries))
    for name in ("epsilon", "delta"):
        stated, total = float(getattr(part, name)), float(getattr(found, name))
        if not math.isclose(stated, total, rel_tol=1e-9, abs_tol=1e-15):
            raise ReleaseError(f"the entries spend {name} {total:g} in all, not {stated:g}", place=f"{place}.{name}")
    if part.standing != found.standing:
        message = f"the worst entry is '{found.standing}', so the whole is not '{part.standing}'"
        raise ReleaseError(message, place=f"{place}.standing")
    return found


def _from_budget(part: NoisePart) -> Noise:
    """Return the law that ε, δ and the sensitivity make; every number that matters must be given."""
    truncated = part.law == "truncated_laplace"
    if part.bound is not None:
        raise ReleaseError("'bound' belongs to 'scale': with 'epsilon' it follows from δ")
    needed = ["epsilon", "sensitivity", "neighbours", *(["delta"] if truncated or part.law in GAUSSIAN else [])]
    missing = [name for name in needed if getattr(part, name) is None]
    if missing:
        raise ReleaseError(f"{' and '.join(map(repr, missing))} missing: give them, or the 'scale' of the noise")
    epsilon, sensitivity = _number(part.epsilon, "epsilon"), _number(part.sensitivity, "sensitivity")
    delta = _number(part.delta or 0, "delta")
    for name, value in (("epsilon", epsilon), ("sensitivity", sensitivity)):
        if value <= 0:
            raise ReleaseError(f"{name} must be above 0, not {float(value):g}")
    if (truncated or part.law in GAUSSIAN) and not 0 < delta < 1:
        raise ReleaseError(f"delta must be between 0 and 1 for {part.law} noise, not {float(delta):g}")
    if delta and not truncated and part.law not in GAUSSIAN:
        raise ReleaseError(f"{part.law} noise has delta 0, not {float(delta):g}")
    scale = scale_of(part.law, epsilon, delta, sensitivity)
    bound = truncation_of(epsilon, delta, sensitivity) if truncated else None
    law = NoiseLaw(part.law, scale, bound, part.rounded, part.clamped)
    return Noise(law, epsilon, delta, sensitivity, part.neighbours)


def _number(value: float | None, name: str) -> Fraction:
    """Return a JSON number exactly as it is written (0.1 is 1/10)."""
    if value is None or not math.isfinite(value):
        raise ReleaseError(f"{name} must be a finite number, not {value}")
    return Fraction(repr(value))


def figure(value: float, place: str) -> Fraction | int:
    """Return a noisy count exactly as it is written; `ReleaseError` where it is not finite or beyond 2^53."""
    if not math.isfinite(value) or abs(value) > 1 << 53:
        raise ReleaseError(f"the noisy count {value!r} is not between -2^53 and 2^53", place=place)
    exact = Fraction(repr(value))
    return exact.numerator if exact.denominator == 1 else exact


def noise_json(noise: Noise) -> dict[str, Any]:
    """Return the noise as it stands in a file."""
    law = noise.law
    out: dict[str, Any] = {"law": law.name}
    if noise.epsilon is None:
        out["scale"] = plain(law.scale)
        if law.bound is not None:
            out["bound"] = plain(law.bound)
    else:
        out["epsilon"] = plain(noise.epsilon)
        if noise.delta:
            out["delta"] = plain(noise.delta)
        if noise.sensitivity is not None:
            out["sensitivity"] = plain(noise.sensitivity)
        out["neighbours"] = noise.neighbours
    for name in ("rounded", "clamped"):
        if getattr(law, name):
            out[name] = True
    return out if noise.ledger is None else {**out, "ledger": noise.ledger.to_json()}
