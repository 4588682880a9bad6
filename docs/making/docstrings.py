"""What griffe, which makes the pages of the programming interface from the sources alone, cannot know of ours.

Classes made by ``@value()`` have their fields as parameters, a section *See Also* is a list, and choices are a type.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

CHOICES = re.compile(r"(?<= : )\{(\".*\")\}")
"""Values that a parameter may have: ``links : {"strict", "shared"}``."""
SEE_ALSO = re.compile(r"(?<=^See Also\n--------\n)(?:.+\n?)+", re.MULTILINE)
"""What such a section holds: a line ``coalloc.check : Its summary.`` for each name."""

TYPES = {
    **dict.fromkeys(("Seconds", "PositiveSeconds", "NonNegative", "Positive", "Share", "PositiveShare"), "float"),
    **dict.fromkeys(("Instant", "PagingSlowdown"), "float"),
    **dict.fromkeys(("Count", "GroupNumber", "ShapeNumber"), "int"),
    **dict.fromkeys(("SecondsField", "AmountsField"), "Mapping[str, float]"),
    **{"Text": "str", "Flag": "bool", "Listed": "Sequence", "NamesField": "Sequence[str]"},
}
DEFAULTS = {"NONE": "()", "NO_NODES": "()", "NO_SECONDS": "{}", "NO_AMOUNTS": "{}", "cast": "None"}
"""Fields of values: names of types, and of defaults, that users know by other names."""


def as_list(section: re.Match[str]) -> str:
    """Return the lines of a section *See Also* as a list of Markdown."""
    return re.sub(r"^(\S+) :", r"- ``\1``:", section[0], flags=re.MULTILINE)


class OurDocstrings(griffe.Extension):
    """Tell griffe what it cannot know."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Mark a class made by ``coalloc.documents.values.value``, and a named tuple, as a dataclass."""
        is_value = any(decorator.callable_path.endswith("documents.values.value") for decorator in cls.decorators)
        if is_value or "NamedTuple" in map(str, cls.bases):
            dataclass = griffe.ExprName("dataclasses.dataclass")
            cls.decorators.append(griffe.Decorator(dataclass, lineno=cls.lineno, endlineno=cls.lineno))

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Take the constructor from a class that lists attributes, for users are given its objects."""
        if cls.docstring is not None and "\nAttributes\n" in cls.docstring.value:
            cls.decorators.clear()
            cls.members.pop("__init__", None)

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite a docstring so that it is read as it is meant."""
        if obj.docstring is not None:
            text = CHOICES.sub(lambda choices: choices[1].replace(", ", " | "), obj.docstring.value)
            obj.docstring.value = SEE_ALSO.sub(as_list, text)

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Show the type and the default of a field by names that users know."""
        for part in attr.annotation.iterate() if isinstance(attr.annotation, griffe.Expr) else ():
            if isinstance(part, griffe.ExprName):
                part.name = TYPES.get(part.name, part.name)
        for name in re.findall(r"\w+", str(attr.value)):
            attr.value = DEFAULTS.get(name, attr.value)
