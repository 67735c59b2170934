"""Answers to counting queries about known people: whose secret bit follows, with a proof that others can check.

Source: Dinur, Nissim, "Revealing information while preserving privacy", PODS 2003; Dwork, McSherry, Talwar, "The price
of privacy and the limits of LP decoding", STOC 2007: decoding guesses all bits at once, here each is proved.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from recon.io.files.opening import read_whole
from recon.queries.certificates.certificate_format import digest
from recon.readers.formats.release.reading import strict_json
from recon.readers.frames.selections import read_table
from solvers.foundation.displayed import Displayed, DisplayFacts, many
from solvers.foundation.errors import CertificateError, ContradictionError, ReleaseError
from solvers.foundation.exact import exact_number, short_number
from solvers.foundation.limits import Limits
from solvers.kernel.proof_format import keys, number
from solvers.kernel.subset_counts import BitProof, SubsetCounts, check_bit

PERSON, ANSWER, WITHIN = "person", "answer", "within"
VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class QueryAnswers(Displayed):
    """Counts of subsets of known people, each within a bound on its noise.

    `people` names them; `members` (queries, people) says who is counted by each query; the secret bits that it counts
    sum to its answer, up to `within`. `low` and `high` are the whole numbers that this leaves.

    >>> import recon
    >>> asked = recon.QueryAnswers.of(["a", "b", "c"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], [2, 1, 1])
    >>> recon.secret_bits(asked)[["person", "bit", "verdict"]]
      person  bit  verdict
    0      a    1  certain
    1      b    1  certain
    2      c    0  certain
    """

    people: tuple[str, ...]
    counts: SubsetCounts
    file: str = ""
    sha256: str = field(default="")

    def _facts(self) -> DisplayFacts:
        queries, people = self.counts.members.shape
        spread = int((self.counts.high - self.counts.low).max())
        line = (
            f"{many(queries, 'query', 'queries')} about {many(people, 'person', 'people')}, each count within {spread}"
        )
        return DisplayFacts(line, [("file", self.file), ("SHA-256", self.sha256)], more="recon.secret_bits")

    @classmethod
    def of(
        cls, people: Any, members: Any, answers: Any, within: Any = 0, file: str = "", sha256: str = ""
    ) -> QueryAnswers:
        """Return queries from arrays: `members` (queries, people) of 0 and 1, `answers` and `within` a number each.

        Raises `ReleaseError` for shapes that do not fit, other members than 0 and 1, negative bounds, and answers that
        no number of the counted people is within.
        """
        names = tuple(map(str, people))
        try:
            table = np.asarray(members)
        except ValueError:
            raise ReleaseError("members are a table: of each query 0 or 1 for every person", file=file) from None
        if table.ndim != 2 or table.shape[1] != len(names) or not len(table) or not names:
            raise ReleaseError(f"members are a table of queries and {len(names)} people, not {table.shape}", file=file)
        if len(set(names)) < len(names):
            raise ReleaseError(f"'{_twice(names)}' is the name of two people", file=file)
        if not np.isin(table, (0, 1)).all():
            raise ReleaseError("who is counted is 1 or 0, nothing else", file=file)
        stated, bounds = (_numbers(x, len(table), w, file) for x, w in ((answers, ANSWER), (within, WITHIN)))
        small, size = table.astype(np.int8), table.sum(axis=1).astype(np.int64)
        low, high = np.zeros(len(table), dtype=np.int64), size.copy()
        for q, (answer, bound) in enumerate(zip(stated, bounds, strict=True)):
            if bound < 0:
                raise ReleaseError(f"the noise of query {q} is within {bound}: a bound is 0 or more", file=file)
            least, most = max(0, math.ceil(answer - bound)), min(int(size[q]), math.floor(answer + bound))
            if least > most:
                said = f"{_short(bound)} of {_short(answer)}"
                message = f"query {q} counts {size[q]} people: no number of them is within {said}"
                raise ContradictionError(f"{file}: {message}" if file else message, (f"query {q}",))
            low[q], high[q] = least, most
        counts = SubsetCounts(small, low, high)
        digest_of = sha256 or hashlib.sha256(
            json.dumps([names, table.shape]).encode() + small.tobytes() + low.tobytes() + high.tobytes()
        ).hexdigest()  # fmt: skip
        return cls(names, counts, file, digest_of)

    @classmethod
    def read(cls, path: str | os.PathLike[str], within: Any = None) -> QueryAnswers:
        """Return the queries in a file: a table with a line per person and a 0/1 column per query, or JSON.

        The lines called "answer" and "within" in the column `person` have the answers and the bounds on their noise;
        without the second, `within` is that of all. JSON: {"people": [...], "members": [[numbers of people], ...],
        "answers": [...], "within": 2}. Raises `ReleaseError` naming the file.
        """
        file = os.fspath(path)
        data = read_whole(file)
        sha = hashlib.sha256(data).hexdigest()
        if data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return cls._of_json(data, file, sha, within)
        frame = read_table(file)
        if PERSON not in frame.columns:
            raise ReleaseError(f"has no column '{PERSON}': a line per person, a column of 0 and 1 per query", file=file)
        names = frame[PERSON].astype(str)
        told = {word: frame[names == word].drop(columns=PERSON) for word in (ANSWER, WITHIN)}
        if len(told[ANSWER]) != 1 or len(told[WITHIN]) > 1:
            raise ReleaseError(
                f"needs one line '{ANSWER}' in the column '{PERSON}', and at most one '{WITHIN}'", file=file
            )
        rows = frame[~names.isin([ANSWER, WITHIN])]
        try:
            members = rows.drop(columns=PERSON).to_numpy(dtype=np.float64).T
        except (TypeError, ValueError):
            raise ReleaseError("who is counted is 1 or 0, nothing else", file=file) from None
        bounds = told[WITHIN].iloc[0].tolist() if len(told[WITHIN]) else within
        if bounds is None:
            raise ReleaseError(f"says no bound on the noise: add a line '{WITHIN}', or give --within", file=file)
        return cls.of(rows[PERSON].tolist(), members, told[ANSWER].iloc[0].tolist(), bounds, file, sha)

    @classmethod
    def _of_json(cls, data: bytes, file: str, sha: str, within: Any) -> QueryAnswers:
        try:
            found = strict_json(data.decode("utf-8-sig"))
            if not {"people", "members", "answers"} <= found.keys() <= {"people", "members", "answers", WITHIN}:
                raise ReleaseError("is not a file of queries: it has 'people', 'members', 'answers' and 'within'")
            members = np.zeros((len(found["members"]), len(found["people"])), dtype=np.int8)
            for q, some in enumerate(found["members"]):
                if not all(type(k) is int and 0 <= k < len(found["people"]) for k in some):
                    raise ReleaseError("names people by their numbers from 0", place=f"members[{q}]")
                members[q, some] = 1
            bounds = found.get(WITHIN, within)
            if bounds is None:
                raise ReleaseError(f"says no bound on the noise: give '{WITHIN}', or --within")
            return cls.of(found["people"], members, found["answers"], bounds, file, sha)
        except UnicodeDecodeError:
            raise ReleaseError("is not UTF-8 text", file=file) from None
        except TypeError:
            raise ReleaseError(
                "is not a file of queries: 'people', 'members' and 'answers' are lists", file=file
            ) from None
        except ReleaseError as error:
            raise error.at(file=file) from None


def _twice(names: tuple[str, ...]) -> str:
    return next(name for name in names if names.count(name) > 1)


def _short(number: Fraction) -> str:
    return str(number) if abs(number) < 10**15 else short_number(number)


def _numbers(given: Any, many: int, word: str, file: str) -> list[Fraction]:
    """Return exact numbers, one for each query; `ReleaseError` for others."""
    listed = [given] * many if isinstance(given, int | float | str | Fraction) else list(given)
    if len(listed) != many:
        raise ReleaseError(f"there are {len(listed)} numbers '{word}' for {many} queries", file=file)
    try:
        return [exact_number(str(x)) for x in listed]
    except (TypeError, ValueError):
        raise ReleaseError(f"a number '{word}' is none: {listed[:3]}...", file=file) from None


def secret_bits(asked: QueryAnswers, limits: Limits | None = None, certificates: bool = True) -> pd.DataFrame:
    """Return a line per person: bit (that of bits which fit all answers), verdict certain | unknown, certificate.

    `certain`: no bits that fit all answers give the person the other one, proved in whole numbers. `left`: what the
    linear relaxation leaves the other bit, in [0, 1] (NaN: the time was up). `attrs`: `fits` (whether bits that fit
    were found; else nothing is certain), `unique` (True: everybody is certain), `status`, `notes`. Raises
    `ContradictionError` where a single answer cannot be. `certificates`: whether proofs are made too.
    Cost: least squares, then one linear program per person, each begun at the end of the last.

    >>> import recon
    >>> asked = recon.QueryAnswers.of("ab", [[1, 1]], [1])
    >>> recon.secret_bits(asked)["verdict"].tolist()
    ['unknown', 'unknown']
    """
    from solvers.proofs.subset_counts import fitting_bits, proved_bits

    limits = limits or Limits()
    bits, fits = fitting_bits(asked.counts)
    left = np.full(len(bits), math.nan)
    proofs: list[dict[str, Any] | None] = [None] * len(bits)
    verdicts = np.full(len(bits), "unknown", dtype=object)
    for one in proved_bits(asked.counts, bits, limits) if fits else ():
        left[one.person] = min(1.0, max(0.0, one.left))
        if one.proof is not None:
            check_bit(asked.counts, one.person, int(bits[one.person]), one.proof)
            verdicts[one.person] = "certain"
            if certificates:
                proofs[one.person] = _certificate(asked, one.person, int(bits[one.person]), one.proof)
    out = pd.DataFrame({"person": asked.people, "bit": bits, "verdict": verdicts, "left": left})
    out["certificate"] = pd.Series(proofs, dtype=object)
    certain = int((verdicts == "certain").sum())
    notes = [] if fits else ["no bits that fit all answers were found: 'bit' is the nearest, and nothing is proved"]
    if np.isnan(left).any() and fits:
        notes.append(f"the time was up: {int(np.isnan(left).sum()):,} people were not looked at")
    out.attrs.update(
        fits=fits, unique=True if certain == len(bits) else None, notes=notes, certain=certain,
        status="exact" if certain == len(bits) else "bounds" if certain else "unknown",
        assumptions=["every answer is the number of counted people with the bit, up to its bound on the noise",
                     "the people are the listed ones, and who is counted by a query is known"],
    )  # fmt: skip
    return out


def _certificate(asked: QueryAnswers, person: int, bit: int, proof: BitProof) -> dict[str, Any]:
    content = {
        "recon_query_certificate": VERSION,
        "file": os.path.basename(asked.file),
        "sha256": asked.sha256,
        "claim": {"person": asked.people[person], "bit": bit},
        "multipliers": [list(pair) for pair in zip(proof.queries, proof.multipliers, strict=True)],
    }
    return content | {"seal": digest(content)}


def verify_bits(found: Any, asked: QueryAnswers) -> list[tuple[str, str]]:
    """Return, per certificate in a result of `secret_bits`, its claim and why it does not hold ("": verified)."""
    lines = found.get("people", []) if isinstance(found, dict) else found
    out = []
    for line in lines if isinstance(lines, list) else []:
        one = line.get("certificate", line) if isinstance(line, dict) else None
        if not isinstance(one, dict) or "recon_query_certificate" not in one:
            continue
        claim = one.get("claim")
        text = f"{claim.get('person')} has bit {claim.get('bit')}" if isinstance(claim, dict) else "nothing"
        try:
            _verify(one, asked)
            if isinstance(line, dict) and "certificate" in line and (
                line.get("person"), line.get("bit")) != (one["claim"]["person"], one["claim"]["bit"]):  # fmt: skip
                raise CertificateError("the line says something else than its certificate")
            out.append((text, ""))
        except (CertificateError, TypeError, ValueError, KeyError) as error:
            out.append((text, str(error) or "it is malformed"))
    return out


def _verify(one: dict[str, Any], asked: QueryAnswers) -> None:
    """Check one certificate against the queries; `CertificateError` where it does not hold."""
    keys(one, {"recon_query_certificate", "file", "sha256", "claim", "multipliers", "seal"}, "the certificate")
    if one["recon_query_certificate"] != VERSION:
        raise CertificateError("it is of a format that this version does not read")
    if one["seal"] != digest({key: value for key, value in one.items() if key != "seal"}):
        raise CertificateError("its seal is broken: it was changed after it was written")
    if one["sha256"] != asked.sha256:
        raise CertificateError("it is about another file of queries")
    keys(one["claim"], {"person", "bit"}, "the claim")
    if one["claim"]["person"] not in asked.people:
        raise CertificateError("it is about nobody in the file")
    pairs = one["multipliers"]
    if not isinstance(pairs, list) or not all(isinstance(p, list) and len(p) == 2 for p in pairs):
        raise CertificateError("its multipliers are no pairs of a query and a number")
    queries = tuple(number(q, "multipliers") for q, _ in pairs)
    multipliers = tuple(number(y, "multipliers") for _, y in pairs)
    bit = number(one["claim"]["bit"], "claim.bit")
    check_bit(asked.counts, asked.people.index(one["claim"]["person"]), bit, BitProof(queries, multipliers))
