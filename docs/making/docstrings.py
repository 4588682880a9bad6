"""What griffe, which makes the pages of the programming interface from the sources alone, cannot know of ours.

Classes made by ``@value()`` have their fields as parameters; parameters that share a line of a docstring have types
and defaults of their own; a role such as ``:class:`` is code.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

TOGETHER = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)+)\n((?: {4}.*\n?|\n(?= {4}))+)", re.MULTILINE)
"""Parameters that are described together: ``start, end`` and the lines below."""
ROLE = re.compile(r":\w+:`~?([^`]+)`")


def one_by_one(text: str) -> str:
    """Return a docstring in which every parameter stands alone."""

    def split(together: re.Match[str]) -> str:
        description = together[2].rstrip("\n")
        return "\n".join(f"{name}\n{description}" for name in together[1].split(", ")) + "\n"

    return TOGETHER.sub(split, text)


class OurDocstrings(griffe.Extension):
    """Tell griffe what it cannot know."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Mark a class made by ``coalloc.documents.values.value`` as a dataclass."""
        if any(decorator.callable_path.endswith("documents.values.value") for decorator in cls.decorators):
            dataclass = griffe.ExprName("dataclasses.dataclass")
            cls.decorators.append(griffe.Decorator(dataclass, lineno=cls.lineno, endlineno=cls.lineno))

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring so that it is read as it is meant."""
        if obj.docstring is not None:
            obj.docstring.value = one_by_one(ROLE.sub(r"``\1``", obj.docstring.value))

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show a default that is cast for type checkers as what it is."""
        if (value := re.fullmatch(r"cast\(.*, (\w+)\)", str(attr.value))) is not None:
            attr.value = value[1]
