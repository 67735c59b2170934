"""Bounded readers of binary forms: FlatBuffers, UBJSON, R's serialization."""
