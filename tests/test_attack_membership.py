"""Membership attacked and certified: about the same rows, right by hand, honest about what was not done."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from extras import extra
from test_hostile_text import FORGED, HOSTILE, harmless

import recon
from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Continuous
from encoders.models.models import ModelNode, Support, Tree
from recon.attacks.attacking.membership import ALWAYS, attack_membership
from recon.attacks.attacking.records import population, splits
from recon.report.membership_report import DIFFERENCE, MembershipReport
from solvers.foundation.errors import ReleaseError, Unsupported
from solvers.foundation.limits import Limits

RELEASES = Path(__file__).parents[1] / "examples" / "releases"

extra("sklearn")
BITS = [f"b{i}" for i in range(6)]


def people(rows, seed):
    rng = np.random.default_rng(seed)
    x = (rng.random((rows, 6)) < 0.4).astype(int)
    y = (x[:, 0] + x[:, 1] + rng.random(rows) > 1.2).astype(int)
    return pd.DataFrame(x, columns=BITS).assign(ill=y)


def fitted(frame, domain, **settings):
    from sklearn.tree import DecisionTreeClassifier

    model = DecisionTreeClassifier(random_state=0, **settings).fit(frame.drop(columns="ill"), frame["ill"])
    return recon.encode(model, domain)


DOMAIN = Domain(tuple(Categorical(b, (0, 1)) for b in BITS), Categorical("ill", (0, 1)))
TRAIN, OTHERS = people(90, 1), people(70, 2)


@pytest.fixture(scope="module")
def release():
    return fitted(TRAIN, DOMAIN)


@pytest.fixture(scope="module")
def found(release):
    return attack_membership(release, TRAIN, OTHERS, attacks=("mia", "label-only"), shadow=("noise",), seed=4)


def times(frame):
    return Counter(map(tuple, frame.to_numpy().tolist()))


@pytest.mark.slow
def test_certified_figures_are_the_verdicts_counted_one_by_one(release, found):
    half = len(OTHERS) - len(OTHERS) // 2
    assert (found.certified.members, found.certified.others) == (90, half) == found.asked
    verdict = {}
    for row in {*times(TRAIN), *times(OTHERS)}:
        line = recon.certify(release, pd.DataFrame([row], columns=[*BITS, "ill"]), certificates=False)
        verdict[row] = line["verdict"].iloc[0]
    proved = sum(n for row, n in times(TRAIN).items() if verdict[row] == "certain")
    assert found.certified.members_in == proved > 0
    assert found.certified.tpr == proved / 90
    assert found.certified.errors == 0
    assert found.certified.broken == ()
    low, high = found.certified.tpr_low, found.certified.tpr_high
    assert low < proved / 90 < high
    settled = found.certified.members + found.certified.others - found.certified.open_rows
    assert found.certified.coverage == pytest.approx(settled / (90 + half))


@pytest.mark.slow
def test_guesses_are_about_the_same_rows(found):
    all_rows = [one.evaluation for one in found.statistical if one.rows == "all"]
    assert {(one.members, one.others) for one in all_rows} == {found.asked}
    balanced = [one.evaluation for one in found.statistical if one.rows == "balanced"]
    assert {one.members for one in balanced} == {one.others for one in balanced} == {min(found.asked)}
    assert [one.attack for one in found.statistical if one.rows == "all"] == [ALWAYS, "mia", "label-only"]
    first = found.statistical[0].evaluation
    assert (first.recall, first.fpr, first.advantage, first.auc) == (1, 1, 0, 0.5)
    assert first.precision == 90 / sum(found.asked)


def test_rows_on_both_sides_are_counted_and_rows_that_occur_once_judged_alone(found):
    inside = times(TRAIN)
    assert found.duplicates.members_both <= sum(n for row, n in inside.items() if row in times(OTHERS))
    alone = next(one.evaluation for one in found.statistical if one.rows == "once")
    both = times(pd.concat([TRAIN, OTHERS]))
    assert alone.members == sum(both[row] == 1 for row in inside)
    assert alone.others <= sum(both[row] == 1 for row in times(OTHERS))
    assert 0 < found.certified.both <= found.asked[1]


def test_the_seed_decides_everything(release, found):
    again = attack_membership(release, TRAIN, OTHERS, attacks=("label-only",), shadow=("noise",), seed=4)
    pick = [one.evaluation for one in found.statistical if one.attack == "label-only"]
    assert [one.evaluation for one in again.statistical if one.attack == "label-only"] == pick
    other = attack_membership(release, TRAIN, OTHERS, attacks=("label-only",), shadow=("noise",), seed=5)
    assert [one.evaluation for one in other.statistical if one.attack == "label-only"] != pick


def test_one_table_with_a_member_column_is_the_same(release):
    both = pd.concat([TRAIN.assign(inside=1), OTHERS.assign(inside=0)], ignore_index=True)
    settings = {"attacks": ("label-only",), "shadow": ("noise",)}
    one = attack_membership(release, both, member="inside", **settings)
    two = attack_membership(release, TRAIN, OTHERS, **settings)
    assert one.statistical == two.statistical
    assert one.certified == two.certified


@pytest.mark.slow
def test_folds_ask_about_every_row_once_and_average(release):
    found = attack_membership(release, TRAIN, OTHERS, attacks=("label-only",), shadow=("noise",), folds=3)
    assert found.asked == (90, 70)
    per = [one.evaluation for one in found.statistical if (one.attack, one.rows) == ("label-only", "all")]
    assert len(per) == 3
    assert sum(one.members for one in per) == 90
    assert sum(one.others for one in per) == 70
    auc = next(f["auc"] for name, _, rows, f in found.averaged if (name, rows) == ("label-only", "all"))
    assert auc.mean == pytest.approx(np.mean([one.auc for one in per]))
    assert auc.low < auc.mean < auc.high
    text = MembershipReport(found).to_text()
    assert "means over 3 folds" in text
    assert "  TPR at FPR 0.1 %: " in text
    assert "  as many of both: precision " in text
    assert "other rows in each fold" in text


@pytest.mark.parametrize("folds", [1, 2, 5])
def test_the_attacker_has_other_rows_than_those_asked_about(release, folds):
    found = population(release, TRAIN, OTHERS)
    every = splits(found, folds, 1000, np.random.default_rng(0))
    for one in every:
        assert not set(one.shadow) & set(one.asked)
        assert not found.member[one.shadow].any()
        assert {*one.shadow, *one.asked} >= set(found.others)
    assert sorted(np.concatenate([one.asked[found.member[one.asked]] for one in every])) == found.members.tolist()


def test_the_limit_bounds_how_many_rows_are_asked_about(release):
    found = attack_membership(release, TRAIN, OTHERS, attacks=("label-only",), shadow=("noise",), limit=20)
    assert found.asked == (20, 20)
    assert (found.members, found.others, found.shadow_rows) == (90, 70, 35)


@pytest.mark.slow
def test_a_learner_that_memorises_is_found_out():
    """Random labels, a full-grown tree on numbers: it is right about its training rows and half of the others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc")).assign(ill=rng.integers(0, 2, 400))
    domain = Domain(tuple(Continuous(c) for c in "abc"), Categorical("ill", (0, 1)))
    train, others = frame[:200], frame[200:].reset_index(drop=True)
    release = fitted(train, domain)
    found = attack_membership(release, train, others, shadow=("noise",))
    by_name = {one.attack: one.evaluation for one in found.statistical if one.rows == "all"}
    assert found.accuracy == (1.0, pytest.approx(0.5, abs=0.1))
    assert by_name["label-only"].auc_low > 0.55
    assert by_name["aloa"].auc_low > 0.55  # it has continuous columns here
    assert all(one.attack == "mia" for one in found.not_run)  # a full-grown tree gives labels only
    assert found.certified.errors == 0


