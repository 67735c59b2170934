"""Which training sets agree with a released model: counted, measured, drawn, and certified.

Names are loaded when first used (PEP 562), so that `import recon` loads no solver.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from encoders.domain import Domain as Domain
    from encoders.encoder import EncodedRelease as EncodedRelease
    from recon.attaching import attach_counts as attach_counts
    from recon.auditing import audit as audit
    from recon.bounds import bound as bound
    from recon.denoising import denoise as denoise
    from recon.exporting import export as export
    from recon.inspection.inspecting import Inspection as Inspection
    from recon.inspection.inspecting import inspect as inspect
    from recon.learners.bayesian_rule_list import BayesianRuleListClassifier as BayesianRuleListClassifier
    from recon.learners.bayesian_rule_list import DPBayesianRuleListClassifier as DPBayesianRuleListClassifier
    from recon.learners.dp_greedy_rule_list import DPGreedyRuleListClassifier as DPGreedyRuleListClassifier
    from recon.learners.greedy_rule_list import GreedyRuleListClassifier as GreedyRuleListClassifier
    from recon.likely_worlds import SampledPosterior as SampledPosterior
    from recon.likely_worlds import sampled as sampled
    from recon.loading import encode as encode
    from recon.loading import load as load
    from recon.measures import Measures as Measures
    from recon.measures import measure as measure
    from recon.noisy import Posterior as Posterior
    from recon.noisy import posterior as posterior
    from recon.probabilistic import table as table
    from recon.questions import attribute as attribute
    from recon.questions import certify as certify
    from recon.questions import count as count
    from recon.questions import reconstruct as reconstruct
    from recon.questions import sample as sample
    from recon.questions import worlds as worlds
    from recon.report import Report as Report
    from recon.sweeping import sweep as sweep
    from recon.verifying import verify as verify
    from recon.world import World as World
    from solvers.errors import ContradictionError as ContradictionError
    from solvers.errors import Inconclusive as Inconclusive
    from solvers.errors import ReconError as ReconError
    from solvers.errors import ReleaseError as ReleaseError
    from solvers.errors import Unsupported as Unsupported
    from solvers.limits import Limits as Limits

__version__ = "0.1.0"

_HOME = {
    "Domain": "encoders.domain",
    "EncodedRelease": "encoders.encoder",
    "attach_counts": "recon.attaching",
    "audit": "recon.auditing",
    "export": "recon.exporting",
    "BayesianRuleListClassifier": "recon.learners.bayesian_rule_list",
    "DPBayesianRuleListClassifier": "recon.learners.bayesian_rule_list",
    "DPGreedyRuleListClassifier": "recon.learners.dp_greedy_rule_list",
    "GreedyRuleListClassifier": "recon.learners.greedy_rule_list",
    "Inspection": "recon.inspection.inspecting",
    "inspect": "recon.inspection.inspecting",
    "encode": "recon.loading",
    "load": "recon.loading",
    "Measures": "recon.measures",
    "measure": "recon.measures",
    "denoise": "recon.denoising",
    "Posterior": "recon.noisy",
    "posterior": "recon.noisy",
    "table": "recon.probabilistic",
    "attribute": "recon.questions",
    "bound": "recon.bounds",
    "certify": "recon.questions",
    "count": "recon.questions",
    "reconstruct": "recon.questions",
    "sample": "recon.questions",
    "worlds": "recon.questions",
    "Report": "recon.report",
    "SampledPosterior": "recon.likely_worlds",
    "sampled": "recon.likely_worlds",
    "sweep": "recon.sweeping",
    "verify": "recon.verifying",
    "World": "recon.world",
    "ContradictionError": "solvers.errors",
    "Inconclusive": "solvers.errors",
    "ReconError": "solvers.errors",
    "ReleaseError": "solvers.errors",
    "Unsupported": "solvers.errors",
    "Limits": "solvers.limits",
}
__all__ = [*_HOME, "__version__"]  # noqa: PLE0604 - the names above


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'recon' has no attribute '{name}'")
    found = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
