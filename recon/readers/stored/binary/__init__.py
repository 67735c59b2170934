"""Bounded readers of binary forms: FlatBuffers, UBJSON, R's serialization."""

__all__ = ["flatbuffers", "rds", "ubjson"]
