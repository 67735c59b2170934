"""Files and fitted models in, one encoded release out."""
