"""Rows inside cells: histograms turned into datasets, listed, drawn and spread."""
