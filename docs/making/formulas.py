r"""Formulas of the site as MathML: browsers draw it themselves, with the font that the site brings along.

Pages write ``$...$``, ``$$...$$`` and blocks of language ``math``, as forges read them. latex2mathml knows neither
``aligned`` nor ``\ ``; nothing that a page writes may be left over as text. The font is that of ziamath, STIX Two Math.
"""

from __future__ import annotations

import html
import re
from importlib import metadata
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

FONT = "assets/STIXTwoMath-Regular.ttf"
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
"""What pymdownx.arithmatex makes of a formula."""
SPACE = re.compile(r"(?<!\\)\\ ")


def mathml(source: str, display: str) -> str:
    """Return a formula of LaTeX as MathML; one that is not understood is an error."""
    known = SPACE.sub("~", source).replace("{aligned}", "{align*}")
    known = known.replace(r"\Bigl\{", r"\left\{").replace(r"\Bigr\}", r"\right\}")
    formula = convert(known.strip(), display=display)
    if r"{aligned}" in source:  # right and left in turn, which the style sheet does
        formula = formula.replace("<mtable", '<mtable class="aligned"', 1)
    if left := re.search(r">(\\[^<]*)<", formula):
        raise PluginError(f"the formula {source.strip()!r} has {left[1]!r}, which does not become MathML")
    return formula


def on_files(files: Files, config: Any) -> Files:
    """Add the font to the files of the site."""
    (font,) = (file for file in metadata.files("ziamath") or () if file.name == FONT.rpartition("/")[2])
    files.append(File.generated(config, FONT, abs_src_path=str(font.locate())))
    return files


def on_page_content(content: str, **_: Any) -> str:
    """Return a page with its formulas as MathML."""
    return FORMULA.sub(lambda found: mathml(html.unescape(found[2]), _DISPLAY[found[1]]), content)


_DISPLAY = {"span": "inline", "div": "block"}
