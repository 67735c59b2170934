"""Sampling rule lists: perfectly from an enumerated law, or by Metropolis-Hastings, with convergence diagnostics.

Source of the moves: Letham et al. 2015 and Belardo 2018 (swap, add, delete). The proposal ratios are the full ones: the
thesis leaves the probability of the chosen action out, which is right only if impossible moves stay put, as here.
Diagnostics: Gelman et al., "Bayesian Data Analysis", 3rd edition, 2013, section 11.4 (split R-hat), and Geyer,
"Practical Markov chain Monte Carlo", Statistical Science 7(4), 1992 (initial monotone sequence).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recon.learners.rule_lists.brl_posterior import Chosen, Enumerated, RuleListLaw, RuleListPrior, Scores
from solvers.statements.noise.sampling import Randomness

MANTISSA = 60  # bits of a weight: more than a double has, so nothing of it is lost
FLOOR = 4096  # bits below the heaviest list at which weights end: none is ever rounded to 0


@dataclass(frozen=True, eq=False)
class RuleListChain:
    """One chain's lists after each step, their log weights, and the share of proposals that were accepted."""

    lists: list[Chosen]
    log_weights: NDArray[np.float64]
    accepted: float


def perfect_sample(law: Enumerated, randomness: Randomness) -> Chosen:
    """Return one list drawn from an enumerated law, by an exact integer draw over integer weights.

    Every list keeps a positive weight, right to about 1e-12 of itself: drawing by floating point would round unlikely
    lists to probability 0, and a list that one table can give and its neighbour cannot gives the row away.
    """
    limits = list(accumulate(_integer_weights(law.log_weights)))
    return law.lists[bisect_right(limits, randomness.below(limits[-1]))]


def _integer_weights(log_weights: NDArray[np.float64]) -> list[int]:
    """Return integers proportional to exp(log weight)."""
    top, found = float(log_weights.max()), []
    for log in log_weights:
        whole, part = divmod((float(log) - top) / math.log(2), 1.0)
        shift = max(int(whole), -FLOOR) + FLOOR
        found.append(int(2.0**part * 2.0**MANTISSA) << shift)
    return found


def run_chain(scores: Scores, law: RuleListLaw, start: Chosen, steps: int, randomness: Randomness) -> RuleListChain:
    """Return a Metropolis-Hastings chain. Cost per new list: rules x rows / 64 machine words; known lists: a look-up.

    Each step swaps two rules, adds or deletes one, each with probability 1/3, and stays where that is impossible.
    """
    state, weight = start, scores.log_weight(start, law)
    lists, weights, accepted = [], [], 0
    for _ in range(steps):
        proposal, log_ratio = _propose(state, scores.prior, randomness)
        if proposal is not None:
            new = scores.log_weight(proposal, law)
            gain = new - weight + log_ratio
            if gain >= 0 or randomness.uniform() < math.exp(gain):
                state, weight = proposal, new
                accepted += 1
        lists.append(state)
        weights.append(weight)
    return RuleListChain(lists, np.array(weights), accepted / max(1, steps))


def _propose(state: Chosen, prior: RuleListPrior, randomness: Randomness) -> tuple[Chosen | None, float]:
    """Return a neighbouring list (None: impossible), and the log of the backward over the forward probability.

    Adding picks one of A - m unused antecedents and one of m + 1 places, deleting one of m + 1 rules: the m + 1 cancel.
    """
    m, antecedents = len(state), len(prior.sizes)
    action = int(randomness.uniform() * 3)
    if action == 0:
        if m < 2:
            return None, 0.0
        i, j = int(randomness.uniform() * m), int(randomness.uniform() * (m - 1))
        j += j >= i
        swapped = list(state)
        swapped[i], swapped[j] = swapped[j], swapped[i]
        return tuple(swapped), 0.0
    if action == 1:
        if m >= prior.longest:
            return None, 0.0
        one = int(randomness.uniform() * (antecedents - m))
        for used in sorted(state):  # the one-th unused antecedent
            one += used <= one
        place = int(randomness.uniform() * (m + 1))
        return (*state[:place], one, *state[place:]), math.log(antecedents - m)
    if not m:
        return None, 0.0
    place = int(randomness.uniform() * m)
    return (*state[:place], *state[place + 1 :]), -math.log(antecedents - m + 1)


