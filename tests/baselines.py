"""A guess at rows beside three baselines at once, for tests and benches; an audit draws them one by one."""

from __future__ import annotations

from collections.abc import Sequence

from recon.release.auditing.matching import Chance, Comparison, Rows, compare


def against_baselines(
    truth: Rows,
    guess: Rows,
    totals: Sequence[int],
    population: Rows | None = None,
    repeats: int = 3,
    seed: int = 0,
) -> Comparison:
    """Return the guess's match beside three baselines, each the mean of `repeats` draws.

    `uniform rows`; `product of marginals` of the truth (which an adversary would have to know); a fresh sample
    of the same size from `population`, or, without one, what one random half of the truth shares with the other.
    The population is assumed to be other people of the same kind, or a superset of the truth: then about n²/N of the
    n rows drawn from N are true rows themselves, and the baseline is higher by them. Where it has fewer rows than
    the truth, all of it is compared with a random part of the truth of that size (like the halves, a low figure:
    smaller samples share less).
    """
    chance = Chance(truth, totals, population, repeats, seed)
    baselines = chance.baselines([compare(*made()) for made in chance.draws()])
    return Comparison(compare(truth, guess), baselines)
