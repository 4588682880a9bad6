"""Docstrings of the public interface: a section for all that a caller must know, and examples that run."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import inspect
import re
from collections.abc import Iterable
from typing import Any

import pytest

from coalloc.documents.json_schema import parameters_of
from coalloc.heuristics.registry import BUILTIN
from tests.pages import ROOT
from tests.public import PUBLIC
from tests.test_pages import misspelt

ROLE = re.compile(r":\w+:`")
FUNCTIONS = [name for name, found in PUBLIC.items() if not inspect.isclass(found)]
CLASSES = [name for name in PUBLIC if name not in FUNCTIONS]
OF_RL = ("coalloc.extend.environment", "coalloc.extend.vector_environment")
"""What requires the extra ``rl``."""


def text_of(found: Any) -> str:
    return inspect.getdoc(found) or ""


def members(name: str) -> dict[str, Any]:
    """Return a public object, and where it is a class what is public of it, inherited from coalloc or not."""
    owners = PUBLIC[name].__mro__ if name in CLASSES else ()
    own = [vars(owner) for owner in owners if owner.__module__.startswith("coalloc.")]
    return {name: PUBLIC[name]} | {f"{name}.{key}": part for of in own for key, part in of.items() if key[0] != "_"}


def lacking(name: str) -> list[str]:
    """Return the sections, and the arguments by their defaults, that the docstring of a function lacks."""
    signature, text = inspect.signature(PUBLIC[name]), text_of(PUBLIC[name])
    sections = set(re.findall(r"^(\w[\w ]*)\n-+$", text, re.MULTILINE))
    wanted = {"Examples"} if signature.return_annotation in (None, "None") else {"Examples", "Returns"}
    described = {entry.lstrip("*") for entry, words in parameters_of(PUBLIC[name]).items() if words}
    stated = dict(re.findall(r"^(\w+) : .+, default (.+)$", text, re.MULTILINE))
    others = [p for p in signature.parameters.values() if p.name not in described or not is_default(p, stated)]
    return [*sorted(wanted - sections), *(f"argument {other}" for other in others)]


def is_default(parameter: inspect.Parameter, stated: dict[str, str]) -> bool:
    """Return whether a docstring states the default of a parameter, and only where it has one; in words or as it is."""
    if parameter.default is inspect.Parameter.empty or parameter.name not in stated:
        return parameter.default is inspect.Parameter.empty and parameter.name not in stated
    try:
        return ast.literal_eval(stated[parameter.name]) == parameter.default
    except SyntaxError:
        return True


def undescribed(name: str) -> list[str]:
    """Return the public fields that the docstring of a class does not describe."""
    text = text_of(PUBLIC[name])
    fields = [f.name for f in dataclasses.fields(PUBLIC[name])] if dataclasses.is_dataclass(PUBLIC[name]) else []
    fields = [field for field in (*fields, *getattr(PUBLIC[name], "_fields", ())) if field[0] != "_"]
    return [field for field in fields if not re.search(rf"^{field} : .+\n {{4}}\S", text, re.MULTILINE)]


def test_functions_describe_each_argument_and_what_they_return():
    assert {name: lacking(name) for name in FUNCTIONS if lacking(name)} == {}


def test_classes_describe_each_field():
    assert {name: undescribed(name) for name in CLASSES if undescribed(name)} == {}


def test_docstrings_name_what_exists_and_have_no_roles():
    for member, found in (part for name in PUBLIC for part in members(name).items()):
        text = text_of(found)
        pages = [page for page in re.findall(r"\bdocs/[\w/-]+\.md\b", text) if not (ROOT / page).is_file()]
        assert (ROLE.findall(text), misspelt(text), pages) == ([], [], []), member


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.extras] if name in OF_RL else []) for name in PUBLIC]
)
def test_the_examples_of_a_docstring_run(name, tmp_path, monkeypatch, in_process):
    if name in OF_RL:
        pytest.importorskip("gymnasium", reason="the extra rl is not installed")
    monkeypatch.chdir(tmp_path)
    examples = {test.name: test for part, of in members(name).items() for test in examples_of(of, part)}
    assert name in examples
    assert printed_by(examples.values()) == []


@pytest.mark.parametrize("name", BUILTIN)
def test_every_policy_has_a_worked_example_and_its_code_runs(name):
    of = BUILTIN[name].make
    assert "*Example" in text_of(of)
    assert printed_by(examples_of(of, name)) == []


def examples_of(found: Any, name: str) -> list[doctest.DocTest]:
    """Return the docstrings of an object, and of what it defines, that have examples."""
    return [test for test in doctest.DocTestFinder().find(found, name, module=False, globs={}) if test.examples]


def printed_by(examples: Iterable[doctest.DocTest]) -> list[str]:
    """Run examples, and return a report of each that prints something else than it shows."""
    printed = list[str]()
    for test in examples:
        doctest.DocTestRunner().run(test, out=printed.append)
    return printed
