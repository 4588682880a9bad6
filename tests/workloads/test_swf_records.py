"""Lines of a trace: what is read, what is broken, what is refused."""

import gzip
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Fault, InstanceError
from coalloc.workloads.swf_records import JobNumbers, SwfRecord, header_processors, read_header, read_records
from coalloc.workloads.trace_lines import MAX_LINE_BYTES

LINE = "7 10 2 300 4 290.50 -1 8 400 -1 1 12 3 -1 0 -1 -1 -1"


def write(tmp_path, content, name="trace.swf"):
    path = tmp_path / name
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", ["trace.swf", "trace.swf.gz"])
def test_a_record_has_its_18_fields(tmp_path, name):
    header = "; MaxProcs: 1664 (72, 1368, 224)\n;\n; any prose: 1 2 3\n\n"
    (record,) = read_records(write(tmp_path, f"{header}   {LINE}  \r\n", name))
    assert record == SwfRecord(7, 10, 2, 300, 4, 290.5, -1, 8, 400, -1, 1, 12, 3, -1, 0, -1, -1, -1)
    assert isinstance(record.allocated_processors, int)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("8 10 2 300 4", "line 2: must have 18 numbers, got 5"),
        (LINE.replace("7", "8") + " 1", "line 2: must have 18 numbers, got 19"),
        (LINE.replace("300", "3x0"), "line 2: must have 18 numbers, got '3x0' among 18"),
        (LINE.replace("300", "nan"), "line 2: must have 18 numbers, got 'nan' among 18"),
        (LINE.replace("300", "3_0"), "line 2: must have 18 numbers, got '3_0' among 18"),
        (LINE.replace("300", "1e999"), "line 2: must have finite numbers"),
        (LINE.replace(" 4 ", " 4.5 "), "line 2: must have an integer as allocated_processors, got 4.5"),
        (LINE, "line 2: must not repeat the job number 7 of line 1"),
        ("\x1b[31m" + LINE, r"line 2: must have 18 numbers, got '\x1b[31m7' among 18"),
    ],
)
def test_a_broken_line_is_reported_with_its_number_and_reading_goes_on(tmp_path, line, sentence):
    first, fault, last = read_records(write(tmp_path, f"{LINE}\n{line}\n{LINE.replace('7', '9')}\n"))
    assert (first.number, last.number) == (7, 9)
    assert str(fault) == sentence


def test_a_broken_line_may_come_first(tmp_path):
    fault, record = read_records(write(tmp_path, f"1 2 3\n{LINE}\n"))
    assert isinstance(fault, Fault)
    assert record.number == 7


@pytest.mark.parametrize(
    "content",
    ["", "\n\n", "{}", "a,b\n" * 30, b"\x89PNG\r\n\x1a\n\x00" * 50, "; a comment\n1 2 3\n", "x\n" * 20 + LINE],
    ids=["empty", "blank", "json", "csv", "binary", "broken", "late"],
)
def test_a_file_that_is_not_swf_is_refused(tmp_path, content):
    with pytest.raises(InstanceError, match=r"trace\.swf: is not an SWF trace"):
        list(read_records(write(tmp_path, content)))


@pytest.mark.parametrize(
    "content",
    [
        LINE.encode("utf-16"),
        gzip.compress(b'{"format": "coalloc-instance"}'),
        b"PK\x03\x04" + bytes(range(256)) * 8,
        LINE.replace(" ", ",").encode(),
        b"; a comment\r" * 30 + LINE.encode() + b"\r\n1\n",
    ],
    ids=["utf-16", "gzip-json", "zip", "commas", "old-mac"],
)
def test_other_files_of_other_programs_are_refused_too(tmp_path, content):
    with pytest.raises(InstanceError, match=r"trace\.swf: is not an SWF trace"):
        list(read_records(write(tmp_path, content)))


@pytest.mark.parametrize("compress", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_is_read_once_and_whole(compress):
    reading, writing = os.pipe()
    os.write(writing, compress(f"{LINE}\n".encode()))
    os.close(writing)
    (record,) = read_records(f"/dev/fd/{reading}")
    os.close(reading)
    assert record.number == 7


@given(st.lists(st.integers(-3, 12)))
def test_a_repeated_job_number_is_known_with_its_line_in_any_order(numbers):
    seen, first = JobNumbers(), {}
    for line, number in enumerate(numbers, start=1):
        earlier = first.setdefault(number, line)
        assert seen.note(number, line) == (None if earlier == line else earlier)
    assert len(seen) == len(first)


def test_a_trace_of_comments_has_no_records(tmp_path):
    assert list(read_records(write(tmp_path, "; Version: 2.2\n"))) == []


def test_a_line_above_the_limit_is_refused_before_it_is_read(tmp_path):
    # 200 MB of one line, in 200 kB.
    bomb = write(tmp_path, b"", "bomb.swf")
    with gzip.open(bomb, "wb", compresslevel=1) as stream:
        stream.write(LINE.encode() + b"\n")
        for _ in range(200):
            stream.write(b"1" * 1_000_000)
    with pytest.raises(InstanceError, match=f"line 2: exceeds the limit of {MAX_LINE_BYTES} bytes"):
        list(read_records(bomb))


def test_a_long_number_does_not_take_long(tmp_path):
    # A pattern that can split digits in two ways would try 10^9 of them.
    line = "1" * 60_000 + "x"
    (fault, _) = read_records(write(tmp_path, f"{line}\n{LINE}\n"))
    assert "must have 18 numbers" in fault.sentence
    assert len(fault.sentence) < 100


def test_a_truncated_gzip_file_and_an_absent_one_are_refused(tmp_path):
    path = write(tmp_path, f"{LINE}\n" * 3, "cut.swf.gz")
    path.write_bytes(path.read_bytes()[:-12])
    with pytest.raises(InstanceError, match=r"cut\.swf\.gz: cannot be read: "):
        list(read_records(path))
    with pytest.raises(InstanceError, match="cannot be read: no such file"):
        list(read_records(tmp_path / "absent.swf"))
    with pytest.raises(InstanceError, match="cannot be read: is a directory"):
        list(read_records(tmp_path))
    with pytest.raises(InstanceError, match="cannot be read: embedded null byte"):
        list(read_records("a\0b"))


def test_the_header_is_what_stands_before_the_first_job(tmp_path):
    text = f"; UnixStartTime: 5\n;TimeZone:-3600\n; UnixStartTime: 6\n; any prose\n\n{LINE}\n; MaxProcs: 8\n"
    assert read_header(write(tmp_path, text)) == {"UnixStartTime": "5", "TimeZone": "-3600"}


def test_numbers_of_jobs_that_are_dropped_may_repeat(tmp_path):
    trace = write(tmp_path, "\n".join([LINE.replace("7", "0", 1), LINE.replace("7", "0", 1), LINE, LINE]))
    assert [isinstance(item, Fault) for item in read_records(trace)] == [False, True, False, True]
    assert [isinstance(item, Fault) for item in read_records(trace, unnumbered=True)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ({"MaxProcs": "16", "MaxNodes": "4"}, (16, "MaxProcs")),
        ({"MaxNodes": "240 (of two sockets)"}, (240, "MaxNodes")),
        ({"MaxProcs": "-1", "MaxNodes": "0"}, None),
        ({"MaxProcs": "many"}, None),
        ({}, None),
    ],
)
def test_the_header_may_say_how_many_processors_there_are(header, found):
    assert header_processors(header) == found
