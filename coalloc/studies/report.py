"""The report that the result of a study makes of itself: aligned lines, a figure, and one page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from typing import TYPE_CHECKING

from coalloc.documents.html import lines_table
from coalloc.documents.storage import FilePath, write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Report(ABC):
    """A result that prints lines, draws a figure, and writes one page with everything."""

    @abstractmethod
    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) pairs that printing shows."""

    @property
    @abstractmethod
    def page(self) -> str:
        """The result as one self-contained HTML page with the figure, without scripts."""

    @abstractmethod
    def _figure(self) -> Figure:
        """Return the figure."""

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines())
        return "\n".join(f"{name:<{width}} {text}" for name, text in self.lines())

    def _repr_html_(self) -> str:
        return lines_table(self.lines())

    @property
    def _picture(self) -> str:
        """The figure as the page has it."""
        from coalloc.plot.pictures import static_picture

        return b64encode(static_picture(self._figure(), "svg")).decode()

    def draw(self, path: FilePath | None = None) -> Figure:
        """Draw the figure of the page.

        Parameters
        ----------
        path : str or PathLike or None, default None
            File of the figure: ``.png``, ``.svg`` or ``.pdf``. None: no file.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from coalloc.plot.pictures import write_figure

        figure = self._figure()
        if path is not None:
            write_figure(figure, path)
        return figure

    def write_page(self, path: FilePath) -> None:
        """Write the HTML page to a file.

        Parameters
        ----------
        path : str or PathLike
            The file.
        """
        write_atomically(path, self.page)