def test_aloa_without_continuous_columns_is_refused_by_name_and_not_run(release):
    found = attack_membership(release, TRAIN, OTHERS, attacks=("label-only", "aloa"), shadow=("noise", "random"))
    assert {(one.attack, one.shadow, one.refused) for one in found.not_run} == {
        ("aloa", "noise", True), ("aloa", "random", True),
    }  # fmt: skip
    assert not [one for one in found.statistical if one.attack == "aloa"]
    text = MembershipReport(found).to_text()
    assert "aloa does not apply (shadow data noise, random): there are no continuous columns" in text
    assert found.status == "exact"
    with pytest.raises(Unsupported, match="no attack applies: aloa: there are no continuous columns"):
        attack_membership(release, TRAIN, OTHERS, attacks=("aloa",))


@pytest.mark.slow
def test_rows_that_the_release_is_not_about_are_called_so(release):
    """Others called training rows: what is proved of the true ones differs, and the report says why."""
    found = attack_membership(release, OTHERS, TRAIN, attacks=("label-only",), shadow=("noise",), folds=2)
    assert found.certified.broken[0].startswith("the release is of 90 rows, the truth has 70")
    inside, errors = times(OTHERS), Counter()
    for row, n in times(pd.concat([OTHERS, TRAIN])).items():
        line = recon.certify(release, pd.DataFrame([row], columns=[*BITS, "ill"]), certificates=False)
        errors[line["verdict"].iloc[0], row in inside] += n
    assert min(errors["certain", False], errors["impossible", True]) > 0
    assert found.certified.errors == errors["certain", False] + errors["impossible", True]
    text = MembershipReport(found).to_text()
    assert "contradict the release: the release is of 90 rows" in text
    assert "they are not (all) the rows it was made from" in text


