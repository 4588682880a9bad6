"""A made-up trace of 30 lines in which every filter strikes, and a short one from another time zone."""

import json

from coalloc.workloads.weeks.spec import DAY

MONDAY = 345_600
"""Unix time of Monday, 5 January 1970, 0:00 in Greenwich."""

HOUR = 3600
FIRST = 14 * DAY + HOUR
"""Where the weeks of trace A begin, s on its clock: see ``TRACE_A``."""


def line(number, submit, run=100, processors=4, request=200, status=1, user=7, partition=1):
    return f"{number} {submit} -1 {run} {processors} -1 -1 9 {request} -1 {status} {user} 1 -1 1 {partition} -1 -1"


# The broker's time zone is that of B, an hour west. A begins on Monday at 0:00 in Greenwich, which is Sunday 23:00
# there. Its first valid job comes on Monday at 1:00 of the broker (7200 s); the warm-up ends a week later, at 1:00 as
# well. So the first Monday 0:00 is 14 days and an hour from A's 0. The last valid job comes in the third week from
# there: two weeks are whole.
TRACE_A = [
    line(0, 10),  # a
    line(0, 20),  # a: numbers that are dropped may repeat
    line(1, -5),  # b
    line(2, 30, run=0),  # c
    line(3, 40, run=-1, status=5),  # c: it comes before i
    line(4, 50, processors=-1),  # d
    line(5, 60, processors=0),  # d
    line(6, 70, request=-1),  # e
    line(7, 80, request=0),  # e
    line(8, 90, user=-1),  # f
    line(9, 100, user=0),  # f
    line(10, 110, status=0),  # g
    line(11, 120, status=0, user=0),  # f: it comes before g
    line(12, 130, status=4),  # h
    line(13, 140, status=5),  # i
    line(14, 150, partition=3),  # another partition
    line(15, 160, partition=3, run=0),  # another partition: it comes first
    line(16, 7200),  # the first valid job: before the first Monday
    line(17, FIRST - 1, user=8),  # before
    line(18, FIRST, user=9),  # Monday 0:00: week 1 at 0
    line(19, FIRST + 5, processors=8, user=8),  # week 1 at 5, as large as the largest site
    line(20, FIRST + 5, processors=9),  # larger than every site
    line(21, FIRST + 10, run=300, request=250, user=9),  # week 1 at 10: cut to 250 s
    line(22, FIRST + 3 * DAY, run=200, request=200),  # week 1 at 3 d: not cut
    line(23, FIRST + 7 * DAY - 1),  # week 1 at its last second
    line(24, FIRST + 7 * DAY),  # week 2 at 0
    line(25, FIRST + 13 * DAY, user=8),  # week 2 at 6 d
    line(26, FIRST + 14 * DAY - 1, run=1, request=1),  # week 2 at its last second
    line(27, FIRST + 14 * DAY),  # after
    line(28, FIRST + 15 * DAY, status=-1),  # after: an unknown status is none that is dropped
]

# B begins on Monday 0:00 of its own clock, the broker's; its first valid job ends the warm-up on Monday 0:00 sharp. Its
# last comes on the second Sunday from there.
TRACE_B = [
    line(1, 0),
    line(2, 7 * DAY + 5, user=1),  # week 1 at 5, as A's 19
    line(3, 7 * DAY + 2, user=2, processors=1, run=50),  # week 1 at 2: the file is not in order
    line(4, 20 * DAY, user=1),  # week 2 at 6 d, as A's 25
]

PLATFORM = {
    "format": "coalloc-platform",
    "version": 1,
    "clusters": [
        {"name": "A", "link_bandwidth": 0.0, "nodes": [{"count": 4, "power": 1.0}]},
        {"name": "B", "link_bandwidth": 0.0, "nodes": [{"count": 8, "power": 2.5}]},
    ],
}

SPEC = """
platform = "grid.json"
[[traces]]
swf = "a.swf"
site = "A"
partitions = [1]
[[traces]]
swf = "b.swf"
site = "B"
"""


def header(start, time_zone):
    return [f"; UnixStartTime: {start}", f"; TimeZone: {time_zone}", ";"]


def write_traces(folder, spec=SPEC):
    """Write platform, traces and specification; return the path of the specification."""
    (folder / "grid.json").write_text(json.dumps(PLATFORM))
    (folder / "a.swf").write_text("\n".join([*header(MONDAY, 0), *TRACE_A, ""]))
    (folder / "b.swf").write_text("\n".join([*header(MONDAY + HOUR, -HOUR), *TRACE_B, ""]))
    path = folder / "two.toml"
    path.write_text(spec)
    return path
