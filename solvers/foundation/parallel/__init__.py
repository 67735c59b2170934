"""Independent pieces of work on local processes or a Dask cluster, behind one interface."""
