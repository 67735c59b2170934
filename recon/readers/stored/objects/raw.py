"""Objects of a stored file that were never built: what would be called, with what, and the state it would get.

Which names a stored file may mention, and which ones mean that opening it would run code.

Naming is all that ever happens here: no name is imported. The refusals are a service to the reader of the file, who
would otherwise open it elsewhere. The standard library is an allow-list (what honest model files name); other
libraries are refused where they are known to load or run what they are given. Where the gadgets come from: fickling's
and picklescan's lists, CVE-2024-37065 and CVE-2025-54413 (skops).
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import Any, Literal

from solvers.foundation.errors import ReleaseError

How = Literal["newobj", "newobj_ex", "reduce", "inst", "obj"]

# Functions that build an object of the class in their first argument: the class is what a reader asks for.
_BUILDERS = frozenset({"_reconstructor", "__newobj__", "__newobj_ex__", "_reconstruct", "_mareconstruct", "newObj"})


@dataclass(frozen=True, slots=True)
class Name:
    """A global that a file names: a class or a function, exactly as it stands there and never imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


class RawThing:
    """An object that was never built: the class or function, how it would be called, and what it would be given.

    `state` is what `__setstate__` would get (pickle's BUILD; several are merged where they are dicts), `items` what
    would be appended and `pairs` what would be set by key. All of it is raw: arrays are such objects themselves.
    """

    __slots__ = ("_items", "_pairs", "_resolved", "args", "built", "callable", "how", "kwargs", "state")

    def __init__(
        self,
        callable: Name,
        how: How,
        args: tuple[Any, ...] = (),
        kwargs: dict[Any, Any] | None = None,
        state: Any = None,
        pairs: dict[Any, Any] | None = None,
    ) -> None:
        self.callable, self.how, self.args = callable, how, args
        self.kwargs: dict[Any, Any] = {} if kwargs is None else kwargs
        self.state: Any = state
        self.built = state is not None
        self._items: list[Any] | None = None
        self._pairs = pairs
        self._resolved: dict[str, tuple[Any, Any]] | None = None

    @property
    def items(self) -> list[Any]:
        """Return what would be appended to the object (a list that may be changed)."""
        if self._items is None:
            self._items = []
        return self._items

    @property
    def pairs(self) -> dict[Any, Any]:
        """Return what would be set in the object by key (a dict that may be changed)."""
        if self._pairs is None:
            self._pairs = {}
        return self._pairs

    def build(self, state: Any) -> None:
        """Record a state; dicts are merged, the later one wins, anything else replaces what stood there."""
        if self.built and isinstance(self.state, dict) and isinstance(state, dict):
            state = {**self.state, **state}
        self.state, self.built = state, True

    @property
    def kind(self) -> str:
        """Return the class in full, such as "sklearn.tree._classes.DecisionTreeClassifier", or the function."""
        name, first = self.callable.name, self.args[0] if self.args else None
        if isinstance(first, Name) and (name in _BUILDERS or name.startswith("__pyx_unpickle_")):
            return str(first)
        return str(self.callable)

    @property
    def class_name(self) -> str:
        """Return the last part of `kind`, such as "DecisionTreeClassifier"."""
        return self.kind.rpartition(".")[2]

    def fields(self) -> dict[Any, Any]:
        """Return the raw attributes: the state's dict, slots included (empty where the state is not a dict)."""
        if isinstance(self.state, dict):
            return self.state
        if isinstance(self.state, tuple) and len(self.state) == 2 and isinstance(self.state[1], dict):
            plain, slots = self.state
            if plain is None or isinstance(plain, dict):
                return {**(plain or {}), **slots}
        return {}

    def is_bare(self) -> bool:
        """Return whether nothing would be appended, set by key or given by keyword."""
        return not (self._items or self._pairs or self.kwargs)

    def has(self, name: str) -> bool:
        """Return whether the state has the attribute."""
        return name in self.fields()

    def __repr__(self) -> str:
        return f"<{self.kind}, not built>"


