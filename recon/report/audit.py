"""The public audit: every question an officer asks of a release, what a policy says to it, and the report on both."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.auditing.facts import facts_of
from recon.auditing.findings import Findings
from recon.auditing.gathering import Beside, gathered
from recon.loading.asking import Released, release_of
from recon.policies.assessing import assess
from recon.policies.policy import Policy, read_policy
from recon.registers.adding import adds
from recon.registers.register import Register
from recon.remedies.helping import remedies as what_would_help
from recon.report.document.making import Context, limits_json, made
from recon.report.report import Report
from solvers.foundation.limits import Limits
from solvers.parallel.opening import kept_open

if TYPE_CHECKING:
    from recon.registers.adding import Added

AUDITED = 0.6  # of the time, where remedies are worked out as well


def audit(
    release: Released,
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    convention: str | None = None,
    truth: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
    without_noise: Released | None = None,
    limits: Limits | None = None,
    seed: int = 0,
    remedies: bool = False,
    profiles: pd.DataFrame | None = None,
    data: pd.DataFrame | None = None,
    label: str | None = None,
    protected: str | None = None,
    show_rows: bool = False,
    register: Register | str | os.PathLike[str] | None = None,
    command: str | None = None,
) -> Report:
    """Return the report on a release: worlds, uncertainty left, exposure, group disclosure, and what a policy says.

    `policy`: a `Policy`, a TOML file or "preset:NAME". `truth` are the real training rows, `population` other rows of the
    same kind (for the fresh-sample baseline). `without_noise` is the same release with exact counts, to say what the
    noise bought. `remedies`: the audit again under what could be published instead (docs/remedies.md). `profiles`: people
    to ask about; `data`: the training rows, whose exposure is listed by position and by groups of the column
    `protected`, with their values where `show_rows`. `register`: earlier releases about the same rows; all are audited
    together, and the report says what the new one adds. Raises what `count` raises, `PolicyError` for a policy that is
    none, `ReleaseError` for data that do not fit.
    """
    begun = time.monotonic()
    release = release_of(release, limits)
    exact = None if without_noise is None else release_of(without_noise, limits)
    limits = limits or Limits()
    chosen = policy if policy is None or isinstance(policy, Policy) else read_policy(os.fspath(policy))
    beside = Beside(convention, truth, population, exact, profiles, data, label, protected, show_rows, remedies, seed)
    with kept_open():
        added = None if register is None else what_it_adds(release, register, limits, seed)
        whole = release if added is None else added.joined
        found = gathered(whole, beside, limits.share(AUDITED) if remedies and limits.seconds else limits)
        tried = helping(release, found, chosen, beside, limits) if remedies else None
    report = Report(found, Context(remedies=tried, adds=None if added is None else added.to_json(), seed=seed))
    told = None if chosen is None else assess(report.facts, chosen, tried)
    made_now = made(command, time.monotonic() - begun)
    around = replace(report.context, made=made_now, assessment=told, limits=limits_json(limits))
    return Report(found, around)


def what_it_adds(
    release: EncodedRelease, register: Register | str | os.PathLike[str], limits: Limits, seed: int
) -> Added:
    """Return what a release adds to the earlier ones of a register."""
    known = register if isinstance(register, Register) else Register.read(os.fspath(register))
    return adds(release, known, limits, seed=seed)


def helping(
    release: EncodedRelease, found: Findings, policy: Policy | None, beside: Beside, limits: Limits
) -> list[dict[str, Any]]:
    """Return what would help; nothing where there is no possible world to begin with."""
    if found.empty is not None or found.measures.status == "unsat":
        return []
    return what_would_help(
        release, policy, limits, data=beside.data, label=beside.label, seed=beside.seed, stored=found.stored,
        published=facts_of(found),
    )  # fmt: skip
