"""The engines, one file each, found by file name; engines never import each other."""
