"""Readers and writers of the files people have; each turns a file into a domain and published models."""

__all__ = ["boosters", "detection", "drafts", "pmml", "printed", "release", "rules", "sklearn", "statistics", "tables"]
