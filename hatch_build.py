"""Build hook: compiles the engine (``coalloc/engine/src``) into one shared library, which ctypes loads.

The system's compiler does it where a trial compilation works; else zig, which the package index has as ``ziglang`` and
which is asked for only then. ``CC`` names another compiler. ``COALLOC_WHEEL`` names a platform of ``TARGETS``: zig then
compiles for it, on any machine (``.ci/wheels``). Run as a program it compiles in place, as ``pip install -e .`` does::

    python hatch_build.py
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # as a program it needs nothing but Python
    BuildHookInterface = object  # type: ignore[assignment,misc]

SOURCES = Path("coalloc/engine/src")
LIBRARY = Path("coalloc/engine") / {"win32": "engine.dll", "darwin": "engine.dylib"}.get(sys.platform, "engine.so")
TARGETS = {
    "manylinux_2_17_x86_64": "x86_64-linux-gnu.2.17",
    "manylinux_2_17_aarch64": "aarch64-linux-gnu.2.17",
    "musllinux_1_2_x86_64": "x86_64-linux-musl",
    "musllinux_1_2_aarch64": "aarch64-linux-musl",
    "macosx_11_0_x86_64": "x86_64-macos.11.0",
    "macosx_11_0_arm64": "aarch64-macos.11.0",
    "win_amd64": "x86_64-windows-gnu",
}
"""Tags of the wheels of a release, each with the target of zig."""
FLAGS = ("-std=c11", "-O3", "-shared", "-fvisibility=hidden", "-ffp-contract=off")
"""Neither ``-march=native`` nor ``-ffast-math``: sums are the same on every machine."""
ZIG = "ziglang>=0.13,<1"
TRIAL = """
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
__attribute__((visibility("default"))) int64_t answer(double of) { return (int64_t)floor(of); }
"""


class EngineHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the engine, in place for an editable installation, else into the wheel."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Return zig where it compiles."""
        return [] if self.target_name != "wheel" or (not asked() and system_compiler()) else [ZIG]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile before the wheel is packed."""
        if self.target_name != "wheel":
            return
        root, tag = Path(self.root), asked()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{tag or re.sub('[-.]', '_', sysconfig.get_platform())}"
        if version == "editable":
            build(root, root / LIBRARY)
            return
        library = LIBRARY.with_suffix(suffix(tag)) if tag else LIBRARY
        self._made = tempfile.mkdtemp()
        build(root, Path(self._made) / library.name, tag)
        build_data["force_include"][str(Path(self._made) / library.name)] = library.as_posix()

    def finalize(self, version: str, _data: dict[str, Any], _path: str) -> None:
        """Remove what was compiled outside of the tree."""
        if self.target_name == "wheel" and version != "editable":
            shutil.rmtree(self._made, ignore_errors=True)


def asked() -> str | None:
    """Return the tag of the platform that ``COALLOC_WHEEL`` names; None for this one."""
    tag = os.environ.get("COALLOC_WHEEL")
    if tag and tag not in TARGETS:
        raise ValueError(f"COALLOC_WHEEL must be one of {', '.join(TARGETS)}, got {tag!r}")
    return tag or None


def suffix(tag: str) -> str:
    """Return how names of libraries end on a platform."""
    return {"win": ".dll", "macosx": ".dylib"}.get(tag.partition("_")[0], ".so")


def build(root: Path, library: Path, tag: str | None = None) -> None:
    """Compile the sources under a root into a library, for the platform of a tag, or for this one."""
    sources = root / SOURCES
    compiler = zig(TARGETS[tag]) if tag else system_compiler() or zig(target_here())
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / library.name
        files = [file.name for file in sorted(sources.glob("*.c"))]
        command = compilation((*compiler, f'-DENGINE_SOURCES="{digest(sources)}"'), made, *files)
        run = _run(command, scratch, sources)
        if run.returncode:
            raise RuntimeError(f"compiling the engine failed ({shlex.join(command)}):\n{run.stdout}")
        shutil.copyfile(made, library.with_suffix(".new"))
        os.replace(library.with_suffix(".new"), library)  # processes that have loaded the old one keep it


def digest(sources: Path) -> str:
    """Return what names a state of the sources: the package compares it with that of the library."""
    found = hashlib.sha256()
    for file in sorted([*sources.glob("*.c"), *sources.glob("*.h")]):
        found.update(file.name.encode() + b"\0" + file.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()[:16]


def compilation(compiler: tuple[str, ...], library: Path, *files: str) -> list[str]:
    """Return the command that compiles files into a library; ``CFLAGS`` adds to its flags."""
    independent, mathematics = ([], []) if library.suffix == ".dll" else (["-fPIC"], ["-lm"])
    if library.suffix == ".dylib":  # its name is in it: not where it is compiled, so that builds repeat byte by byte
        independent.append(f"-Wl,-install_name,@rpath/{library.name}")
    flags = [*FLAGS, *independent, *shlex.split(os.environ.get("CFLAGS", ""))]
    return [*compiler, *flags, "-o", str(library), *files, *mathematics]


@cache
def system_compiler() -> tuple[str, ...] | None:
    """Return the command of the first compiler that makes a library which can be loaded."""
    named = os.environ.get("CC")
    candidates = [named] if named else ["cc", "gcc", "clang"]
    return next((command for name in candidates if _works(command := tuple(shlex.split(name)))), None)


def _works(command: tuple[str, ...]) -> bool:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        source, library = Path(scratch) / "trial.c", Path(scratch) / f"trial{LIBRARY.suffix}"
        source.write_text(TRIAL)
        try:
            if _run(compilation(command, library, str(source)), scratch, Path(scratch)).returncode:
                return False
            answer = ctypes.CDLL(str(library)).answer
        except (OSError, AttributeError):
            return False
        answer.argtypes, answer.restype = [ctypes.c_double], ctypes.c_int64
        return bool(answer(42.5) == 42)


def zig(target: str) -> tuple[str, ...]:
    """Return the command of zig for any processor of a target."""
    return (sys.executable, "-m", "ziglang", "cc", "-target", target, "-mcpu=baseline", "-g0")


def target_here() -> str:
    """Return the target of zig for this machine, with the oldest C library that wheels support."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if sys.platform == "linux":
        return f"{machine}-{'linux-gnu.2.17' if platform.libc_ver()[0] == 'glibc' else 'linux-musl'}"
    return f"{machine}-{'macos' if sys.platform == 'darwin' else 'windows-gnu'}"


def _run(command: list[str], scratch: str, directory: Path) -> subprocess.CompletedProcess[str]:
    caches = {name: os.path.join(scratch, "zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
    return subprocess.run(
        command,
        cwd=directory,
        env=caches | os.environ,  # zig wants a cache, and there may be no home to write to
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def get_build_hook() -> type[EngineHook]:
    """Return the hook: hatchling asks by this name."""
    return EngineHook


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    build(here, here / LIBRARY)
    print(f"built {here / LIBRARY}")
