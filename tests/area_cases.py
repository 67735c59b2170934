"""Tiny areas with random tables: widths and radii against all pairs of data sets, listed apart from the engine.

With all tables, with one of them left out, and with noise on some.
"""

import itertools
import random
from collections import Counter
from contextlib import suppress
from fractions import Fraction

import numpy as np
import pandas as pd

from encoders.domain.domain import Domain
from encoders.domain.values import Categorical, Test
from recon.queries.tables.proofs import verify_areas
from recon.queries.tables.tables import Cell, Tables
from recon.queries.tables.variability import TriedNoise, variability
from solvers.foundation.errors import Unsupported
from solvers.foundation.limits import Limits
from solvers.statements.noise.laws import NoiseLaw

A, B = ("x", "y"), (1, 2, 3)
TUPLES = list(itertools.product(A, B))
DOMAIN = Domain((Categorical("a", A), Categorical("b", B)), None, {}, (), "declared")


def drawn(rng):
    """Return areas (name -> parent), people (area, tuple), cells (name -> tuples, conditions) and what is listed."""
    leaves = rng.randint(1, 3)
    areas = {"t": None} | {f"t:{i}": "t" for i in range(leaves)}
    if rng.random() < 0.3:  # three levels
        areas = {"t": None, "t:m": "t"} | {f"t:m:{i}": "t:m" for i in range(leaves)} | {"t:z": "t"}
    smallest = [a for a in areas if a not in areas.values()]
    people = [(rng.choice(smallest), rng.choice(TUPLES)) for _ in range(rng.randint(1, 4))]
    cells = {"all": (TUPLES, ((),))}
    for k in range(rng.randint(1, 7)):
        boxes = [(rng.sample(A, rng.randint(1, 2)), rng.sample(B, rng.randint(1, 3))) for _ in range(rng.randint(1, 2))]
        conditions = tuple((("a", Test(values=tuple(x))), ("b", Test(values=tuple(y)))) for x, y in boxes)
        cells[f"c{k}"] = [t for t in TUPLES if any(t[0] in x and t[1] in y for x, y in boxes)], conditions
    for t in TUPLES if rng.random() < 0.5 else []:  # tables that tell every tuple apart
        cells[f"{t}"] = [t], ((("a", Test(values=(t[0],))), ("b", Test(values=(t[1],)))),)
    listed = {}
    for area in areas:
        everything = area == "t" and rng.random() < 0.6
        for name, (held, _) in cells.items():
            if name == "all" or everything or rng.random() < 0.5:
                listed[area, name] = sum(within(a, area, areas) and t in held for a, t in people)
    return areas, smallest, people, cells, listed


def within(area, other, areas):
    return area == other or (areas[area] is not None and within(areas[area], other, areas))


def every_world(areas, smallest, people, cells, listed):
    """Return places and all data sets; what is listed is a count or the two numbers that it lies between."""
    places = [(a, t) for a in smallest for t in TUPLES]
    bounds = {key: value if isinstance(value, tuple) else (value, value) for key, value in listed.items()}
    low, high = bounds.get(("t", "all"), (len(people), len(people)))
    worlds = []
    for n in range(low, high + 1):
        every = list(itertools.combinations_with_replacement(range(len(places)), n))
        chosen = np.array(every, int).reshape(len(every), n)
        ok = np.ones(len(chosen), bool)
        for (area, name), (least, most) in bounds.items():
            hit = np.array([within(a, area, areas) and t in cells[name][0] for a, t in places])
            number = hit[chosen].sum(1)
            ok &= (least <= number) & (number <= most)
        worlds += [np.bincount(w, minlength=len(places)) for w in chosen[ok]]
    return places, worlds


def table(areas, cells, listed):
    made = [Cell(name, conditions, name) for name, (_, conditions) in cells.items()]
    return Tables([(a, c, v) for (a, c), v in listed.items()], made, areas, domain=DOMAIN, schema={"both": ["a", "b"]})


SCHEMAS = [None, ["a"], ["b"], ["b:2"], ["a", "b:2/3"], ["both"]]