class Keys:
    """Checks what may become a key of a dict or a member of a set, so that no file can make hashing expensive.

    Text and small numbers are hashed safely; tuples and long integers can be made to collide by the thousand (numbers
    are hashed without a secret), long ones are hashed and compared again and again. One object per file.
    """

    _LONGEST = 10_000  # characters; longer keys are compared in full at each clash
    _WIDEST = 32  # parts of a tuple
    _MAX = 16  # different keys of one hash value

    def __init__(self) -> None:
        self._same: dict[int, set[Any]] = {}

    def check(self, key: Any) -> None:
        """Raise `ReleaseError` for a key that no honest file has."""
        kind = type(key)
        if kind is str or kind is bytes:
            if len(key) > self._LONGEST:
                raise ReleaseError(f"a key has {len(key):,} characters")
        elif kind is int:
            if not -(1 << 60) < key < 1 << 60:
                self._count(key)
        elif kind is tuple or kind is frozenset:
            if len(key) > self._WIDEST or not all(self._is_short(part) for part in key):
                raise ReleaseError("a key is not a number, text or a short flat tuple of these")
            self._count(key)
        elif not (key is None or kind is bool or kind is float or kind is Name or issubclass(kind, RawThing)):
            raise ReleaseError(f"a key is a {kind.__name__}, not a number, text or a short flat tuple of these")

    def _is_short(self, part: Any) -> bool:
        if isinstance(part, (str, bytes)):
            return len(part) <= self._LONGEST
        if isinstance(part, int):
            return part.bit_length() <= 256
        return part is None or isinstance(part, (float, Name, RawThing))

    def _count(self, key: Any) -> None:
        if isinstance(key, int) and key.bit_length() > 4_096:
            raise ReleaseError("a key is a number of more than 4,096 bits")
        clash = self._same.setdefault(hash(key), set())
        clash.add(key)
        if len(clash) > self._MAX:
            raise ReleaseError(f"more than {self._MAX} keys have the same hash value: the file was made to hang")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BUILTINS = _words(
    "object list dict set frozenset tuple slice complex bytearray range int float str bytes bool type NoneType "
    "ellipsis Ellipsis NotImplemented memoryview enumerate reversed zip iter abs len max min sum round sorted any all "
    "getattr unicode long basestring xrange property staticmethod classmethod Exception ValueError TypeError KeyError "
    "RuntimeError ArithmeticError Warning UserWarning FutureWarning DeprecationWarning RuntimeWarning"
)  # getattr: bound methods and enumerations are stored with it; what it may be applied to is checked where it is
_ARITHMETIC = _words(
    "itemgetter attrgetter methodcaller add sub mul truediv floordiv mod pow neg pos and_ or_ xor not_ "
    "lt le eq ne ge gt"
)
_DATES = _words("date datetime time timedelta timezone tzinfo")
_PATHS = _words("Path PosixPath WindowsPath PurePath PurePosixPath PureWindowsPath")
_REBUILDERS = _words("_reconstructor __newobj__ __newobj_ex__")
_MATH = _words("sqrt log log1p log2 log10 exp expm1 sin cos tan tanh atan fabs floor ceil pow isnan isfinite prod fsum")
ALLOWED = {
    "builtins": _BUILTINS,
    "__builtin__": _BUILTINS,
    "copyreg": _REBUILDERS,
    "copy_reg": _REBUILDERS,
    "_codecs": frozenset({"encode"}),
    "array": frozenset({"array", "_array_reconstructor"}),
    "collections": frozenset({"OrderedDict", "defaultdict", "deque", "Counter", "ChainMap"}),
    "datetime": _DATES,
    "_datetime": _DATES,
    "decimal": frozenset({"Decimal"}),
    "_decimal": frozenset({"Decimal"}),
    "exceptions": _BUILTINS,
    "fractions": frozenset({"Fraction"}),
    "functools": frozenset({"partial"}),
    "itertools": frozenset({"count", "repeat"}),
    "logging": frozenset({"getLogger", "Logger"}),
    "math": _MATH,
    "operator": _ARITHMETIC,
    "_operator": _ARITHMETIC,
    "pathlib": _PATHS,
    "pathlib._local": _PATHS,
    "random": frozenset({"Random"}),
    "re": frozenset({"_compile"}),
    "types": frozenset({"SimpleNamespace", "NoneType"}),
    "uuid": frozenset({"UUID", "SafeUUID"}),
    "xml.dom.minicompat": frozenset({"NodeList", "EmptyNodeList"}),
    "xml.dom.minidom": _words("Document Element Text Attr Comment DOMImplementation ReadOnlySequentialNamedNodeMap"),
    "zoneinfo": frozenset({"ZoneInfo"}),
}
# Modules of other Pythons than the one that runs: what it would not import, another one would.
_OTHER_PYTHONS = _words(
    "__builtin__ copy_reg exceptions commands popen2 cPickle urllib2 urlparse httplib thread dummy_thread imp crypt "
    "pipes telnetlib nntplib cgi cgitb distutils asyncore asynchat smtpd nt posix pwd spwd UserDict "
    "dircache rexec lib2to3 msvcrt winreg _winreg _winapi"
)
STANDARD = frozenset(sys.stdlib_module_names) | _OTHER_PYTHONS
# Modules that give their caller the means to run something, wherever in a dotted path they stand.
_DOORS = _words(
    "os sys posix nt subprocess builtins __builtin__ importlib runpy socket shutil ctypes pty pickle cPickle "
    "marshal cloudpickle dill jsonpickle webbrowser requests urllib urllib2 urllib3 httpx aiohttp httplib commands "
    "pkgutil timeit cProfile pdb bdb multiprocessing asyncio pip setuptools pkg_resources distutils f2py ctypeslib "
    "ensurepip invoke fabric paramiko sh plumbum pexpect IPython numexpr cffi _cffi_backend runstring"
)
_CALLS = _words(
    "eval exec execfile compile system popen popen2 popen3 spawn spawnl spawnv startfile fork check_output check_call "
    "Popen call_command __import__ import_module import_string resolve_name load loads read_pickle load_module "
    "run_module run_path runstring rundocs fromfile loadtxt genfromtxt hub_load load_library setattr delattr "
    "open input getfixturevalue breakpoint"
)
_IDENTIFIERS = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")
_LONGEST = 1_000  # characters of a module or name


