"""What was estimated or bounded under a learner's rule, as figures that say what they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from encoders.models.learner_facts import Learner
from recon.learner_rule.figures import Bits, bits_text, interval
from solvers.foundation.displayed import Displayed, DisplayFacts


@dataclass(frozen=True, repr=False)
class EstimatedShare(Displayed):
    """An estimate, never exact: the share of a release's worlds in which the learner could have chosen its models.

    `log2_share`: an interval of log2 of the share that holds it with probability `confidence` at least, over the draws;
    `share` the same as numbers (0 below about 1e-308), `middle` the estimate itself (-inf: never seen). `draws` per
    event, `hits` of the `events` (each (hits, draws)): one event of whole worlds, or several of single attributes.
    `exact_bits`: bounds on the part of log2 that was counted and not drawn. `random`: what is random, in words.
    `contains`: whether the set estimated contains that of the rule (a threshold not known), () or why. `kind`: what
    the figure is.
    """

    learner: Learner
    draws: int
    events: tuple[tuple[int, int], ...]
    log2_share: Bits
    middle: float
    confidence: float
    random: str
    exact_bits: Bits = (0.0, 0.0)
    contains: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    kind: Literal["estimate"] = "estimate"

    @property
    def hits(self) -> int:
        """Return the draws of all events in which the choices stood."""
        return sum(hits for hits, _ in self.events)

    @property
    def share(self) -> tuple[float, float]:
        """Return the interval of the share itself."""
        low, high = self.log2_share
        return 2.0**low if low > -1100 else 0.0, 2.0**high if high > -1100 else 0.0

    @property
    def extra_bits(self) -> Bits:
        """Return the interval of the bits that the rule removes: 0 or more."""
        return max(0.0, -self.log2_share[1]), max(0.0, -self.log2_share[0])

    def _facts(self) -> DisplayFacts:
        bits = f"{bits_text(self.extra_bits)} at confidence {self.confidence:g}"
        pairs: list[tuple[str, object]] = [("draws per event", self.draws), ("random", self.random)]
        pairs += [("counted, not drawn", bits_text((max(0.0, -self.exact_bits[1]), -self.exact_bits[0])))]
        lines = [(hits, draws) for hits, draws in self.events]

        def shown() -> Sequence[Sequence[object]]:
            return lines

        line = f"an estimate: the learner's rule removes {bits}"
        return DisplayFacts(line, pairs, ("hits", "draws"), shown, len(lines), self.assumptions, "to_json()")

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON; "is" says that they are an estimate."""
        return {
            "is": self.kind,
            "learner": asdict(self.learner),
            "draws": self.draws,
            "hits": self.hits,
            "events": [list(one) for one in self.events],
            "share": list(self.share),
            "log2_share": interval(self.log2_share),
            "estimate": self.middle if math.isfinite(self.middle) else None,
            "confidence": self.confidence,
            "random": self.random,
            "log2_counted": interval(self.exact_bits),
            "contains": list(self.contains),
            "assumptions": list(self.assumptions),
        }


@dataclass(frozen=True, repr=False)
class WorldsUpperBound(Displayed):
    """A rigorous upper bound on the worlds in which the learner could have chosen its models, from some conditions.

    `bits`: bounds on log2 of the worlds (`ordered`) without the rule; `most`: log2 of the worlds under it is at most
    this. `share`: log2 of the share of the one model's worlds that the conditions used leave, at most (None: several
    models). `columns`, `nodes`: whose conditions were used (nodes None: all).
    """

    learner: Learner
    bits: Bits
    most: float
    share: float | None
    columns: tuple[str, ...]
    nodes: tuple[int, ...] | None
    assumptions: tuple[str, ...] = ()

    @property
    def least_removed(self) -> float:
        """Return how many bits the rule removes at least, 0 where nothing follows."""
        return max(0.0, self.bits[0] - self.most)

    def _facts(self) -> DisplayFacts:
        where = f"{len(self.columns):,} columns" + ("" if self.nodes is None else f", {len(self.nodes):,} nodes")
        line = f"at most {self.most:,.3f} bits of worlds under the rule, of {bits_text(self.bits)}, from {where}"
        pairs: list[tuple[str, object]] = [("removed, at least", f"{self.least_removed:,.3f} bits")]
        return DisplayFacts(line, pairs, (), lambda: (), 0, self.assumptions, "to_json()")

    def to_json(self) -> dict[str, Any]:
        """Return the figures as an object ready for JSON; "is" says that they are a bound."""
        finite = math.isfinite(self.most)
        return {
            "is": "upper bound",
            "learner": asdict(self.learner),
            "convention": "ordered",
            "world_bits": interval(self.bits),
            "world_bits_at_most": self.most if finite else None,
            "log2_share_at_most": self.share if self.share is not None and math.isfinite(self.share) else None,
            "bits_removed_at_least": self.least_removed if math.isfinite(self.least_removed) else None,
            "columns": list(self.columns),
            "nodes": None if self.nodes is None else list(self.nodes),
            "assumptions": list(self.assumptions),
        }
