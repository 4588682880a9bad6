"""Tables of studies as the shell gives them: CSV files and rows of JSON."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; a file that is there is replaced in one step."""
    from coalloc.instance.storage import write_atomically

    write_atomically(path, table.to_csv(index=False))


def plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as JSON can hold them: what is not known, or infinite, is null."""
    return [{str(name): _plain(value) for name, value in row.items()} for row in table.to_dict("records")]


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
