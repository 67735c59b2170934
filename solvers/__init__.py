"""Statements over cells and the engines that answer questions about them.

Knows no tree and no rule, writes no file and prints nothing; imports nothing from `encoders` or `recon`.
"""
