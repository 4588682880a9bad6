"""Files that are written together."""

import pytest

from coalloc.documents.errors import CoallocError
from coalloc.documents.storage import write_together


def test_files_are_written_into_a_folder_that_is_made(tmp_path):
    write_together(tmp_path / "new" / "folder", {"a": b"1", "b": b"2"})
    write_together(tmp_path / "new" / "folder", {"b": b"3"})
    assert {path.name: path.read_bytes() for path in (tmp_path / "new" / "folder").iterdir()} == {"a": b"1", "b": b"3"}


def test_where_one_cannot_be_written_none_is(tmp_path):
    (tmp_path / "a").write_text("before")
    with pytest.raises(CoallocError, match="cannot be written: no such file or directory"):
        write_together(tmp_path, {"a": b"1", "no/b": b"2"})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "before")]
