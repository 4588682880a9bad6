"""The border of the compiled engine: wrong calls, wrong libraries, memory, threads, and how it is built."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from textwrap import dedent
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from coalloc.documents.errors import CoallocError, InternalError
from coalloc.engine import Handle, engine, library
from coalloc.engine.library import DTYPES, CParameter

ROOT = Path(__file__).parents[2]
ADVICE = r"; install coalloc anew, or in a clone run: python hatch_build\.py$"

# One job of one task on one class of one processor, below one link. Other arrays are 0.
NUMBERS = {parameter.name: 1 for parameter in engine().problem_new.parameters if parameter.size is None}
NUMBERS |= {"num_memories": 0, "num_held": 0}
ARRAYS = {
    **{name: [0, 1] for name in ("member_first", "order_first", "place_first", "closing_first")},
    **{name: [1] for name in ("tasks", "least_tasks", "capacities", "most", "below", "inside", "durations", "limits")},
}


def arguments(**changes: Any) -> dict[str, Any]:
    """Return the arguments of ``problem_new`` by name, numbers and arrays, after changes."""
    found: dict[str, Any] = {}
    for parameter in engine().problem_new.parameters[1:]:
        name = parameter.name
        if parameter.size is None:
            found[name] = changes.get(name, NUMBERS[name])
            continue
        size, dtype = parameter.size(found), DTYPES[parameter.kind]
        usual = ARRAYS.get(name, ())
        given = changes.get(name, usual if len(usual) == size else np.zeros(size, dtype))
        found[name] = given if isinstance(given, np.ndarray) else np.array(given, dtype)
    return found


def made(**changes: Any) -> Handle:
    """Return the problem that arguments make."""
    handle: Handle = engine().problem_new(*arguments(**changes).values())
    return handle


# ------------------------------------------------------------------------------ calls


def test_a_problem_is_an_address():
    assert made().address > 0


def test_no_jobs_and_no_classes_are_a_problem():
    firsts = {name: [0] for name in ("member_first", "place_first", "closing_first")}
    assert made(**dict.fromkeys(NUMBERS, 0), **firsts).address > 0


@pytest.mark.parametrize(
    ("array", "described"),
    [
        ([0.0], "list"),
        (None, "NoneType"),
        (np.zeros(1, np.float32), "float32 array of 1"),
        (np.zeros(1, np.int64), "int64 array of 1"),
        (np.zeros(1, ">f8"), "float64 array of 1"),
        (np.zeros(0), "float64 array of 0"),
        (np.zeros(2), "float64 array of 2"),
        (np.zeros(()).astype(object), "object array of 1"),
    ],
)
def test_another_array_than_the_declared_one_is_refused(array, described):
    given = arguments() | {"releases": array}
    fault = f"^releases of problem_new must be a contiguous float64 array of 1, got {described}"
    with pytest.raises(InternalError, match=fault):
        engine().problem_new(*given.values())


def test_a_strided_array_is_refused():
    given = arguments(num_loads=2, below=[1, 1], limits=[1, 1]) | {"part": np.zeros(4)[::2]}
    with pytest.raises(InternalError, match=r"^part of problem_new .* array of 2, got strided float64 array of 2"):
        engine().problem_new(*given.values())


def test_an_array_that_is_only_read_may_be_locked_and_one_that_is_written_not():
    locked = np.zeros(1)
    locked.flags.writeable = False
    assert made(releases=locked).address > 0
    written = CParameter.of("double times[size]")
    assert written.pointer(np.zeros(1), {"size": 1}, "f") > 0
    with pytest.raises(
        InternalError, match=r"^times of f must be a contiguous writeable float64 array of 1, got float64"
    ):
        written.pointer(locked, {"size": 1}, "f")


@pytest.mark.parametrize(
    ("number", "error", "fault"),
    [
        (-1, InternalError, r"^releases of problem_new must be a contiguous float64 array of -1, got"),
        (2**63, CoallocError, r"^num_jobs of problem_new is 9223372036854775808, more than a machine integer holds$"),
        (-(2**63) - 1, CoallocError, r"^num_jobs of problem_new is -9223372036854775809, more than"),
        (1.5, TypeError, "integer"),
    ],
)
def test_a_number_of_jobs_that_cannot_be_is_refused(number, error, fault):
    given = arguments() | {"num_jobs": number}
    with pytest.raises(error, match=fault):
        engine().problem_new(*given.values())


@pytest.mark.parametrize("first", [-1, 2, 2**63 - 1])
def test_the_first_memory_is_one_of_the_loads(first):
    # One load, and one memory from it on: beyond 0, also where the sum of both is no machine integer.
    with pytest.raises(InternalError, match=r"^first_memory of problem_new is out of range$"):
        made(first_memory=first, num_memories=1)


def test_a_number_of_nothing_is_none_that_no_memory_holds():
    # No rules and no classes: all arrays of 2**62 sets are empty, and one more set would still be a machine integer.
    with pytest.raises(InternalError, match=r"^num_sets of problem_new is out of range$"):
        made(num_sets=2**62, num_rules=0, num_classes=0)


@pytest.mark.parametrize("name", [p.name for p in engine().problem_new.parameters if p.size and p.kind == "double"])
def test_what_is_no_number_is_refused(name):
    given = arguments(num_held=1)
    given[name][-1] = np.nan
    with pytest.raises(InternalError, match=f"^{name} of problem_new is not a number$"):
        engine().problem_new(*given.values())


@pytest.mark.parametrize(
    ("name", "values", "fault"),
    [
        ("member_first", [1, 1], "is out of order"),
        ("member_first", [0, 0], "is out of order"),
        ("place_first", [0, 2], "is out of order"),
        ("closing_first", [0, -1], "is out of order"),
        ("job_of", [1], "is out of range"),
        ("set_of", [-1], "is out of range"),
        ("shape_of", [2**62], "is out of range"),
        ("level_of", [1], "is out of range"),
        ("order_first", [0, 2], "is out of range"),
        ("place_class", [1], "is out of range"),
        ("closing", [1], "is out of range"),
        ("shape_tasks", [-1], "is out of range"),
        ("tasks", [2**62], "is out of range"),
        ("capacities", [-1], "is out of range"),
        ("capacities", [2**62], "is out of range"),
    ],
)
def test_what_is_in_arrays_is_checked(name, values, fault):
    with pytest.raises(InternalError, match=f"^{name} of problem_new {fault}$"):
        made(**{name: values})


def test_a_sum_beyond_a_machine_integer_is_refused():
    # Each of two capacities is allowed, their sum is more than a quarter of the largest integer.
    given = arguments(num_classes=2)
    given["capacities"][:] = 2**61 - 1
    with pytest.raises(InternalError, match=r"^capacities of problem_new is too large$"):
        engine().problem_new(*given.values())


def test_a_function_that_no_header_declares_is_none():
    with pytest.raises(InternalError, match=r"^the engine has no function problem_sold$"):
        _ = engine().problem_sold
    with pytest.raises(InternalError, match="declares a parameter 'unsigned of size', which"):
        CParameter.of("unsigned of size")


# ------------------------------------------------------------------------------ memory and threads


def run_alone(program: str, **variables: str) -> str:
    """Return what a program prints in a fresh interpreter, at the root."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", dedent(program)]
    return subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_problems_that_nothing_refers_to_are_freed():
    # 2,000 problems with 0.8 MB each would be 1.6 GB.
    pytest.importorskip("resource", reason="the operating system does not say what memory a process has taken")
    printed = run_alone("""
        import resource
        from tests.engine.test_library import arguments
        from coalloc.engine import engine
        given = arguments(num_releases=100_000)
        engine().problem_new(*given.values())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(2_000):
            engine().problem_new(*given.values())
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(printed) * unit < 100e6


def test_threads_make_problems_at_the_same_time():
    with ThreadPoolExecutor(4) as threads:
        handles = list(threads.map(lambda _: made(), range(1_000)))
    assert len({handle.address for handle in handles}) == 1_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the operating system does not fork")
def test_a_process_that_is_forked_after_threads_uses_the_engine():
    printed = run_alone("""
        import os
        from concurrent.futures import ThreadPoolExecutor
        from tests.engine.test_library import made
        kept = made()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: made(), range(100)))
            child = os.fork()
            if not child:
                os._exit(0 if made().address and kept.address else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """)
    assert printed == "0\n"


# ------------------------------------------------------------------------------ libraries


def test_a_library_that_is_missing_is_said_with_advice(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "engine.so")
    with pytest.raises(CoallocError, match=f"^the compiled engine cannot be loaded: .*engine.so.*{ADVICE}"):
        library.engine.__wrapped__()


def test_a_file_that_is_no_library_is_said_with_advice(monkeypatch, tmp_path):
    (tmp_path / "engine.so").write_text("no library")
    monkeypatch.setattr(library, "LIBRARY", tmp_path / "engine.so")
    with pytest.raises(CoallocError, match=f"^the compiled engine cannot be loaded: .*{ADVICE}"):
        library.engine.__wrapped__()


def test_another_library_is_said_with_advice(monkeypatch):
    import _ctypes

    monkeypatch.setattr(library, "LIBRARY", getattr(_ctypes, "__file__", ""))
    with pytest.raises(CoallocError, match=f"^the compiled engine cannot be loaded: .*engine_sources.*{ADVICE}"):
        library.engine.__wrapped__()


def test_a_library_of_other_sources_is_refused_with_advice(monkeypatch):
    monkeypatch.setattr(library, "digest", lambda: "0123456789abcdef")
    with pytest.raises(
        CoallocError, match=f"^the compiled engine was built from other sources than those in .*{ADVICE}"
    ):
        library.engine.__wrapped__()


# ------------------------------------------------------------------------------ building


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The build hook as a module, with no compiler named."""
    pytest.importorskip("hatchling", reason="the extra test is not installed")
    for name in ("CC", "COALLOC_WHEEL"):
        monkeypatch.delenv(name, raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(folder: Path) -> Path:
    """Return a copy of what a build of the engine reads."""
    shutil.copytree(library.SOURCES, folder / "coalloc" / "engine" / "src")
    shutil.copy(ROOT / "hatch_build.py", folder)
    return folder


def test_the_build_and_the_package_name_sources_alike(hook, monkeypatch, tmp_path):
    assert hook.digest(library.SOURCES) == library.digest()
    sources = copied(tmp_path) / "coalloc" / "engine" / "src"
    for file in sources.iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert hook.digest(sources) == library.digest()  # as a clone on Windows may have them
    monkeypatch.setattr(library, "SOURCES", sources)
    (sources / "engine.h").write_bytes((sources / "engine.h").read_bytes() + b"\n")
    assert hook.digest(sources) == library.digest()
    monkeypatch.undo()
    assert hook.digest(sources) != library.digest()


def test_zig_is_asked_for_only_without_a_compiler(hook, monkeypatch, tmp_path):
    def asked(target: str) -> list[str]:
        hook.system_compiler.cache_clear()
        found: list[str] = hook.EngineHook(str(tmp_path), {}, None, None, str(tmp_path), target).dependencies()
        return found

    monkeypatch.setenv("CC", "/bin/false")
    assert (asked("wheel"), asked("sdist")) == ([hook.ZIG], [])
    monkeypatch.setenv("CC", "no-such-compiler")
    assert asked("wheel") == [hook.ZIG]
    monkeypatch.setattr(hook, "_works", lambda command: command == ("gcc",))
    monkeypatch.delenv("CC")
    assert asked("wheel") == []
    assert hook.system_compiler() == ("gcc",)


@pytest.mark.parametrize(("tag", "name"), [("win_amd64", "engine.dll"), ("musllinux_1_2_aarch64", "engine.so")])
def test_zig_compiles_a_wheel_for_the_platform_that_is_named(hook, tag, name, monkeypatch, tmp_path):
    commands = []

    def run(command: list[str], *_: object) -> subprocess.CompletedProcess[str]:
        commands.append(command)
        Path(command[command.index("-o") + 1]).write_bytes(b"compiled")
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setenv("COALLOC_WHEEL", tag)
    monkeypatch.setattr(hook, "_run", run)
    wheel = hook.EngineHook(str(ROOT), {}, None, None, str(tmp_path), "wheel")
    data: dict[str, Any] = {"force_include": {}}
    wheel.initialize("standard", data)
    ((library_file, place),) = data["force_include"].items()
    assert (data["tag"], place) == (f"py3-none-{tag}", f"coalloc/engine/{name}")
    assert Path(library_file).read_bytes() == b"compiled"
    wheel.finalize("standard", data, "")
    assert not Path(library_file).exists()
    assert commands[0][commands[0].index("-target") + 1] == hook.TARGETS[tag]
    assert wheel.dependencies() == [hook.ZIG]
    monkeypatch.setenv("COALLOC_WHEEL", "amiga")
    with pytest.raises(ValueError, match=r"^COALLOC_WHEEL must be one of manylinux_2_17_x86_64, .*, got 'amiga'$"):
        wheel.initialize("standard", data)


def test_a_build_that_fails_says_what_the_compiler_says(hook, monkeypatch, tmp_path):
    root = copied(tmp_path)
    monkeypatch.setattr(hook, "system_compiler", lambda: (sys.executable, "-c", "print('no C here'); exit(1)"))
    with pytest.raises(RuntimeError, match=r"(?s)^compiling the engine failed \(.*-std=c11.*\):\nno C here\n$"):
        hook.build(root, root / hook.LIBRARY)
    assert not (root / hook.LIBRARY).exists()


def test_two_builds_without_a_compiler_are_equal_byte_by_byte(hook, monkeypatch, tmp_path):
    # Those with one are part of the wheels that tests/test_packaging.py compares.
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang, which builds without a compiler, is not installed")
    monkeypatch.setenv("CC", "/bin/false")
    built = []
    for name in ("one", "other"):
        root = copied(tmp_path / name)
        hook.build(root, root / hook.LIBRARY)
        built.append((root / hook.LIBRARY).read_bytes())
    assert built[0] == built[1]
    monkeypatch.setattr(library, "LIBRARY", root / hook.LIBRARY)
    assert library.engine.__wrapped__().engine_sources() == library.digest().encode()


def test_an_object_is_of_the_kind_that_is_asked_for():
    with pytest.raises(InternalError, match=r"^of of lists_value must be a lists, got problem$"):
        engine().lists_value(made())
    with pytest.raises(InternalError, match=r"^of of lists_value must be a lists, got NoneType$"):
        engine().lists_value(None)


def test_what_an_object_reads_lives_as_long():
    problem = made()
    seen = weakref.ref(problem)
    grown = engine().growth_new(problem, 1)
    del problem
    assert seen() in grown.reads
    del grown
    assert seen() is None
