"""Tables of the documentation that benches print: `python tests/bench/tables.py` writes them from the kept results.

In docs/*.md a table stands between `<!-- results of BENCH: BEGINNING -->` (lines whose names begin so; without it: all)
and `<!-- end of results -->`. tests/test_bench_harness.py fails where a table is not that of the results.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from records import KINDS, RESULTS, figure, told

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^(<!-- results of (\w+)(?:: (.*?))? -->\n).*?(<!-- end of results -->)", re.DOTALL | re.MULTILINE)


def natural(name: str) -> list[Any]:
    """Return what names are sorted by: numbers by their values."""
    parts = re.split(r"(\d[\d,]*\.?\d*)", name)
    return [(float(x.replace(",", "")), "") if k % 2 else (0.0, x) for k, x in enumerate(parts)]


def table(bench: str, beginning: str = "") -> str:
    """Return the lines of a bench that begin so as a Markdown table, and when and where they were measured."""
    kept = json.loads((RESULTS / f"{bench}.json").read_text(encoding="utf-8"))
    lines = {n: kept["lines"][n] for n in sorted(kept["lines"], key=natural) if n.startswith(beginning)}
    assert lines, f"{bench}: no line begins with '{beginning}'"
    facts = list(dict.fromkeys(k for one in lines.values() for part in KINDS for k in one.get(part, {})))
    baselines = {one["baseline"] for one in lines.values()}
    shared = baselines.pop() if len(baselines) == 1 else None
    columns = ["", "CPU s", f"÷ {shared}" if shared else "ratio to", "peak MB (before)", *facts]
    out = [f"| {' | '.join(columns)} |", f"|---|--:|--:|--:{'|---' * len(facts)}|"]
    for name, one in lines.items():
        ratio = figure(one["ratio"]) + ("" if shared else f" ({one['baseline']})")
        cells = [name.removeprefix(beginning).strip(" :,") or name, figure(one["cpu"]), ratio]
        cells.append(f"{one['peak_mb']:,}" + (f" ({one['before_mb']:,})" if one["before_mb"] else ""))
        own = {k: v for part in KINDS for k, v in one.get(part, {}).items()}
        out.append(f"| {' | '.join([*cells, *(told(own[k]) if k in own else '' for k in facts)])} |")
    days = sorted({one["date"] for one in lines.values()})
    where = sorted({kept["environments"][one["environment"]]["machine"] for one in lines.values()})
    return "\n".join([*out, "", f"({' to '.join(dict.fromkeys((days[0], days[-1])))}; {'; '.join(where)})", ""])


def filled(text: str) -> str:
    """Return a page with its tables as the results have them."""
    return BLOCK.sub(lambda found: f"{found[1]}{table(found[2], found[3] or '')}{found[4]}", text)


if __name__ == "__main__":
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, encoding="utf-8")
            print(page)