def test_rows_that_leave_an_attribute_open_are_certified_but_not_compared(release):
    wider = Domain((*DOMAIN.attributes, Categorical("extra", (0, 1))), DOMAIN.label)
    found = attack_membership(recon.encode(recon_model(), wider), TRAIN, OTHERS, attacks=("label-only",),
                              shadow=("noise",))  # fmt: skip
    assert found.certified.broken is None
    assert found.certified.errors == 0


def recon_model():
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0, max_depth=4).fit(TRAIN[BITS], TRAIN["ill"])


def test_rows_outside_the_domain_are_counted_and_say_so():
    from encoders.domain.values import Grid

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(20, 60, 120), "s": rng.integers(0, 2, 120)})
    frame["ill"] = ((frame["age"] > 40) ^ (rng.random(120) < 0.2)).astype(int)
    domain = Domain((Grid.between("age", 20, 59), Categorical("s", (0, 1))), Categorical("ill", (0, 1)))
    release = fitted(frame[:80], domain, max_depth=4)
    beyond = frame[80:].assign(age=[95, 96, *frame["age"][82:]]).reset_index(drop=True)
    found = attack_membership(release, frame[:80], beyond, attacks=("label-only",), shadow=("noise",), folds=2)
    assert found.certified.outside == 2
    assert "outside the domain, so that nothing was asked: 2 rows" in MembershipReport(found).to_text()


def test_without_time_nothing_is_claimed_and_what_is_missing_is_listed(release):
    found = attack_membership(release, TRAIN, OTHERS, limits=Limits(seconds=0.0))
    assert found.certified is None
    assert found.status == "bounds"
    assert {(one.attack, one.refused) for one in found.not_run} == {(n, False) for n in ("mia", "label-only", "aloa")}
    assert [one.attack for one in found.statistical] == [ALWAYS]
    text = MembershipReport(found).to_text()
    assert "mia was not finished (shadow data random, statistical, noise): the time was up" in text
    assert "nothing was certified: the time was up while rows were certified" in text


def test_stopped_in_between_what_is_there_is_kept(release):
    limits = Limits()

    def heard(text):
        if text.startswith("mia"):
            limits.stop.set()

    limits = Limits(progress=heard, stop=limits.stop)
    found = attack_membership(release, TRAIN, OTHERS, attacks=("mia", "label-only"), shadow=("noise",), limits=limits)
    assert found.certified.members_in > 0
    assert found.status == "bounds"
    assert [one.why for one in found.not_run] == ["stopped", "stopped"]


