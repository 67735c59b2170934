"""Which names a stored file may mention, and which ones mean that opening it would run code.

Naming is all that ever happens here: no name is imported. The refusals are a service to the reader of the file, who
would otherwise open it elsewhere. The standard library is an allow-list (what honest model files name); other
libraries are refused where they are known to load or run what they are given. Where the gadgets come from: fickling's
and picklescan's lists, CVE-2024-37065 and CVE-2025-54413 (skops).
"""

from __future__ import annotations

import re
import sys

from recon.readers.stored.objects.raw import Name
from solvers.foundation.errors import ReleaseError


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