def tried(seed):
    """Return what is wrong about the tables of a seed, and how much was looked at."""
    rng = random.Random(seed)
    areas, smallest, people, cells, listed = drawn(rng)
    cells |= {f"{k}{v}": ([t for t in TUPLES if t[k == "b"] == v], (((k, Test(values=(v,))),),))
              for k, values in (("a", A), ("b", B)) for v in values}  # fmt: skip
    tables, schema = table(areas, cells, listed), SCHEMAS[seed % len(SCHEMAS)]
    given = pd.DataFrame([(a, *t) for a, t in people], columns=["area", "a", "b"])
    wrong, told = [], Counter()
    try:
        found = variability(tables, schema=schema, around=given, relaxed=True, proofs=True, count=True)
    except Unsupported:  # the tables do not distinguish what the schema does
        return wrong, told
    lower = [cells[c][0] for a, c in listed if areas[a] is not None or len(areas) == 1]
    every = {"": (found, listed)}
    name = rng.choice([c for c in cells if c != "all"])
    noisy = [c for c in cells if rng.random() < 0.5 and (c != "all" or len(people) < 3)]
    with suppress(Unsupported):
        every["less"] = (variability(tables, schema=schema, around=given, without=[name], proofs=True),
                         {k: v for k, v in listed.items() if k[1] != name})  # fmt: skip
    with suppress(Unsupported):
        every["noisy"] = _with_noise(rng, tables, schema, given, noisy or [name], listed, wrong)
    for way, (answer, kept) in every.items():
        places, worlds = every_world(areas, smallest, people, cells, kept)
        center = np.bincount([places.index(p) for p in people], minlength=len(places))
        for area in answer.to_frame().itertuples():
            number: dict[str, int] = {}
            cell_of = [histogram_cell(schema, t, lower) if a == area.area else "" for a, t in places]
            keys = np.array([number.setdefault(c, len(number)) if c else -1 for c in cell_of])
            shown = [np.bincount(keys[keys >= 0], np.array(w)[keys >= 0]) for w in (*worlds, center)]
            if area.coupled_high is not None:
                far = max(np.abs(v - w).sum() for v in shown for w in shown)
                near = max(np.abs(w - shown[-1]).sum() for w in shown)
                wrong += _wrong(area, far, near, way, told)
                if (
                    not way
                    and schema is None
                    and (
                        area.certain > np.min(shown, axis=0).sum()
                        or len({v.tobytes() for v in shown}) > 2**area.log2_data_sets_high + 1e-9
                    )
                ):
                    wrong.append("people certain, or data sets")
        checked = verify_areas(list(answer.proofs), tables, Limits())
        wrong += [f"certificate: {c.error}" for c in checked if c.error]
        told["proofs"] += len(checked)
    return wrong, told


def _with_noise(rng, tables, schema, given, noisy, listed, wrong):
    """Return the answer with noise on some cells, and the intervals of their counts in place of them."""
    law = NoiseLaw(rng.choice(["discrete_gaussian", "discrete_laplace", "gaussian"]), Fraction(1, rng.randint(3, 6)))
    noise = TriedNoise(law, tuple(noisy), 0.8, rng.randrange(1000))
    answer = variability(tables, schema=schema, around=given, noise=noise)
    top = tables.top(0)
    numbers = {c.name: k for k, c in enumerate(tables.cells)}
    low, high = noise.intervals(top, np.array([numbers[c] for c in noisy]))
    kept = dict(listed)
    for area, cell in listed:
        if cell in noisy:
            i, k = top.names.index(area), numbers[cell]
            kept[area, cell] = int(low[i, k]), int(high[i, k])
            if not low[i, k] <= listed[area, cell] <= high[i, k]:
                wrong.append("interval without the count")
    return answer, kept


def _wrong(area, far, near, way, told):
    """Return what is wrong about the bounds of an area's distances."""
    for true, low, high, name in ((far, area.coupled_low, area.coupled_high, "width"),
                                  (near, area.radius_low, area.radius_high, "radius")):  # fmt: skip
        if not low - 1e-4 <= 100 * true / (2 * area.people) <= high + 1e-4:
            yield f"{way} {name}: {true} in {area.area}"
        told[way or name] += 1
        told[f"{way or name} exact"] += low == high
    orders = {"radius above width": area.radius_low <= area.coupled_high + 1e-4,
              "all above own": area.coupled_high <= area.alone_high + 1e-4,
              "width above two radii": area.coupled_low <= 2 * area.radius_high + 1e-4,
              "radius alone": area.radius_alone_low <= area.alone_high + 1e-4,
              "radii": area.radius_high <= area.radius_alone_high + 1e-4,
              "relaxed": bool(way) or (area.relaxed_high == 0) <= (area.coupled_high == 0)}  # fmt: skip
    yield from (f"{way} {name}" for name, holds in orders.items() if not holds)


def histogram_cell(schema, person, lower):
    """Return the cell of the histogram that a person is in, worked out from the words of the schema.

    An attribute without bins has those that the cells of smaller areas, `lower` (sets of tuples), distinguish.
    """
    if schema is None:
        return str([person in held for held in lower])

    def alike(k, v):
        others = A if k == "b" else B
        return [[((o, v) if k == "b" else (v, o)) in held for o in others] for held in lower]

    whole = {"a": str(alike("a", person[0])), "b": str(alike("b", person[1])), "b:2": person[1] >= 2,
             "b:2/3": person[1]}  # fmt: skip
    names = ["a", "b"] if schema == ["both"] else schema
    return str([whole[name] for name in names])