def draw_prior(prior: RuleListPrior, randomness: Randomness) -> Chosen:
    """Return one list drawn from the prior: a start of a chain that owes nothing to the data."""
    lengths = [prior.log_length(m) for m in range(prior.longest + 1)]
    left, chosen = list(range(len(prior.sizes))), []
    for _ in range(randomness.choice_log_weights(lengths)):
        held = sorted({prior.sizes[i] for i in left})
        size = held[randomness.choice_log_weights([k * math.log(prior.width) - math.lgamma(k + 1) for k in held])]
        those = [i for i in left if prior.sizes[i] == size]
        one = those[int(randomness.uniform() * len(those))]
        left.remove(one)
        chosen.append(one)
    return tuple(chosen)


def _split_chains(series: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return the second halves of some chains, each cut in two: (2 chains, length)."""
    quarter = min(len(one) for one in series) // 4
    halves = [one[len(one) - 2 * quarter :] for one in series]
    return np.array([part for half in halves for part in (half[:quarter], half[quarter:])])


def split_r_hat(series: Sequence[NDArray[np.float64]]) -> float | None:
    """Return split R-hat of the chains' second halves; None where it is undefined (too short, or all stand apart)."""
    parts = _split_chains(series)
    n = parts.shape[1]
    if n < 2:
        return None
    within = float(parts.var(axis=1, ddof=1).mean())
    between = float(parts.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else None
    return math.sqrt((n - 1) / n + between / within)


def effective_size(series: Sequence[NDArray[np.float64]]) -> float | None:
    """Return the effective number of draws in the chains' second halves, None where R-hat is undefined too."""
    parts = _split_chains(series)
    n = parts.shape[1]
    if n < 4 or not (within := float(parts.var(axis=1, ddof=1).mean())):
        return None
    total = within * (n - 1) / n + float(parts.mean(axis=1).var(ddof=1))
    centred = parts - parts.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, 2 * n, axis=1)[:, :n].mean(axis=0) / n
    correlation = 1 - (within * (n - 1) / n - covariance) / total
    correlation[0] = 1.0
    time, least = -1.0, math.inf
    for t in range(0, n - 1, 2):  # sums of neighbouring lags: positive and falling for a reversible chain
        pair = float(correlation[t] + correlation[t + 1])
        if pair <= 0:
            break
        least = min(least, pair)
        time += 2 * least
    return parts.size / max(time, 1 / math.log10(max(10, parts.size)))


def diagnose(chains: Sequence[RuleListChain]) -> dict[str, Any]:
    """Return how the chains mixed: split R-hat and effective size of the log weight and the length, acceptance."""
    series = {
        "log_weight": [chain.log_weights for chain in chains],
        "length": [np.array([len(one) for one in chain.lists], dtype=float) for chain in chains],
    }
    return {
        "method": "metropolis_hastings",
        "chains": len(chains),
        "steps": len(chains[0].lists),
        "acceptance": sum(chain.accepted for chain in chains) / len(chains),
        "r_hat": {name: split_r_hat(values) for name, values in series.items()},
        "effective_size": {name: effective_size(values) for name, values in series.items()},
    }


def point_list(
    lists: Sequence[Chosen], log_weights: NDArray[np.float64], share: NDArray[np.float64], sizes: Sequence[int]
) -> Chosen:
    """Return Letham et al.'s BRL-point: the most probable list whose length and mean width are about average.

    `share`: each list's share of the posterior sample. Both lie between the floor and the ceiling of their posterior
    means; where no list has both, the most probable of all.
    """
    length = np.array([len(one) for one in lists], dtype=float)
    width = np.array([sum(sizes[i] for i in one) / max(1, len(one)) for one in lists])
    usual = np.ones(len(lists), dtype=bool)
    for values in (length, width):
        mean = float(values @ share)
        usual &= (values >= math.floor(mean)) & (values <= math.ceil(mean))
    return lists[int(np.argmax(np.where(usual, log_weights, -np.inf) if usual.any() else log_weights))]
