"""Files that are read through gzip, written directly, and written together."""

import os

import pytest

from coalloc.documents.errors import CoallocError
from coalloc.documents.storage import compressed, read_bytes, write_atomically, write_together


def test_files_are_written_into_a_folder_that_is_made(tmp_path):
    write_together(tmp_path / "new" / "folder", {"a": b"1", "b": b"2"})
    write_together(tmp_path / "new" / "folder", {"b": b"3"})
    assert {path.name: path.read_bytes() for path in (tmp_path / "new" / "folder").iterdir()} == {"a": b"1", "b": b"3"}


def test_where_one_cannot_be_written_none_is(tmp_path):
    (tmp_path / "a").write_text("before")
    with pytest.raises(CoallocError, match="cannot be written: no such file or directory"):
        write_together(tmp_path, {"a": b"1", "no/b": b"2"})
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "before")]


@pytest.mark.parametrize("name", ["content.json", "content.json.gz"])
def test_gzip_is_known_by_its_first_bytes(tmp_path, name):
    (tmp_path / name).write_bytes(compressed(b"{}"))
    assert read_bytes(tmp_path / name) == b"{}"


def test_a_pipe_is_written_to_as_it_is():
    inlet, outlet = os.pipe()
    with os.fdopen(inlet, "rb") as reader, os.fdopen(outlet, "wb"):
        write_atomically(f"/dev/fd/{outlet}", "text")
        assert reader.read(4) == b"text"
