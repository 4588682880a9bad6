"""What an installation gets, and that the files which describe the project agree with each other."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import coalloc
from coalloc.engine.library import LIBRARY, digest
from coalloc.system.extras import SOURCES
from tests.public import PACKAGES, PUBLIC

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "coalloc"
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
USER_EXTRAS = ("cpsat", "dask", "plot", "rl")
OPTIONAL = [text for extra in USER_EXTRAS for text in EXTRAS[extra]]
ROOMS = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}


def modules_loaded_by(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after ``code``."""
    script = f"{code}\nimport sys\nprint(*sorted(name.partition('.')[0] for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of every module that a file imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relative to itself"
            yield node.module or ""


def is_cache(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.relative_to(PACKAGE).parts)


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(text).name) for text in requirements}


def test_importing_coalloc_loads_no_library():
    third_party = names([*PROJECT["project"]["dependencies"], *OPTIONAL])
    assert modules_loaded_by("import coalloc") & third_party == set()


def test_values_files_and_the_checker_need_no_pyomo_pandas_or_matplotlib():
    loaded = modules_loaded_by("from coalloc import Instance, Schedule, check, example; example('thesis-oas-1')")
    assert loaded & {"pyomo", "highspy", "pandas", "matplotlib", "plotly"} == set()


def test_every_public_name_is_an_object_of_the_package():
    assert [name for name, found in PUBLIC.items() if not found.__module__.startswith("coalloc.")] == []


def test_every_public_name_has_one_place():
    names = [name.rpartition(".")[2] for name in PUBLIC]
    assert sorted(names) == sorted(set(names))
    assert len(set(map(id, PUBLIC.values()))) == len(names)


def test_no_package_or_module_of_the_top_level_bears_the_name_of_a_public_function():
    assert {name.rpartition(".")[2] for name in PUBLIC} & ROOMS == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_those_that_type_checkers_see(package):
    # A stub passes on what it imports "as" the same name; it would hide whatever else it defines.
    found = PACKAGES[package]
    body = ast.parse(Path(found.__file__).with_suffix(".pyi").read_text()).body[1:]
    aliases = [alias for node in body for alias in node.names]
    assert [alias.asname for alias in aliases] == [alias.name for alias in aliases]
    assert sorted(alias.name for alias in aliases) == dir(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_star_import_gives_every_public_name(package):
    given: dict[str, object] = {}
    exec(f"from {package} import *", given)
    del given["__builtins__"]
    assert {f"{package}.{name}": value for name, value in given.items()}.items() <= PUBLIC.items()
    assert list(given) == PACKAGES[package].__all__


def test_the_checker_imports_instance_and_schedule_alone():
    found = {name for path in (PACKAGE / "checker").glob("*.py") for name in imports(path)}
    assert {name.split(".")[1] for name in found if name.startswith("coalloc.")} == {"checker", "instance", "schedule"}
    assert "coalloc" not in found


def test_the_contract_of_the_checker_forbids_every_other_room():
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (forbidden,) = (c["forbidden_modules"] for c in contracts if c.get("source_modules") == ["coalloc.checker"])
    others = ROOMS - {"__init__", "checker", "instance", "schedule"}
    assert forbidden == sorted(["coalloc.schedule.observed", *(f"coalloc.{room}" for room in others)])


def test_every_library_that_is_imported_is_declared():
    # pydantic_core comes with pydantic, at the one version that fits.
    declared = names([*PROJECT["project"]["dependencies"], *OPTIONAL]) | {"pydantic-core"}
    imported = {name.partition(".")[0] for path in PACKAGE.rglob("*.py") for name in imports(path)}
    assert names(list(imported - sys.stdlib_module_names - {"coalloc"})) <= declared


def test_the_test_extra_brings_none_of_the_optional_libraries():
    assert set(closure(["test"])) & names(OPTIONAL) == set()


def test_the_extra_all_brings_what_users_may_add():
    assert EXTRAS["all"] == [f"coalloc[{','.join(USER_EXTRAS)}]"]
    assert {source for source in SOURCES.values() if "[" in source} == {f"coalloc[{extra}]" for extra in USER_EXTRAS}


def build(folder: Path) -> dict[str, Path]:
    """Build wheel and source distribution, and return them by the ends of their names."""
    pytest.importorskip("hatchling", reason="the extra test is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": "1767225600",
        "CFLAGS": "-O0",
    }  # compiles in a quarter of the time
    subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=environment)
    return {path.suffix: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("built"))


def test_a_build_repeats_byte_by_byte(built, tmp_path):
    again = build(tmp_path)
    assert set(again) == {".whl", ".gz"}
    assert [kind for kind, path in built.items() if path.read_bytes() != again[kind].read_bytes()] == []