def would_run(what: str) -> ReleaseError:
    """Return the refusal of a file that would run `what` when it is opened with the library that made it."""
    return ReleaseError(f"the file would run {what}(...) when it is opened with pickle: it is refused")


def vetted(module: object, name: object) -> Name:
    """Return the name as data; raise `ReleaseError` where it is none or would run code."""
    if not isinstance(module, str) or not isinstance(name, str):
        raise ReleaseError("a class or function is named by something that is not text")
    both = f"{module}.{name}"
    if len(both) > _LONGEST or _IDENTIFIERS.fullmatch(both) is None:
        raise ReleaseError(f"{both[:100]!r} is not the name of a class or function")
    if module.partition(".")[0] in STANDARD:
        if name not in ALLOWED.get(module, ()):
            raise would_run(both)
        return Name(module, name)
    parts = name.split(".")
    hidden = any(part.startswith("__") and part.endswith("__") for part in parts[:-1])
    if parts[-1] in _CALLS or hidden or not _DOORS.isdisjoint(both.split(".")):
        raise would_run(both)
    return Name(module, name)


def check_call(function: Name, args: tuple[object, ...]) -> None:
    """Refuse a call that is harmless or not by its arguments: getattr, type, numpy's lookup of a ufunc."""
    if function.name == "getattr":
        owner, attribute = args if len(args) == 2 else (None, None)
        if not isinstance(attribute, str) or attribute.startswith("__") or attribute in _CALLS | _DOORS:
            raise would_run(f"{function}")
        if isinstance(owner, Name) and owner.module.partition(".")[0] in STANDARD:
            raise would_run(f"{function}")
    elif function.name == "type" and len(args) != 1:
        raise would_run(f"{function}")
    elif function.name == "_ufunc_reconstruct":
        vetted(*(args if len(args) == 2 else (None, None)))
