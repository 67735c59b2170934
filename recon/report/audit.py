"""The public audit: every question an officer asks of a release, what a policy says to it, and the report on both."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from encoders.domain.domain import Domain
from encoders.encode.encoder import EncodedRelease
from recon.readers.loading.adversary import Knows
from recon.readers.loading.loading import Released, single_release_of
from recon.release.auditing.auditing import AuditInputs, run_audit
from recon.release.auditing.findings import AuditFindings
from recon.release.policies.assessing import assess
from recon.release.policies.policy import Policy, read_policy
from recon.report.report import Report
from recon.report.stored_report import Context, build_metadata, limits_json
from solvers.foundation.errors import ContradictionError, ReleaseError
from solvers.foundation.limits import Limits
from solvers.foundation.parallel.pieces import kept_open

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from recon.release.auditing.beside import AdversaryAudit
    from recon.release.policies.assessing import PolicyAssessment
    from recon.release.registers.adding import AddedDisclosure
    from recon.release.registers.register import Register
    from recon.release.registers.versions import VersionComparison


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
    domain: Domain | str | None = None,
    learner: str = "none",
    command: str | None = None,
    domain_rows: pd.DataFrame | None = None,
    removed: int | None = None,
    added: int | None = None,
    adversary: Knows | None = None,
) -> Report:
    """Return the report on a release: worlds, uncertainty left, exposure, group disclosure, a policy's verdict.

    `policy`: a `Policy`, a TOML file or "preset:NAME". `convention`: see `count`. `truth` are the real training rows,
    `population` other rows of the same kind (for the fresh-sample baseline). `without_noise` is the same release with
    exact counts, to say what the noise protects. `remedies`: the audit again under what could be published instead
    (docs/remedies.md). `profiles`: people to ask about; `data`: the training rows, whose exposure is listed by
    position and by groups of the column `protected`, with their values where `show_rows`; `domain_rows`: the table
    that the domain was read off. `register`: earlier releases about the same rows, read over `domain` (by default the
    register's); the report says what the new one adds. Those of another version of the data (as the register says, or
    `removed` rows left since the last one and `added` came) are compared with it: who left. `learner`: what knowing
    the learner adds ("auto", "greedy", "midpoints"). `adversary`: what is left for somebody who knows more. `label`:
    the name of the label in tables of rows; `seed`: of all draws; `command`: named in the report. Raises what `count`
    raises, `PolicyError` for an invalid policy, `ReleaseError` for data that do not fit.

    >>> import pandas as pd
    >>> import recon
    >>> rows = pd.DataFrame({"smoker": [0, 0, 1, 1], "old": [0, 1, 0, 1], "ill": [0, 0, 0, 1]})
    >>> model = recon.GreedyRuleListClassifier().fit(rows[["smoker", "old"]], rows["ill"])
    >>> release = recon.encode(model, recon.Domain.from_frame(rows, "ill"))
    >>> report = recon.audit(release, "preset:minimum-cell-10")
    >>> report
    <Report: do not release: audit of a release: Dist_G 0.25, 4 worlds, exact (assigned), 4 rows>
    >>> report.assessment.outcome
    'violated'
    """
    begun = time.monotonic()
    release = single_release_of(release, limits, whole=True)
    exact, limits = None if without_noise is None else single_release_of(without_noise, limits), limits or Limits()
    chosen = policy if policy is None or isinstance(policy, Policy) else read_policy(os.fspath(policy))
    beside = AuditInputs(convention, truth, population, exact, profiles, data, label, protected, show_rows, remedies,
                         seed, learner, {} if chosen is None else chosen.values, domain_rows)  # fmt: skip
    if register is None and (removed is not None or added is not None):
        raise ReleaseError("--removed and --added are numbers since an earlier release: give --register FOLDER")
    with kept_open():
        earlier, beside_it = _earlier_releases(release, register, (removed, added), domain, limits)
        whole = release if earlier is None else _joined_release(release, earlier, domain, limits)
        parts = limits.stage("audit before remedies") if remedies else limits
        found = run_audit(release if whole is None else whole, beside, parts)
        adding = None if earlier is None else _what_it_adds(release, earlier, whole, found, domain, limits)
        if remedies and beside_it is not None:
            beside_it = _with_remedies(beside_it, found, chosen, seed, limits)
        tried = _helping(release, found, chosen, beside, limits, beside_it) if remedies else None
        knowing = _for_adversary(release, found, adversary, beside, limits)
    around = Context({}, None, tried, None if adding is None else adding.to_json(), {}, seed, beside_it, knowing)
    facts = Report(found, around).facts
    told = None if chosen is None else assess(facts, chosen, tried)
    if tried and earlier is None:  # as it is published, the audit knows more of it: by leaf values and positions
        tried[0] |= _figures_of(facts, told)
    made = build_metadata(command, time.monotonic() - begun)
    return Report(found, replace(around, made=made, assessment=told, limits=limits_json(limits)))


def _for_adversary(
    release: EncodedRelease, found: AuditFindings, adversary: Knows | None, beside: AuditInputs, limits: Limits
) -> AdversaryAudit | None:
    """Return what is left for an adversary, None where none is asked about or nothing is left to begin with."""
    if adversary is None or found.empty is not None or found.measures.status == "unsat":
        return None
    from recon.release.auditing.beside import audit_beside

    return audit_beside(release, adversary, beside.profiles, limits, beside.label, beside.convention, found.measures)


def _figures_of(facts: Mapping[str, Any], told: PolicyAssessment | None) -> dict[str, Any]:
    """Return the columns of a remedy from what the audit found."""
    from recon.release.remediation.candidates import columns

    return {**columns(facts), "outcome": None if told is None else told.outcome}


def _earlier_releases(
    release: EncodedRelease,
    register: Register | str | os.PathLike[str] | None,
    changed: tuple[int | None, int | None],
    domain: Domain | str | None,
    limits: Limits,
) -> tuple[Register | None, VersionComparison | None]:
    """Return the releases of a register about the same rows, and what the other versions of the data say beside one.

    `changed`: how many rows left and came since the last release.
    """
    if register is None:
        return None, None
    from recon.release.registers.register import Register
    from recon.release.registers.versions import comparison, of_own_data, version_relation

    every = register if isinstance(register, Register) else Register.read(os.fspath(register))
    relation = version_relation(release, every, *changed)
    return of_own_data(every, relation), comparison(release, every, relation, limits, domain)


def _with_remedies(
    beside: VersionComparison, found: AuditFindings, policy: Policy | None, seed: int, limits: Limits
) -> VersionComparison:
    """Return what the other version says, with the same under remedies of the new one."""
    from recon.release.remediation.versions import version_remedies

    held = beside.held
    more = (
        ()
        if held is None
        else version_remedies(held, policy, limits, seed=seed, stored=found.stored, further=bool(beside.further))
    )
    return replace(beside, remedies=tuple(more))


def _joined_release(
    release: EncodedRelease, earlier: Register, domain: Domain | str | None, limits: Limits
) -> EncodedRelease | None:
    """Return a release and the earlier ones as one, None where they are about different numbers of rows."""
    from recon.release.registers.adding import joined_release

    try:
        return joined_release(release, earlier, limits, domain=domain)
    except ContradictionError:
        return None


def _what_it_adds(
    release: EncodedRelease, earlier: Register, whole: EncodedRelease | None, found: AuditFindings,
    domain: Domain | str | None, limits: Limits,
) -> AddedDisclosure:  # fmt: skip
    """Return what a release adds to the earlier ones; `whole` is all together, and `found` what its audit found."""
    from recon.release.registers.adding import adds

    counted = None if whole is None or found.empty is not None or found.measures.status == "unsat" else found.measures
    return adds(release, earlier, limits, domain=domain, after=counted, together=whole)


def _helping(
    release: EncodedRelease, found: AuditFindings, policy: Policy | None, beside: AuditInputs, limits: Limits,
    other: VersionComparison | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return what would help, beside an `other` version too; nothing where there is no possible world to begin with."""
    from recon.release.remediation.candidates import remedies as what_would_help

    if found.empty is not None or found.measures.status == "unsat":
        return []
    lines = what_would_help(
        release, policy, limits, data=beside.data, label=beside.label, seed=beside.seed, stored=found.stored
    )
    more = () if other is None else other.remedies
    return [*lines, *({key: value for key, value in one.items() if key in lines[0]} for one in more)]
