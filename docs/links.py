"""A hook of mkdocs: README.md and public names become pages, drawings pictures, links to other files their names."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path
from typing import Any

from griffe import Extension, Object
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OVERVIEW, API = "overview.md", "api.md"
GROUPS = {  # the public names of recon by what they are for; a name in no group fails the build
    "From a file or a model to a release": ("load", "encode", "attach_counts", "versions", "inspect", "Domain",
                                            "EncodedRelease", "Inspection", "TableOptions", "Tables"),
    "Worlds": ("count", "measure", "reconstruct", "worlds", "sample", "table", "plan", "export", "World", "Measures",
               "Plan"),
    "People": ("certify", "verify", "bound", "attribute", "positions", "labels", "targets", "difference", "Difference"),
    "What an adversary knows": ("Adversary", "population", "QueryAnswers", "secret_bits"),
    "Tables of areas, boosted models": ("variability", "determined", "remedies", "first_trees", "rounded"),
    "Noisy counts": ("denoise", "posterior", "sampled", "sweep", "Posterior", "SampledPosterior"),
    "Audits and attacks": ("audit", "Report", "attack_membership", "attack_correlation"),
    "Learners": ("GreedyRuleListClassifier", "DPGreedyRuleListClassifier", "BayesianRuleListClassifier",
                 "DPBayesianRuleListClassifier", "OptimalTreeClassifier", "OptimalRuleListClassifier"),
    "Limits and refusals": ("Limits", "ReconError", "ReleaseError", "Unsupported", "Inconclusive",
                            "ContradictionError"),
}  # fmt: skip
PICTURE = re.compile(r"(!\[[^\]]*\]\()docs/")
DRAWING = re.compile(r"^```mermaid\n.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


class FencedExamples(Extension):
    """Examples in docstrings (`>>>` up to the next empty line) as blocks of code."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Fence the examples of one docstring."""
        if obj.docstring is not None and ">>> " in obj.docstring.value:
            parts = re.split(r"(?m)^(>>> (?:.+\n?)+)", obj.docstring.value)
            fenced = [f"\n```pycon\n{part.rstrip()}\n```\n" if part.startswith(">>> ") else part for part in parts]
            obj.docstring.value = "".join(fenced)


def on_files(files: Files, config: Any) -> Files:
    """Return the pages with README.md among them, whose links lead to pages beside it, and the public names."""
    files.append(File.generated(config, OVERVIEW, content=(ROOT / "README.md").read_text(encoding="utf-8")))
    files.append(File.generated(config, API, content=reference()))
    return files


def reference() -> str:
    """Return the page of the public names, made from their docstrings; raises ValueError where a name has no group."""
    import recon

    listed = [name for names in GROUPS.values() for name in names]
    if missing := set(recon.__all__) - {"__version__"} ^ set(listed):
        raise ValueError(f"docs/links.py: GROUPS and recon.__all__ differ by {', '.join(sorted(missing))}")
    parts = ["# The Python interface", "Everything that `import recon` offers; nothing is loaded before it is used."]
    for title, names in GROUPS.items():
        parts += [f"## {title}", *(f"::: recon.{name}" for name in names)]
    return "\n\n".join(parts) + "\n"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the text of a page with links that lead to pages of the site, or to nothing."""
    here = ROOT if page.file.src_uri == OVERVIEW else ROOT / "docs"

    def led(found: re.Match[str]) -> str:
        text, link = found.groups()
        target, hash_, part = link.partition("#")
        if "://" in target or not target:
            return found.group()
        file = (here / target).resolve()
        if file == ROOT / "README.md":
            return f"[{text}]({OVERVIEW}{hash_}{part})"
        if file.parent == ROOT / "docs" or not file.exists():
            return f"[{text}]({file.name}{hash_}{part})" if here == ROOT else found.group()
        name = str(file.relative_to(ROOT))
        return text if name in text else f"{text} (`{name}`)"

    drawn = (f"![The drawing](figures/{Path(page.file.src_uri).stem}-{at}.svg)" for at in count(1))
    markdown = DRAWING.sub(lambda _: next(drawn), markdown)  # docs/drawn.py makes them
    return LINK.sub(led, PICTURE.sub(r"\1", markdown) if here == ROOT else markdown)
