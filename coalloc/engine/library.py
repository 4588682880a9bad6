"""Loads the engine, and calls its functions as the headers in ``src`` declare them.

These say the type and the size of every array, in terms of numbers that come before it. Both are checked in each
call, so that a wrong one raises and never reads what is not there; what is *in* arrays the engine checks.
"""

from __future__ import annotations

import ctypes
import hashlib
import operator
import re
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from coalloc.documents.errors import CoallocError, InternalError

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "src"
LIBRARY = HERE / {"win32": "engine.dll", "darwin": "engine.dylib"}.get(sys.platform, "engine.so")
ADVICE = "install coalloc anew, or in a clone run: python hatch_build.py"

SCALARS: dict[str, Any] = {
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "double": ctypes.c_double,
    "void": None,
    "const char *": ctypes.c_char_p,
}
CALLBACKS: dict[str, Any] = {"cost_function": ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)}
"""Callbacks of the engine, in the thread that calls it: functions that must not raise."""
DTYPES: dict[str, np.dtype[Any]] = {
    "int64_t": np.dtype(np.int64),
    "int32_t": np.dtype(np.int32),
    "uint64_t": np.dtype(np.uint64),
    "uint8_t": np.dtype(np.uint8),
    "double": np.dtype(np.float64),
}
BYTES = ctypes.c_char * 0
NO_MEMORY = 1
FAULTS = {2: "is out of range", 3: "is out of order", 4: "is not a number", 5: "is too large"}
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DECLARATION = re.compile(r"ENGINE\(([^)]+)\)\s*(\w+)\(([^)]*(?:\([^)]*\)[^)]*)*)\);")
PARAMETER = re.compile(r"(?:const )?(\w+) (\*?)(\w+)(?:\[(.+)\])?$")


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter of a function: a number, an array (then with a ``size``), a callback, or an object of the engine."""

    name: str
    kind: str
    size: Callable[[dict[str, int]], int] | None
    is_object: bool
    is_written: bool

    @classmethod
    def of(cls, text: str) -> CParameter:
        """Return a parameter as the header declares it."""
        found = PARAMETER.match(" ".join(text.split()))
        if found is None:
            raise InternalError(f"a header of the engine declares a parameter {text!r}, which library.py cannot read")
        kind, star, name, size = found.groups()
        return cls(name, kind, None if size is None else _size_of(size), bool(star), "const" not in text)

    def pointer(self, array: Any, sizes: dict[str, int], function: str) -> int:
        """Return the address of an array that is of the declared type and size."""
        assert self.size is not None
        size, dtype = self.size(sizes), DTYPES[self.kind]
        is_right = isinstance(array, np.ndarray) and array.dtype == dtype and array.size == size
        if not is_right or not array.flags.c_contiguous or (self.is_written and not array.flags.writeable):
            asked = f"{'writeable ' if self.is_written else ''}{dtype.name} array of {size}"
            raise InternalError(f"{self.name} of {function} must be a contiguous {asked}, got {_described(array)}")
        if array.flags.writeable:
            return ctypes.addressof(BYTES.from_buffer(array))
        return int(array.ctypes.data)  # takes several times as long

    def number(self, value: Any, function: str) -> Any:
        """Return a number, which an int64 must hold where it is an integer."""
        if self.kind == "double":
            return float(value)
        number = operator.index(value)
        lowest, highest = (0, 2**64) if self.kind == "uint64_t" else (-(2**63), 2**63)
        if not lowest <= number < highest:
            raise CoallocError(f"{self.name} of {function} is {number}, more than a machine integer holds")
        return number


def _size_of(text: str) -> Callable[[dict[str, int]], int]:
    """Return what computes the size of an array, which a header says in terms of numbers by name."""
    if text.isidentifier():
        return operator.itemgetter(text)
    code = compile(text, text, "eval")
    return lambda sizes: int(eval(code, {}, sizes))


class Handle:
    """An object of the engine, of a kind; freed when nothing refers to it any more, and before what it ``reads``."""

    def __init__(self, kind: str, address: int, free: Callable[[int], None], reads: tuple[Any, ...] = ()) -> None:
        self.kind, self.address, self.reads = kind, address, reads
        weakref.finalize(self, free, address)


@dataclass(frozen=True)
class Function:
    """A function of the engine. Calling it checks arguments; a fault that it finds is raised.

    Where its first parameter is an object that is ``made``, it is called without and returns the object's handle.
    """

    name: str
    parameters: tuple[CParameter, ...]
    raw: Any = field(repr=False)
    """The function without any check, for numbers and addresses."""
    free: Any = field(repr=False)

    def __call__(self, *arguments: Any) -> Any:
        """Call it; return its result."""
        made = (ctypes.c_void_p * 1)() if self._makes else None
        result = self.raw(*(() if made is None else (made,)), *self._converted(arguments))
        if isinstance(result, int) and result < 0:
            raise self._fault(-result)
        if made is None:
            return result
        reads = tuple(argument for argument in arguments if isinstance(argument, (Handle, *CALLBACKS.values())))
        return Handle(self.parameters[0].kind, made[0] or 0, self.free, reads)

    @cached_property
    def _makes(self) -> bool:
        return bool(self.parameters) and self.parameters[0].name == "made"

    def _converted(self, arguments: tuple[Any, ...]) -> Iterator[Any]:
        sizes: dict[str, int] = {}
        for parameter, argument in zip(self.parameters[self._makes :], arguments, strict=True):
            if parameter.size is not None:
                yield parameter.pointer(argument, sizes, self.name)
            elif parameter.is_object:
                if not isinstance(argument, Handle) or argument.kind != parameter.kind:
                    found = argument.kind if isinstance(argument, Handle) else type(argument).__name__
                    raise InternalError(f"{parameter.name} of {self.name} must be a {parameter.kind}, got {found}")
                yield argument.address
            elif parameter.kind in CALLBACKS:
                yield argument  # which ctypes checks
            else:
                sizes[parameter.name] = number = parameter.number(argument, self.name)
                yield number

    def _fault(self, code: int) -> CoallocError:
        kind, place = divmod(code, 256)
        if kind == NO_MEMORY:
            return CoallocError("the engine found no memory for what it was asked")
        return InternalError(f"{self.parameters[place].name} of {self.name} {FAULTS[kind]}")


class EngineLibrary:
    """The functions of the engine, as attributes."""

    def __init__(self, library: ctypes.CDLL, headers: str) -> None:
        for result, name, parameters in DECLARATION.findall(COMMENT.sub("", headers)):
            raw = getattr(library, name)
            listed = [] if parameters == "void" else [CParameter.of(text) for text in parameters.split(",")]
            raw.argtypes = [ctypes.c_void_p if p.size or p.is_object else (CALLBACKS | SCALARS)[p.kind] for p in listed]
            raw.restype = SCALARS[" ".join(result.split())]
            maker = name.removesuffix("_new")
            free = getattr(library, f"{maker}_free") if maker != name else None
            setattr(self, name, Function(name, tuple(listed), raw, free))

    def __getattr__(self, name: str) -> Any:
        raise InternalError(f"the engine has no function {name}")


@cache
def engine() -> EngineLibrary:
    """Return the engine, loaded once.

    Raises
    ------
    CoallocError
        If it is missing, or was built from other sources than those that came with it.
    """
    try:
        library = ctypes.CDLL(str(LIBRARY))
        sources = library.engine_sources
    except (OSError, AttributeError) as error:
        raise CoallocError(f"the compiled engine cannot be loaded: {error}; {ADVICE}") from None
    sources.restype = ctypes.c_char_p
    if sources().decode() != digest():
        raise CoallocError(f"the compiled engine was built from other sources than those in {SOURCES}; {ADVICE}")
    return EngineLibrary(library, "".join(file.read_text(encoding="utf-8") for file in sorted(SOURCES.glob("*.h"))))


def digest() -> str:
    """Return what names the state of the sources: the build hook gives it to the library."""
    found = hashlib.sha256()
    for file in sorted([*SOURCES.glob("*.c"), *SOURCES.glob("*.h")]):
        found.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()[:16]


def _described(array: Any) -> str:
    if not isinstance(array, np.ndarray):
        return type(array).__name__
    return f"{'' if array.flags.c_contiguous else 'strided '}{array.dtype.name} array of {array.size}"