def test_noisy_counts_are_certified_at_their_confidence():
    noisy = recon.load(str(RELEASES / "noisy_tree.json"))
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.choice(["young", "old"], 90), "smoker": rng.integers(0, 2, 90),
                         "ill": rng.choice(["no", "yes"], 90)})  # fmt: skip
    found = attack_membership(noisy, rows[:60], rows[60:], attacks=("label-only",), shadow=("noise",))
    assert found.certified.confidence == 0.95
    assert "at confidence 0.95 over the noise" in MembershipReport(found).to_text()


@pytest.mark.slow
def test_noisy_counts_far_above_their_noise_prove_members_at_their_confidence():
    from encoders.encode.encoder import encode
    from encoders.models.models import Noise
    from solvers.statements.noise.laws import NoiseLaw

    domain = Domain((Categorical("s", (0, 1)),), Categorical("ill", (0, 1)))
    noise = Noise(NoiseLaw("discrete_laplace", Fraction(1)), Fraction(1), Fraction(0), Fraction(1), "add_remove")
    nodes = (
        ModelNode(Support(), (("s", recon_test(1)),), 1, 2),
        ModelNode(Support((40, -1))),
        ModelNode(Support((2, 60))),
    )
    release = encode(domain, [Tree(nodes, noise=noise)])
    rows = pd.DataFrame({"s": [1] * 40 + [0] * 62, "ill": [0] * 42 + [1] * 60})
    found = attack_membership(release, rows, rows.iloc[::5].reset_index(drop=True), attacks=("mia",), shadow=("noise",))
    assert found.certified.members_in == 100  # (1, 0) and (0, 1), not the two of which nothing is sure
    assert (found.certified.confidence, found.certified.errors) == (0.95, 0)


REFUSED = [
    ({"data": None}, "no data beside the model"),
    ({"others": None}, "rows that were not trained on are needed"),
    ({"member": "ill"}, "give one of them"),
    ({"data": TRAIN[:0]}, "there are no rows"),
    ({"others": OTHERS[:0]}, "there are no rows"),
    ({"others": OTHERS.drop(columns="b3")}, "the columns differ .* 'b3' in one of them only"),
    ({"data": TRAIN.assign(shoe=1), "others": OTHERS.assign(shoe=1)}, "'shoe' is neither an attribute nor a column"),
    ({"data": TRAIN.drop(columns="b0"), "others": OTHERS.drop(columns="b0")}, "the model tests 'b0'.*lack the column"),
    (
        {"data": TRAIN.assign(ill=1), "others": OTHERS.assign(ill=1)},
        "all rows have the label 'ill' = 1: one class only",
    ),
    ({"data": TRAIN.assign(ill=[7, *TRAIN["ill"][1:]])}, "row 1: the label 'ill' is 7, which the model does not know"),
    ({"data": TRAIN.assign(b1=[None, *TRAIN["b1"][1:]])}, "row 1: column 'b1' is empty"),
    ({"data": TRAIN.assign(b1=[3, *TRAIN["b1"][1:]])}, "row 1: column 'b1' holds 3"),
    ({"data": TRAIN.drop(columns="ill"), "others": OTHERS.drop(columns="ill")}, "no column 'ill', the model's label"),
    ({"others": OTHERS[:5]}, "5 rows that were not trained on leave 2 to the attacker, who needs 4"),
    ({"folds": 80}, "70 rows that were not trained on cannot be cut into 80 folds"),
    ({"attacks": ("magic",)}, "no attack 'magic'"),
    ({"shadow": ("moon",)}, "no shadow data 'moon'"),
    ({"confidence": 1.0}, "lies between 0 and 1"),
    ({"seed": -1}, "the seed has to be a whole number, 0 or more"),
    ({"others": OTHERS[:1]}, "1 row that was not trained on leaves 0 to the attacker"),
]


