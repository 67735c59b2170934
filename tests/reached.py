"""Which functions and classes of ours no command, public name or module body reaches: dead, or alive by tests alone.

    python tests/reached.py

A name is followed where its module defines or imports it; an attribute and a text such as `room.module:function` reach
everything of that name, so that what is listed is unreached for certain, and not all that is unreached is listed.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from sources import ROOT, SOURCES, tree_of

Definition = tuple[str, str]  # a module, and a function, class or Class.method in it
ENTRIES = {  # called by Python, by notebooks, or in a process of their own that is told their name piece by piece
    "__dir__", "__getattr__", "_repr_html_", "serve", "in_dl85", "in_streed",
}  # fmt: skip
CACHES = re.compile(r"(functools\.)?(cache|lru_cache|wraps|singledispatch)\b|(contextlib\.)?\w*contextmanager|overload")


def modules() -> dict[str, ast.Module]:
    """Return our modules by name."""
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in SOURCES)
    return dict(zip(names, map(tree_of, SOURCES), strict=True))


class Graph:
    """Who mentions whom."""

    def __init__(self) -> None:
        self.modules = modules()
        self.defined: dict[Definition, ast.AST] = {}
        self.named: dict[str, set[Definition]] = defaultdict(set)
        self.imported: dict[str, dict[str, set[Definition]]] = {}
        for module, tree in self.modules.items():
            imported = self.imported[module] = defaultdict(set)
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    for alias in node.names:
                        imported[alias.asname or alias.name].add((node.module, alias.name))
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    self._define(module, node.name, node)
                for part in node.body if isinstance(node, ast.ClassDef) else ():
                    if isinstance(part, ast.FunctionDef) and not part.name.startswith("__"):
                        self._define(module, f"{node.name}.{part.name}", part)

    def _define(self, module: str, name: str, node: ast.AST) -> None:
        self.defined[module, name] = node
        self.named[name.rpartition(".")[2]].add((module, name))

    def mentioned(self, module: str, root: ast.AST) -> Iterator[Definition]:
        """Yield what a piece of a module mentions; the methods of a class are mentioned by name alone."""
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.Name):
                yield from {(module, node.id), *self.imported[module].get(node.id, ())} & self.defined.keys()
            elif isinstance(node, ast.Attribute):
                yield from self.named.get(node.attr, ())
            elif (
                isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"[\w.:]+", node.value)
            ):
                for word in re.findall(r"\w+", node.value):
                    yield from self.named.get(word, ())
            for part in ast.iter_child_nodes(node):
                method = node is root and self._of_our_own(module, root) and isinstance(part, ast.FunctionDef)
                if not method or part.name.startswith("__"):
                    stack.append(part)
                else:
                    stack += part.decorator_list

    def _of_our_own(self, module: str, node: ast.AST) -> bool:
        """Return whether a class is derived from none of others, whose methods others call."""
        bases = node.bases if isinstance(node, ast.ClassDef) else []
        known = [next(self.mentioned(module, base), None) for base in bases]
        return isinstance(node, ast.ClassDef) and all(
            one or ast.unparse(base).partition("[")[0].rpartition(".")[2] in {"ABC", "Generic", "Protocol", "Exception"}
            for one, base in zip(known, bases, strict=True)
        )

    def starts(self) -> Iterator[Definition]:
        """Yield what module bodies mention, what decorators register, public names and what Python itself calls."""
        for module, tree in self.modules.items():
            for node in tree.body:
                if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
                    yield from self.mentioned(module, node)
                for decorator in getattr(node, "decorator_list", ()):
                    yield from self.mentioned(module, decorator)
                    if isinstance(node, ast.FunctionDef) and not CACHES.match(ast.unparse(decorator)):
                        yield from self.mentioned(module, node)  # registered: others call it by no name of its own
                        yield module, node.name
                if module == "recon" and isinstance(node, ast.If):
                    for one in ast.walk(node):
                        if isinstance(one, ast.ImportFrom):
                            yield from {(one.module or "", alias.name) for alias in one.names} & self.defined.keys()
        for name in ("main", *ENTRIES):
            yield from self.named.get(name, ())
        yield from (one for one in self.defined if one[0].startswith("encoders.kinds.") and one[1].endswith("Encoder"))

    def unreached(self) -> list[str]:
        """Return what nothing reaches, methods of unreached classes left out."""
        reached: set[Definition] = set()
        stack = list(self.starts())
        while stack:
            one = stack.pop()
            if one not in reached and one in self.defined:
                reached.add(one)
                stack += self.mentioned(one[0], self.defined[one])
        left = self.defined.keys() - reached
        return sorted(f"{m}.{name}" for m, name in left if "." not in name or (m, name.partition(".")[0]) in reached)


if __name__ == "__main__":
    print(*Graph().unreached(), sep="\n")
