"""Chains as they walk: traces, how they come together, and what a step costs (the thesis's 6.1, 6.2 and 6.3)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from recon.experiments.belardo2018.fits import CHAINS, PLAIN, associated, learner, scores_of
from recon.experiments.drawing import Panel, PanelFigure, PlotLine
from recon.experiments.experiment import Point, Row
from recon.experiments.splits import TrainTestSplit
from recon.learners.rule_lists.brl_posterior import Chosen, RuleListLaw, sensitivity, tempered
from recon.learners.rule_lists.brl_sampling import draw_prior, run_chain, split_r_hat
from solvers.foundation.limits import Limits
from solvers.laws.noise.sampling import Randomness

EACH = 25  # steps between two marks of a trace
THIRD = 1 / 3  # of epsilon draws the list, as in the thesis


def traced(point: Point, some: TrainTestSplit, seed: int, limits: Limits) -> list[Row]:
    """Return a row per chain and mark: log weight per row, length of the list, CPU seconds of the chain so far."""
    of = scores_of(learner(point, some, seed), associated(some.x, some.y), some)
    law = RuleListLaw()
    if point["law"] != PLAIN:
        law = tempered(point["law"], point["epsilon"] * THIRD, sensitivity("replace", some.rows, (1.0, 1.0)))
    dice = Randomness(seed)
    rows: list[Row] = []
    for chain in range(CHAINS):
        state: Chosen = (0,) if not chain and of.prior.longest else draw_prior(of.prior, dice)
        spent = 0.0
        for step in range(EACH, point["steps"] + 1, EACH):
            limits.check("a chain was followed")
            begun = time.process_time()
            walked = run_chain(of, law, state, EACH, dice)
            spent += time.process_time() - begun
            state = walked.lists[-1]
            rows.append({"chain": chain + 1, "step": step, "per_row": float(walked.log_weights[-1]) / some.rows,
                         "length": len(state), "seconds": spent})  # fmt: skip
    return rows


def named(law: str, epsilon: float) -> str:
    """Return a law with its budget in words."""
    return law if law == PLAIN else f"{law}, epsilon {epsilon:g}"


def cases(traces: pd.DataFrame, titles: Mapping[str, str]) -> list[tuple[str, str, pd.DataFrame]]:
    """Return data, law and rows of everything that was followed."""
    if not len(traces):
        return []
    parts = traces.groupby(["dataset", "law", "epsilon"], dropna=False, sort=False)
    return [(f"{titles[str(d)]}, {int(part['rows'].iloc[0]):,} rows", named(str(law), float(str(e))), part)
            for (d, law, e), part in parts]  # fmt: skip


def trace_figure(traces: pd.DataFrame, titles: Mapping[str, str]) -> PanelFigure:
    """Return the log weight per training row against the steps, a line per chain."""
    panels = [
        Panel(f"{title}: {law}", "step", "log weight per row (nats)",
              [PlotLine(f"chain {chain}", one["step"].tolist(), one["per_row"].tolist(), style="step")
               for chain, one in part.groupby("chain")])
        for title, law, part in cases(traces, titles)
    ]  # fmt: skip
    about = (
        f"Log of the weight that the target law gives the list, per training row, every {EACH} steps; the first chain "
        "begins at the first antecedent as in the thesis, the others at lists drawn from the prior."
    )
    return PanelFigure("traces", about, panels)


def convergence_figure(traces: pd.DataFrame, titles: Mapping[str, str], mixed: float) -> PanelFigure:
    """Return split R-hat of the log weight against the steps walked, a line per law."""
    panels: dict[str, list[PlotLine]] = {}
    for title, law, part in cases(traces, titles):
        chains = [one["per_row"].to_numpy() for _, one in part.groupby("chain")]
        ends = np.unique(np.linspace(8, len(chains[0]), 20).astype(int)).tolist()
        values = [split_r_hat([chain[:end] for chain in chains]) for end in ends]
        known = [(end * EACH, value) for end, value in zip(ends, values, strict=True) if value is not None]
        panels.setdefault(title, []).append(PlotLine(law, [x for x, _ in known], [y for _, y in known]))
    drawn = []
    for title, lines in panels.items():
        ends = [min(line.x[0] for line in lines), max(line.x[-1] for line in lines)]
        reference = PlotLine("have mixed below", ends, [mixed, mixed], style="dashed")
        drawn.append(Panel(title, "steps walked", "split R-hat", [*lines, reference], "linear", "log"))
    about = (
        f"Split R-hat of the log weight of {CHAINS} chains after so many steps (their second halves); below the dashed "
        "line chains are taken to have mixed."
    )
    return PanelFigure("convergence", about, drawn)


def time_figure(traces: pd.DataFrame, titles: Mapping[str, str]) -> PanelFigure:
    """Return CPU seconds of a chain against its steps, a line per law; mean over chains."""
    panels: dict[str, list[PlotLine]] = {}
    for title, law, part in cases(traces, titles):
        mean = part.groupby("step")["seconds"].mean()
        panels.setdefault(title, []).append(PlotLine(law, mean.index.tolist(), mean.tolist()))
    drawn = [Panel(title, "steps", "CPU seconds of a chain", lines) for title, lines in panels.items()]
    return PanelFigure("run-time", "CPU seconds that a chain takes for so many steps, mean over chains.", drawn)


def trace_sentences(traces: pd.DataFrame, titles: Mapping[str, str]) -> list[str]:
    """Return what 1,000 steps cost, and how far chains still are from each other at their ends."""
    out = []
    for title, law, part in cases(traces, titles):
        last = part[part["step"] == part["step"].max()]
        steps, seconds = int(last["step"].iloc[0]), float(last["seconds"].mean())
        ends = sorted(last["per_row"])
        jumps = [abs(b - a) for a, b in pairwise(ends)]
        out.append(f"Chains, {title}, {law}: {1000 * seconds / steps:.2f} CPU seconds per 1,000 steps; after {steps:,} "
                   f"steps log weights per row from {ends[0]:.4f} to {ends[-1]:.4f} (neighbours at most "
                   f"{max(jumps):.4f} apart), lists of {int(last['length'].min())} to {int(last['length'].max())} "
                   "rules.")  # fmt: skip
    return out