@pytest.mark.parametrize(("change", "said"), REFUSED, ids=[said[:30] for _, said in REFUSED])
def test_bad_input_is_refused_in_a_sentence(release, change, said):
    given = {"data": TRAIN, "others": OTHERS} | change
    with pytest.raises(ReleaseError, match=said):
        attack_membership(release, given.pop("data"), given.pop("others"), **given)


@pytest.mark.parametrize(
    ("cells", "said"),
    [([1] * 90, "calls every row a training row"), ([0] * 90, "calls no row a training row"),
     ([1, 2] * 45, "row 2: the column 'in' .* not 2")],
)  # fmt: skip
def test_a_member_column_of_one_kind_is_refused(release, cells, said):
    with pytest.raises(ReleaseError, match=said):
        attack_membership(release, TRAIN.assign(**{"in": cells}), member="in")
    with pytest.raises(ReleaseError, match="no column 'nope'"):
        attack_membership(release, TRAIN, member="nope")


def test_constant_columns_are_named_and_all_constant_is_refused(release):
    found = attack_membership(release, TRAIN.assign(b5=0), OTHERS.assign(b5=0), attacks=("label-only",),
                              shadow=("noise",))  # fmt: skip
    assert any("constant in all rows" in note and "'b5'" in note for note in found.notes)
    zeros = dict.fromkeys(BITS, 0)
    with pytest.raises(ReleaseError, match="every column is constant"):
        attack_membership(release, TRAIN.assign(**zeros), OTHERS.assign(**zeros))


def test_json_and_pages_show_the_same_figures(found):
    report = MembershipReport(found)
    said = json.loads(report.to_json())
    assert (said["attack"], said["kind"], said["status"]) == (1, "membership", "exact")
    keys = {"file", "read_from", "statistical", "certified", "assumptions", "seed", "not_run", "difference", "rows"}
    assert keys <= said.keys()
    assert said["certified"]["tpr_at_fpr_0"] == found.certified.tpr
    assert said["certified"]["data_is_a_world"] is True
    line = next(one for one in said["statistical"] if one["attack"] == "label-only" and one["rows"] == "all")
    wanted = next(one.evaluation for one in found.statistical if one.attack == "label-only" and one.rows == "all")
    assert {k: line[k] for k in ("auc", "fpr", "advantage")} == {
        k: getattr(wanted, k) for k in ("auc", "fpr", "advantage")
    }
    for text in (report.to_text(), report.to_markdown(), report.to_html()):
        assert "STATISTICAL" in text
        assert text.index("STATISTICAL") < text.index("CERTIFIED") < text.index("difference is")
    assert DIFFERENCE in report.to_text()


def test_hostile_names_stay_inert_in_every_format():
    domain = Domain(
        (Categorical(HOSTILE, ("a", "b", "c")), Categorical("n", (0, 1))), Categorical(f"y{HOSTILE}", (0, 1))
    )
    nodes = (
        ModelNode(Support(), ((HOSTILE, recon_test("a")),), 1, 2),
        ModelNode(Support((15, 5))),
        ModelNode(Support((5, 15))),
    )
    from encoders.encode.encoder import encode

    release = encode(domain, [Tree(nodes, name=HOSTILE)])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({HOSTILE: rng.choice(list("abc"), 80), "n": 1, f"y{HOSTILE}": rng.integers(0, 2, 80)})
    found = attack_membership(release, rows[:40], rows[40:], attacks=("label-only",), shadow=("statistical",))
    report = MembershipReport(found)
    for text in (report.to_text(), report.to_markdown(), report.to_html(), report.to_json()):
        harmless(text, "a report")
    assert "<b>" not in report.to_html()
    assert FORGED not in report.to_text().splitlines()


def recon_test(value):
    from encoders.domain.values import Test

    return Test(values=(value,))


def test_without_scikit_learn_nothing_is_called_an_attack_that_does_not_apply(release, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(Unsupported, match=r"need scikit-learn: pip install '\.\[sklearn\]'"):
        attack_membership(release, TRAIN, OTHERS, attacks=("label-only",), shadow=("noise",))
