"""Which training sets agree with a released model: counted, measured, drawn, and certified.

Names are loaded when first used (PEP 562), so that `import recon` loads no solver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from recon.console.version import VERSION

if TYPE_CHECKING:
    from encoders.domain.domain import Domain as Domain
    from encoders.encode.encoder import EncodedRelease as EncodedRelease
    from recon.answers.counting import count as count
    from recon.attacking.linear import attack_correlation as attack_correlation
    from recon.attacking.membership import attack_membership as attack_membership
    from recon.bounds.bounding import bound as bound
    from recon.certificates.verifying import verify as verify
    from recon.exporting.exporting import export as export
    from recon.frames.world import World as World
    from recon.inspection.inspecting import Inspection as Inspection
    from recon.inspection.inspecting import inspect as inspect
    from recon.leaf_values.determined import determined as determined
    from recon.leaf_values.remedies import first_trees as first_trees
    from recon.leaf_values.remedies import remedies as remedies
    from recon.leaf_values.remedies import rounded as rounded
    from recon.learners.optimal.lists.optimal_rule_list import OptimalRuleListClassifier as OptimalRuleListClassifier
    from recon.learners.optimal.trees.optimal_tree import OptimalTreeClassifier as OptimalTreeClassifier
    from recon.learners.private.dp_greedy_rule_list import DPGreedyRuleListClassifier as DPGreedyRuleListClassifier
    from recon.learners.rule_lists.bayesian_rule_list import BayesianRuleListClassifier as BayesianRuleListClassifier
    from recon.learners.rule_lists.bayesian_rule_list import (
        DPBayesianRuleListClassifier as DPBayesianRuleListClassifier,
    )
    from recon.learners.rule_lists.greedy_rule_list import GreedyRuleListClassifier as GreedyRuleListClassifier
    from recon.loading.attaching import attach_counts as attach_counts
    from recon.loading.loading import encode as encode
    from recon.loading.loading import load as load
    from recon.located.positions import positions as positions
    from recon.measures.figures import Measures as Measures
    from recon.measures.measures import measure as measure
    from recon.measures.sweeping import sweep as sweep
    from recon.noisy.denoising import denoise as denoise
    from recon.noisy.likely_worlds import SampledPosterior as SampledPosterior
    from recon.noisy.likely_worlds import sampled as sampled
    from recon.noisy.posterior import Posterior as Posterior
    from recon.noisy.posterior import posterior as posterior
    from recon.questions.labels import labels as labels
    from recon.questions.labels import targets as targets
    from recon.questions.planning import Plan as Plan
    from recon.questions.planning import plan as plan
    from recon.questions.probabilistic import table as table
    from recon.questions.questions import attribute as attribute
    from recon.questions.questions import certify as certify
    from recon.questions.questions import reconstruct as reconstruct
    from recon.questions.questions import sample as sample
    from recon.questions.questions import worlds as worlds
    from recon.report.audit import audit as audit
    from recon.report.report import Report as Report
    from recon.tables.tables import Tables as Tables
    from recon.tables.variability import variability as variability
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
    "attach_counts": "recon.loading.attaching",
    "attack_correlation": "recon.attacking.linear",
    "attack_membership": "recon.attacking.membership",
    "audit": "recon.report.audit",
    "export": "recon.exporting.exporting",
    "BayesianRuleListClassifier": "recon.learners.rule_lists.bayesian_rule_list",
    "DPBayesianRuleListClassifier": "recon.learners.rule_lists.bayesian_rule_list",
    "DPGreedyRuleListClassifier": "recon.learners.private.dp_greedy_rule_list",
    "GreedyRuleListClassifier": "recon.learners.rule_lists.greedy_rule_list",
    "OptimalTreeClassifier": "recon.learners.optimal.trees.optimal_tree",
    "OptimalRuleListClassifier": "recon.learners.optimal.lists.optimal_rule_list",
    "determined": "recon.leaf_values.determined",
    "first_trees": "recon.leaf_values.remedies",
    "remedies": "recon.leaf_values.remedies",
    "rounded": "recon.leaf_values.remedies",
    "Inspection": "recon.inspection.inspecting",
    "inspect": "recon.inspection.inspecting",
    "encode": "recon.loading.loading",
    "load": "recon.loading.loading",
    "Measures": "recon.measures.figures",
    "measure": "recon.measures.measures",
    "denoise": "recon.noisy.denoising",
    "Posterior": "recon.noisy.posterior",
    "posterior": "recon.noisy.posterior",
    "labels": "recon.questions.labels",
    "targets": "recon.questions.labels",
    "Plan": "recon.questions.planning",
    "plan": "recon.questions.planning",
    "positions": "recon.located.positions",
    "table": "recon.questions.probabilistic",
    "attribute": "recon.questions.questions",
    "bound": "recon.bounds.bounding",
    "certify": "recon.questions.questions",
    "count": "recon.answers.counting",
    "reconstruct": "recon.questions.questions",
    "sample": "recon.questions.questions",
    "worlds": "recon.questions.questions",
    "Report": "recon.report.report",
    "Tables": "recon.tables.tables",
    "variability": "recon.tables.variability",
    "SampledPosterior": "recon.noisy.likely_worlds",
    "sampled": "recon.noisy.likely_worlds",
    "sweep": "recon.measures.sweeping",
    "verify": "recon.certificates.verifying",
    "World": "recon.frames.world",
    "ContradictionError": "solvers.foundation.errors",
    "Inconclusive": "solvers.foundation.errors",
    "ReconError": "solvers.foundation.errors",
    "ReleaseError": "solvers.foundation.errors",
    "Unsupported": "solvers.foundation.errors",
    "Limits": "solvers.foundation.limits",
}
__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names above


def __getattr__(name: str) -> Any:
    if name == "models":
        return importlib.import_module("recon.models")
    if name not in _HOME:
        raise AttributeError(f"module 'recon' has no attribute '{name}'")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
