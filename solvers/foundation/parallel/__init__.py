"""Independent pieces of work on local processes or a Dask cluster, behind one interface."""

__all__ = ["pieces"]
