"""A plain checker of certificates of `recon queries`: numbers of Python, read from the files, nothing of recon."""

from __future__ import annotations

import csv
import hashlib
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any


def read(path: str) -> tuple[list[str], list[list[int]], list[Fraction], list[Fraction]]:
    """Return people, who is counted by each query, answers and bounds of a CSV of queries."""
    with open(path, encoding="utf-8", newline="") as file:
        head, *lines = list(csv.reader(file))
    at = head.index("person")
    rows = {line[at]: [x for k, x in enumerate(line) if k != at] for line in lines}
    answers, bounds = ([Fraction(x) for x in rows.pop(word)] for word in ("answer", "within"))
    people = list(rows)
    return people, [[int(rows[p][q]) for p in people] for q in range(len(answers))], answers, bounds


def rejected(certificate: dict[str, Any], path: str) -> str:
    """Return why a certificate does not hold, "" where it does."""
    people, members, answers, bounds = read(path)
    if certificate["sha256"] != hashlib.sha256(Path(path).read_bytes()).hexdigest():
        return "another file"
    rest = {key: value for key, value in certificate.items() if key != "seal"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if hashlib.sha256(text.encode()).hexdigest() != certificate["seal"]:
        return "seal"
    who, bit = people.index(certificate["claim"]["person"]), certificate["claim"]["bit"]
    weights, most = [0] * len(people), 0
    for query, y in certificate["multipliers"]:
        if type(query) is not int or type(y) is not int:
            return "no whole number"
        counted = members[query]
        end = min(sum(counted), math.floor(answers[query] + bounds[query]))
        most += y * (end if y > 0 else max(0, math.ceil(answers[query] - bounds[query])))
        for k, one in enumerate(counted):
            weights[k] += y * one
    least = sum(min(0, w) for k, w in enumerate(weights) if k != who) + weights[who] * (1 - bit)
    return "" if least > most else "not refuted"
