"""The synthetic training data of every model file here: seeded, small, with names; no real person is in it.

Run once (`python make.py data`); the other parts of make.py read the CSV files, so that every library and version
sees the same rows.
The label is the last column (two labels in `two_labels.csv`); an empty cell is a missing value.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

DATA = Path(__file__).parent / "data"


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Binary, small integers, a decimal with one digit; the label is "no" or "yes"."""
    frame = pd.DataFrame(
        {
            "female": rng.integers(0, 2, n),
            "smoker": rng.integers(0, 2, n),
            "children": rng.integers(0, 5, n),
            "age": rng.integers(18, 81, n),
            "bmi": np.round(rng.normal(26, 4, n), 1),
        }
    )
    risk = (frame.age - 50) / 15 + frame.smoker + (frame.bmi - 26) / 6 + rng.normal(0, 0.8, n)
    return frame.assign(sick=np.where(risk > 0.4, "yes", "no"))


def plants(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Decimals and one binary column; three classes 0, 1, 2 of unequal size."""
    kind = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    return pd.DataFrame(
        {
            "length": np.round(rng.normal(5 + kind, 0.8), 1),
            "width": np.round(rng.normal(3 - 0.4 * kind, 0.5), 1),
            "wild": rng.integers(0, 2, n),
            "petals": rng.integers(3, 7, n) + kind,
            "kind": kind,
        }
    )


def gaps(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """People with missing ages and weights; the label is 0 or 1 and depends on being missing."""
    frame = people(rng, n)
    frame["age"] = frame["age"].astype(float)
    frame.loc[rng.random(n) < 0.25, "age"] = np.nan
    frame.loc[rng.random(n) < 0.15, "bmi"] = np.nan
    flip = frame["age"].isna() & (rng.random(n) < 0.6)
    return frame.assign(sick=((frame["sick"] == "yes") ^ flip).astype(int))


def shop(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Text categories beside numbers, for pipelines and for categorical splits; the label is "no" or "yes"."""
    city = rng.choice(["Berne", "Rome", "York", "Oslo"], n)
    grade = rng.choice(["low", "mid", "high"], n)
    age, income = rng.integers(18, 81, n), np.round(rng.gamma(4, 9, n), 1)
    score = (city == "Rome") * 1.0 + (grade == "high") * 1.2 + (age > 45) * 0.8 + income / 60 + rng.normal(0, 0.5, n)
    return pd.DataFrame(
        {"city": city, "grade": grade, "age": age, "income": income, "buys": np.where(score > 1.8, "yes", "no")}
    )


def bits(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Six binary columns, named as rule learners like them; the label is 0 or 1."""
    table = rng.integers(0, 2, (n, 6))
    names = ["age:<25", "age:25-44", "priors:=0", "priors:>3", "sex:male", "juvenile"]
    label = ((table[:, 0] & table[:, 3]) | table[:, 5]) ^ (rng.random(n) < 0.15)
    return pd.DataFrame(table, columns=names).assign(recid=label)


def visits(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """People with an integer target for regressors."""
    frame = people(rng, n).drop(columns="sick")
    return frame.assign(visits=rng.poisson(1 + frame.smoker + (frame.age > 50) * 2))


def two_labels(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Two labels of two and three classes."""
    frame = people(rng, n)
    sick = (frame.pop("sick") == "yes").astype(int)
    return frame.assign(sick=sick, stage=sick + (rng.random(n) < 0.3))


SETS = {"people": (people, 90), "plants": (plants, 80), "gaps": (gaps, 90), "shop": (shop, 100), "bits": (bits, 120)}
SETS |= {"visits": (visits, 80), "two_labels": (two_labels, 70)}


def make() -> None:
    """Write data/*.csv."""
    DATA.mkdir(exist_ok=True)
    for seed, (name, (build, n)) in enumerate(SETS.items()):
        build(np.random.default_rng([2023, seed]), n).to_csv(DATA / f"{name}.csv", index=False, lineterminator="\n")


def read(name: str, labels: int = 1) -> tuple[pd.DataFrame, pd.DataFrame | pd.Series]:
    """Return the features and the label (or labels) of one set."""
    frame = pd.read_csv(DATA / f"{name}.csv")
    y = frame[frame.columns[-labels:]]
    return frame[frame.columns[:-labels]], y.iloc[:, 0] if labels == 1 else y
