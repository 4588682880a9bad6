"""A certificate: what ``result.certificate()`` returns."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coalloc.documents.errors import CoallocError
from coalloc.documents.storage import compressed, write_atomically
from coalloc.documents.strict_json import layout


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof that a schedule is optimal, accepted by ``coalloc-verify``; or the reason why there is none.

    It is true where there is one. Printing it shows what is proved.

    Attributes
    ----------
    document : mapping of str to object, or None
        The content of the certificate file. None: there is no certificate.
    reason : str
        Why there is none; empty where there is one.
    lines : tuple of str
        What the checker says that is proved.
    """

    document: Mapping[str, Any] | None
    reason: str = ""
    lines: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.document is not None

    def __str__(self) -> str:
        return "\n".join(self.lines) if self else f"certificate: none ({self.reason})"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate to a ``.json`` or ``.json.gz`` file; raise ``CoallocError`` where there is none."""
        if self.document is None:
            raise CoallocError(str(self))
        content = (layout(dict(self.document)) + "\n").encode()
        write_atomically(path, compressed(content) if os.fspath(path).endswith(".gz") else content)
