"""Which training sets agree with a released model: counted, measured, drawn, and certified.

Names are loaded when first used (PEP 562), so that `import recon` loads no solver.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from recon.io.console.version import VERSION

if TYPE_CHECKING:
    from encoders.domain.domain import Domain as Domain
    from encoders.encode.encoder import EncodedRelease as EncodedRelease
    from recon.attacks.attacking.linear import attack_correlation as attack_correlation
    from recon.attacks.attacking.membership import attack_membership as attack_membership
    from recon.io.files.opening import TableOptions as TableOptions
    from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier as OptimalRuleListClassifier
    from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier as OptimalTreeClassifier
    from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier as DPGreedyRuleListClassifier
    from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier as BayesianRuleListClassifier
    from recon.learners.rule_lists.bayesian_rule_list import (
        DPBayesianRuleListClassifier as DPBayesianRuleListClassifier,
    )
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier as GreedyRuleListClassifier
    from recon.models.exporting import export as export
    from recon.queries.answers.counting import count as count
    from recon.queries.bounds.bounding import bound as bound
    from recon.queries.certificates.verifying import verify as verify
    from recon.queries.leaf_values.determined import determined as determined
    from recon.queries.leaf_values.remedies import first_trees as first_trees
    from recon.queries.leaf_values.remedies import remedies as remedies
    from recon.queries.leaf_values.remedies import rounded as rounded
    from recon.queries.located.positions import positions as positions
    from recon.queries.measures.figures import Measures as Measures
    from recon.queries.measures.measures import measure as measure
    from recon.queries.measures.sweeping import sweep as sweep
    from recon.queries.noisy.denoising import denoise as denoise
    from recon.queries.noisy.likely_worlds import SampledPosterior as SampledPosterior
    from recon.queries.noisy.likely_worlds import sampled as sampled
    from recon.queries.noisy.posterior import Posterior as Posterior
    from recon.queries.noisy.posterior import posterior as posterior
    from recon.queries.query_answers import QueryAnswers as QueryAnswers
    from recon.queries.query_answers import secret_bits as secret_bits
    from recon.queries.questions.labels import labels as labels
    from recon.queries.questions.labels import targets as targets
    from recon.queries.questions.planning import Plan as Plan
    from recon.queries.questions.planning import plan as plan
    from recon.queries.questions.probabilistic import table as table
    from recon.queries.questions.questions import attribute as attribute
    from recon.queries.questions.questions import certify as certify
    from recon.queries.questions.questions import reconstruct as reconstruct
    from recon.queries.questions.questions import sample as sample
    from recon.queries.questions.questions import worlds as worlds
    from recon.queries.tables.tables import Tables as Tables
    from recon.queries.tables.variability import variability as variability
    from recon.queries.versions.difference import Difference as Difference
    from recon.queries.versions.difference import difference as difference
    from recon.queries.versions.population import population as population
    from recon.readers.frames.world import World as World
    from recon.readers.inspection.inspecting import Inspection as Inspection
    from recon.readers.inspection.inspecting import inspect as inspect
    from recon.readers.loading.adversary import Adversary as Adversary
    from recon.readers.loading.attaching import attach_counts as attach_counts
    from recon.readers.loading.loading import encode as encode
    from recon.readers.loading.loading import load as load
    from recon.readers.loading.loading import versions as versions
    from recon.report.audit import audit as audit
    from recon.report.report import Report as Report
    from solvers.foundation.errors import ContradictionError as ContradictionError
    from solvers.foundation.errors import Inconclusive as Inconclusive
    from solvers.foundation.errors import ReconError as ReconError
    from solvers.foundation.errors import ReleaseError as ReleaseError
    from solvers.foundation.errors import Unsupported as Unsupported
    from solvers.foundation.limits import Limits as Limits

__version__ = VERSION

_HOME = {
    "Domain": "encoders.domain.domain",
    "EncodedRelease": "encoders.encode.encoder",
    "Adversary": "recon.readers.loading.adversary",
    "QueryAnswers": "recon.queries.query_answers",
    "secret_bits": "recon.queries.query_answers",
    "attach_counts": "recon.readers.loading.attaching",
    "attack_correlation": "recon.attacks.attacking.linear",
    "attack_membership": "recon.attacks.attacking.membership",
    "audit": "recon.report.audit",
    "export": "recon.models.exporting",
    "BayesianRuleListClassifier": "recon.learners.rule_lists.bayesian_rule_list",
    "DPBayesianRuleListClassifier": "recon.learners.rule_lists.bayesian_rule_list",
    "DPGreedyRuleListClassifier": "recon.learners.private.dp_greedy_rule_list",
    "GreedyRuleListClassifier": "recon.learners.rule_lists.greedy_rule_list",
    "OptimalTreeClassifier": "recon.learners.optimal.trees.optimal_tree",
    "OptimalRuleListClassifier": "recon.learners.optimal.lists.optimal_rule_list",
    "determined": "recon.queries.leaf_values.determined",
    "first_trees": "recon.queries.leaf_values.remedies",
    "remedies": "recon.queries.leaf_values.remedies",
    "rounded": "recon.queries.leaf_values.remedies",
    "Inspection": "recon.readers.inspection.inspecting",
    "inspect": "recon.readers.inspection.inspecting",
    "encode": "recon.readers.loading.loading",
    "load": "recon.readers.loading.loading",
    "Measures": "recon.queries.measures.figures",
    "measure": "recon.queries.measures.measures",
    "denoise": "recon.queries.noisy.denoising",
    "Posterior": "recon.queries.noisy.posterior",
    "posterior": "recon.queries.noisy.posterior",
    "labels": "recon.queries.questions.labels",
    "targets": "recon.queries.questions.labels",
    "Plan": "recon.queries.questions.planning",
    "plan": "recon.queries.questions.planning",
    "positions": "recon.queries.located.positions",
    "table": "recon.queries.questions.probabilistic",
    "attribute": "recon.queries.questions.questions",
    "bound": "recon.queries.bounds.bounding",
    "certify": "recon.queries.questions.questions",
    "count": "recon.queries.answers.counting",
    "reconstruct": "recon.queries.questions.questions",
    "sample": "recon.queries.questions.questions",
    "worlds": "recon.queries.questions.questions",
    "Report": "recon.report.report",
    "Tables": "recon.queries.tables.tables",
    "variability": "recon.queries.tables.variability",
    "Difference": "recon.queries.versions.difference",
    "difference": "recon.queries.versions.difference",
    "population": "recon.queries.versions.population",
    "versions": "recon.readers.loading.loading",
    "SampledPosterior": "recon.queries.noisy.likely_worlds",
    "sampled": "recon.queries.noisy.likely_worlds",
    "sweep": "recon.queries.measures.sweeping",
    "verify": "recon.queries.certificates.verifying",
    "World": "recon.readers.frames.world",
    "ContradictionError": "solvers.foundation.errors",
    "Inconclusive": "solvers.foundation.errors",
    "ReconError": "solvers.foundation.errors",
    "ReleaseError": "solvers.foundation.errors",
    "Unsupported": "solvers.foundation.errors",
    "Limits": "solvers.foundation.limits",
    "TableOptions": "recon.io.files.opening",
}
__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names above


class _Unquoted(str):
    """A type in a signature, as `help` shows it: without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def __getattr__(name: str) -> Any:
    if name == "models":
        return importlib.import_module("recon.models")
    if name not in _HOME:
        raise AttributeError(f"module 'recon' has no attribute '{name}'")
    found = getattr(importlib.import_module(_HOME[name]), name)
    for one in (found, *(vars(found).values() if isinstance(found, type) else ())):
        function = getattr(one, "fget", None) or getattr(one, "__func__", one)
        while isinstance(function, FunctionType):
            function.__annotations__ = {key: _Unquoted(text) for key, text in function.__annotations__.items()}
            function = getattr(function, "__wrapped__", None)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
