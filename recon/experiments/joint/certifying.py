"""Who was trained on: what certificates prove and what attacks guess, about the same rows of the same releases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from encoders.encode.encoder import EncodedRelease
from recon.attacks.attacking.membership import Judged, guesses, judged
from recon.attacks.attacking.records import Population, RecordSplit, population, splits
from recon.attacks.evaluation.duplicates import both_sides, duplicates, once
from recon.attacks.evaluation.figures import Evaluation, evaluated
from recon.attacks.membership.attacks import attack, attacked
from recon.attacks.membership.shadow_data import knowledge
from recon.experiments.experiment import Point, Row
from recon.experiments.joint.releases import COUNTED, domain_of, leaves, published, shuffled_rows
from recon.learners.rule_lists.vulnerability import vulnerability_of
from recon.queries.prediction.records import Bits, Ints, predicted
from recon.queries.questions.questions import certify
from solvers.foundation.errors import ReleaseError
from solvers.foundation.limits import Limits

ATTACKS = ("mia", "label-only", "aloa")
CERTIFYING = 25.0  # seconds for the verdicts in one domain


@dataclass(frozen=True, eq=False)
class JointVerdicts:
    """What a release proves of rows (members and others): proved in, proved out, else open; of values, not persons.

    `wrong`: rows of which the opposite of the truth was proved; the truth about a row that is both inside and outside
    is that it is inside. `single`: rows that occur once among all, inside and outside: their membership is
    well defined. `certificates`: verdicts on distinct rows
    with a certificate, each verified, of `settled` ones.
    """

    inside: Bits
    outside: Bits
    wrong: Bits
    member: Bits
    single: Bits
    certificates: int
    settled: int
    unknown: int
    confidence: float

    def worth(self, index: Bits) -> Evaluation:
        """Return the verdicts on some rows as a guess: proved in above open above proved out."""
        scores = self.inside.astype(np.float64) - self.outside.astype(np.float64)
        return evaluated(scores[index], self.inside[index], self.member[index])

    def row(self) -> Row:
        """Return the figures; shares of members or of others, coverage of all; the same of rows that occur once."""
        member, single = self.member, self.single
        worth = self.worth(np.ones(len(member), dtype=bool))
        found: Row = {
            "members_in": float(self.inside[member].mean()), "others_out": float(self.outside[~member].mean()),
            "coverage": float((self.inside | self.outside).mean()), "errors": int(self.wrong.sum()),
            "others_in": int(self.inside[~member].sum()), "verdicts": len(member), "auc": worth.auc,
            "auc_low": worth.auc_low, "auc_high": worth.auc_high, "certificates": self.certificates,
            "settled_rows": self.settled, "unknown": self.unknown, "confidence": self.confidence,
        }  # fmt: skip
        if member[single].any() and not member[single].all():
            found |= {
                "members_once": int((single & member).sum()), "others_once": int((single & ~member).sum()),
                "members_in_once": float(self.inside[single & member].mean()),
                "others_out_once": float(self.outside[single & ~member].mean()),
                "others_in_once": int(self.inside[single & ~member].sum()), "auc_once": self.worth(single).auc,
            }  # fmt: skip
        return found


def compared(point: Point, frame: pd.DataFrame, limits: Limits) -> list[Row]:
    """Return a line about the model, one per domain of certificates, one per attack, shadow data and choice of rows.

    `rows` training rows, as many others where there are: half of these are the attackers' shadow rows.
    """
    inside, others = shuffled_rows(frame, point["rows"], point["rows"], point["seed"])
    of = published(point["learner"], inside, point.parameters, limits)
    found = population(of.over(domain_of(frame, COUNTED[0])), inside, others)
    asked = splits(found, 1, point["asked"], np.random.default_rng(point["seed"]))[0]
    out: list[Row] = [{"what": "model", **about(found, asked), "fidelity": of.fidelity}]
    if of.rules is not None:
        y = str(frame.columns[-1])
        one, other = ((part.drop(columns=y), part[y]) for part in (inside, others))
        out[0] |= {"v": vulnerability_of(of.rules, one, other),
                   "v_authors": vulnerability_of(of.rules, one, other, "authors")}  # fmt: skip
    for counted in COUNTED:
        limits.check("rows are certified")
        release = found.release if counted == COUNTED[0] else of.over(domain_of(frame, counted))
        proved = verdicts(release, found, asked.asked, limits)
        out.append({"what": "certificates", "counted": counted, **proved.row()})
    for said in [*guesses(found, asked, ATTACKS, point["shadow"].split(), point["seed"], limits, 0, 0.95),
                *additive(found, asked, point["seed"], limits)]:  # fmt: skip
        if isinstance(said, Judged):
            out.append({"what": "attack", "attack": said.attack, "shadow": said.shadow, "asked_rows": said.rows,
                        "note": said.note, **said.evaluation.row()})  # fmt: skip
        else:
            out.append({"what": "refused", "attack": said.attack, "shadow": said.shadow, "note": said.why})
    return out


def verdicts(release: EncodedRelease, found: Population, asked: Ints, limits: Limits) -> JointVerdicts:
    """Return what a release (of the population's model, over any domain) proves of the rows asked about."""
    number = found.number
    truly = np.bincount(number[found.member], minlength=int(number.max()) + 1) > 0
    distinct, first, back = np.unique(number[asked], return_index=True, return_inverse=True)
    lines = certify(release, found.table(asked[first]), limits=limits.lasting(min(CERTIFYING, limits.left())))
    word = lines["verdict"].to_numpy(dtype=object)
    least = pd.to_numeric(lines["min_count"]).fillna(0).to_numpy(dtype=float)
    if (word == "outside").any():
        raise ReleaseError("some row of the data is outside the domain that was read off them")
    inside, outside = least > 0, word == "impossible"
    wrong = (inside & ~truly[distinct]) | (outside & truly[distinct])
    return JointVerdicts(
        inside[back], outside[back], wrong[back], found.member[asked],
        once(number)[asked], int(lines["certificate"].notna().sum()),
        int((inside | outside).sum()), int((word == "unknown")[back].sum()), float(release.confidence),
    )  # fmt: skip


def about(found: Population, asked: RecordSplit) -> Row:
    """Return the model's size and accuracy on members and others asked about, and how rows repeat."""
    member = found.member[asked.asked]
    x, y = found.rows.x[asked.asked], found.rows.y[asked.asked]
    right = predicted(found.box, x, len(found.rows.classes)) == y
    again = duplicates(found.number[asked.asked], member)
    return {
        "leaves": leaves(found.box.model), "accuracy_members": float(right[member].mean()),
        "accuracy_others": float(right[~member].mean()), "members": int(member.sum()), "others": int((~member).sum()),
        "distinct": again.distinct, "best_auc": again.best_auc,
        "both_sides": float(both_sides(found.number[asked.asked], member).mean()),
    }  # fmt: skip


def additive(found: Population, asked: RecordSplit, seed: int, limits: Limits) -> Iterator[Judged]:
    """Yield what the agnostic attack is worth that flips bits, under the shadow data that it is meant for."""
    rng = np.random.default_rng([seed, 1])
    known = knowledge("random", found.rows.columns, len(found.rows.classes), len(asked.shadow), rng)
    one = attack("aloa", additive=True)
    x, y = found.rows.x[asked.asked], found.rows.y[asked.asked]
    if one.refuses(found.box, known) is None:
        guess = attacked(one, found.box, known, x, y, seed, limits)
        member, single = found.member[asked.asked], once(found.number)[asked.asked]
        yield from judged(guess, one.name, "random", member, single, seed, 0, 0.95)
