"""Learners of the literature whose models recon audits."""
