"""Statements over cells and the engines that answer questions about them.

Knows no tree, no rule, no file and no print; imports nothing from `encoders` or `recon`.
"""