def test_the_wheel_is_of_this_platform_and_of_any_python(built):
    platform = re.sub("[-.]", "_", sysconfig.get_platform())
    assert built[".whl"].name.endswith(f"-py3-none-{platform}.whl")
    with zipfile.ZipFile(built[".whl"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/WHEEL"))
        assert "Root-Is-Purelib: false" in wheel.read(name).decode().splitlines()
        assert digest().encode() in wheel.read(str(LIBRARY.relative_to(ROOT)))


def test_the_wheel_holds_every_file_of_the_package_and_no_other(built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        taken = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and not is_cache(path)}
    assert taken == {str(path.relative_to(ROOT)) for path in files}
    sources = {path for path in files if path.suffix == ".py"}
    assert {path.parent for path in sources} == {path.parent for path in sources if path.name == "__init__.py"}
    assert PACKAGE / "py.typed" in files
    assert {path.stem for path in files if path.match("bundled/*.json")} == set(coalloc.examples())


def test_the_source_distribution_holds_whatever_tests_and_pages_need(built):
    with tarfile.open(built[".gz"]) as archive:
        taken = {name.partition("/")[2] for name in archive.getnames()}
    needed = {
        str(path.relative_to(ROOT))
        for folder in ("tests", "docs", "notebooks", "coalloc")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith(".") and path != LIBRARY
    }
    assert needed - taken == set()
    assert str(LIBRARY.relative_to(ROOT)) not in taken
    assert {
        "CHANGELOG.md",
        "CITATION.cff",
        "LICENSE",
        "NOTICE.md",
        "SECURITY.md",
        "constraints.txt",
        "mkdocs.yml",
        ".ci/run",
        "hatch_build.py",
    } <= taken
    assert [name for name in taken if name.endswith((".sqlite", ".pyc")) or name.startswith(("build/", ".git/"))] == []


def test_a_package_index_shows_no_link_that_leads_nowhere(built):
    with zipfile.ZipFile(built[".whl"]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        text = wheel.read(name).decode().partition("\n\n")[2]
    assert text.startswith("# coalloc\n")
    assert "pip install" in text
    assert re.findall(r"\]\((?!https?:)|<!--|!\[", text) == []


@pytest.mark.extras
def test_a_package_index_would_take_what_is_built(built):
    pytest.importorskip("twine", reason="the extra release is not installed")
    command = [sys.executable, "-m", "twine", "check", "--strict", *map(str, built.values())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def closure(extras: list[str]) -> dict[str, str]:
    """Return the version of every library that these extras lead to and that is installed, by name."""
    found: dict[str, str] = {}
    waiting = [("coalloc", frozenset(extras))]
    seen = set(waiting)
    while waiting:
        name, wanted = waiting.pop()
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        found[canonicalize_name(name)] = distribution.version
        for requirement in map(Requirement, distribution.requires or ()):
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in (*wanted, "")
            )
            edge = (requirement.name, frozenset(requirement.extras))
            if applies and edge not in seen:
                seen.add(edge)
                waiting.append(edge)
    return found


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def test_constraints_pin_whatever_the_project_leads_to():
    installed, pinned = closure(list(EXTRAS)), pins()
    del installed["coalloc"]
    if any(version != pinned.get(name, version) for name, version in installed.items()):
        pytest.skip("this environment was not installed with constraints.txt")
    assert set(installed) <= set(pinned)


def test_the_pins_keep_the_lower_bounds_of_the_project():
    requirements = [*PROJECT["project"]["dependencies"], *(text for extra in EXTRAS.values() for text in extra)]
    for requirement in map(Requirement, requirements):
        if requirement.name == "coalloc":
            continue  # the extra all
        assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_the_version_is_the_same_everywhere():
    version = PROJECT["project"]["version"]
    assert coalloc.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## \[{re.escape(version)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    for page in ("README.md", "docs/citing.md"):
        assert set(re.findall(r"version *= \{(.*?)\}", (ROOT / page).read_text())) == {version}, page


def test_all_citations_agree():
    titles = [" ".join(found.split()) for found in re.findall(r'title: "(.*)"', (ROOT / "CITATION.cff").read_text())]
    entries = {page: " ".join((ROOT / page).read_text().split()) for page in ("README.md", "docs/citing.md")}
    assert len(titles) == 6  # the software and its five sources
    assert titles[0] in entries["README.md"]
    assert [title for title in titles if title not in entries["docs/citing.md"]] == []


def test_no_file_names_a_package_index_or_a_remote_hook():
    files = ["pyproject.toml", "constraints.txt", ".ci/run", ".pre-commit-config.yaml", "README.md", "CONTRIBUTING.md"]
    found = [name for name in files if re.search(r"https?://|--index-url|--find-links", (ROOT / name).read_text())]
    assert found == []
