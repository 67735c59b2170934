"""x."""

from recon.experiments.experiment import Findings


def findings(results):
    return Findings()
