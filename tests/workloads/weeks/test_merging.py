"""From traces to weeks: what is dropped, on whose clock, and in which order."""

import gzip
import json

import pytest

import coalloc
from coalloc import CoallocError, InstanceError
from coalloc.workloads.weeks.filters import WeekDrop
from coalloc.workloads.weeks.spec import DAY
from tests.shared import shared
from tests.workloads.weeks.traces import MONDAY, SPEC, TRACE_A, line, write_traces


@pytest.fixture
def merged(tmp_path):
    return coalloc.io.merge_swf(write_traces(tmp_path))


def jobs(week):
    return [(job.id, job.arrival, job.tasks, job.base_time, job.estimate, job.user) for job in week.jobs]


def test_each_filter_counts_what_it_drops(merged):
    first, second = merged.account.traces
    assert len(TRACE_A) == first.records == 30
    assert dict(first.dropped) == {
        WeekDrop.PARTITION: 2,
        WeekDrop.NUMBER: 2,
        WeekDrop.SUBMIT: 1,
        WeekDrop.RUN: 2,
        WeekDrop.PROCESSORS: 2,
        WeekDrop.REQUEST: 2,
        WeekDrop.USER: 3,
        WeekDrop.FAILED: 1,
        WeekDrop.PARTIAL: 1,
        WeekDrop.CANCELLED: 1,
        WeekDrop.TOO_LARGE: 1,
        WeekDrop.BEFORE: 2,
        WeekDrop.AFTER: 2,
    }
    assert first.jobs == 30 - 22 == 8
    assert first.cut == 1
    assert (second.records, second.jobs, second.dropped[WeekDrop.BEFORE]) == (4, 3, 1)
    assert sum(second.dropped.values()) == 1


def test_jobs_arrive_on_the_clock_of_the_broker_and_users_are_numbered_trace_by_trace(merged):
    # Users in the weeks of A, by appearance: 9, 8, 7 become 1, 2, 3; of B 1 and 2 become 4 and 5. Jobs that arrive
    # together are in the order of the traces.
    one, two = merged.weeks
    assert jobs(one) == [
        ("A-18", 0.0, 4, 100.0, 200.0, "1"),
        ("B-3", 2.0, 1, 50.0, 200.0, "5"),
        ("A-19", 5.0, 8, 100.0, 200.0, "2"),
        ("B-2", 5.0, 4, 100.0, 200.0, "4"),
        ("A-21", 10.0, 4, 250.0, 250.0, "1"),
        ("A-22", 3.0 * DAY, 4, 200.0, 200.0, "3"),
        ("A-23", 7.0 * DAY - 1, 4, 100.0, 200.0, "3"),
    ]
    assert jobs(two) == [
        ("A-24", 0.0, 4, 100.0, 200.0, "3"),
        ("A-25", 6.0 * DAY, 4, 100.0, 200.0, "2"),
        ("B-4", 6.0 * DAY, 4, 100.0, 200.0, "4"),
        ("A-26", 7.0 * DAY - 1, 4, 1.0, 1.0, "3"),
    ]
    assert [week.name for week in merged.weeks] == ["two-week-01", "two-week-02"]
    assert [trace.first_monday for trace in merged.account.traces] == ["1970-01-19", "1970-01-12"]


def test_the_account_has_the_load_of_each_week_and_the_work_of_each_day(merged):
    # Week 1: 4*100 + 50 + 8*100 + 4*100 + 4*250 on its Monday, 4*200 on its Thursday, 4*100 on its Sunday: 3850
    # processor s. Week 2: 400 on its Monday, 800 + 4 on its Sunday. The platform does 4*1 + 8*2.5 = 24 per second.
    account = merged.account
    assert [(week.jobs, week.users, week.work) for week in account.weeks] == [(7, 5, 3850.0), (4, 3, 1204.0)]
    assert [week.offered_load for week in account.weeks] == [3850 / (604_800 * 24), 1204 / (604_800 * 24)]
    assert account.without_trace == ()
    assert account.work_by_day == (2650, 0, 0, 800, 0, 0, 400, 400, 0, 0, 0, 0, 0, 804)
    assert (account.sites, account.processors, account.jobs, account.users, account.days) == (2, 12, 11, 5, 14)
    assert account.summary.splitlines()[-1] == "| two | 2 | 12 | 11 | 5 | -1 h | 14 |"


def test_a_job_that_runs_at_home_runs_as_logged(tmp_path):
    # A processor of B has power 2.5, one of A 1.
    merged = coalloc.io.merge_swf(write_traces(tmp_path, 'speeds = "origin"\n' + SPEC))
    ((_, _, _, base_time, estimate, _),) = [job for job in jobs(merged.weeks[0]) if job[0] == "B-3"]
    assert (base_time, estimate) == (125.0, 500.0)
    assert jobs(merged.weeks[0])[0] == ("A-18", 0.0, 4, 100.0, 200.0, "1")


def test_the_days_of_a_month_are_those_of_months_of_30_days(merged):
    import dataclasses

    account = dataclasses.replace(merged.account, work_by_day=tuple(map(float, range(35))))
    # Five days come twice: 0 and 30, ..., 4 and 34.
    assert account.work_by_day_of_month == (15.0, 16.0, 17.0, 18.0, 19.0, *map(float, range(5, 30)))


def test_the_same_traces_give_the_same_bytes_and_gzip_is_read_as_it_is(tmp_path, merged):
    merged.write(tmp_path / "once", swf=True)
    coalloc.io.merge_swf(tmp_path / "two.toml").write(tmp_path / "again", swf=True)
    names = sorted(path.name for path in (tmp_path / "once").iterdir())
    assert names == [
        "account.json",
        "account.md",
        *(f"week-{number}.{kind}.gz" for number in ("01", "02") for kind in ("json", "swf")),
    ]
    for name in names:
        assert (tmp_path / "once" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()
    assert coalloc.read_instance(tmp_path / "once" / "week-02.json.gz") == merged.weeks[1]
    trace = gzip.decompress((tmp_path / "once" / "week-02.swf.gz").read_bytes()).decode()
    assert len([row for row in trace.splitlines() if not row.startswith(";")]) == 4
    document = json.loads((tmp_path / "once" / "account.json").read_text())
    assert document["traces"][0]["dropped"]["c: run time not above 0"] == 2


def test_weeks_never_stand_among_others(tmp_path, merged):
    merged.write(tmp_path / "weeks")
    coalloc.io.merge_swf(write_traces(tmp_path)).write(tmp_path / "weeks")
    one = coalloc.io.merge_swf(write_traces(tmp_path, "weeks = 1\n" + SPEC))
    before = (tmp_path / "weeks" / "week-01.json.gz").read_bytes()
    with pytest.raises(
        CoallocError, match=r"weeks: contains week-02.json.gz, which is not one of the weeks to write; choose"
    ):
        one.write(tmp_path / "weeks")
    assert (tmp_path / "weeks" / "week-01.json.gz").read_bytes() == before


def test_a_platform_that_comes_with_the_package_has_a_name(tmp_path):
    # KTH is the slowest of grid1 by site; by processor LANL is: a processor of KTH is 0.186/0.0638672 as fast.
    spec = SPEC.replace("grid.json", "grid1").replace('"A"', '"KTH"').replace('"B"', '"LANL"')
    as_published = coalloc.io.merge_swf(write_traces(tmp_path, spec))
    assert as_published.weeks[0].platform == coalloc.grid.platform("grid1")
    assert as_published.weeks[0].jobs[0].base_time == 100.0
    others = "SDSC-SP2, HPC2N, CTC, SDSC-BLUE, SDSC-DS"
    assert f"Sites without a trace, and so without logged jobs: {others}." in as_published.account.markdown
    at_home = coalloc.io.merge_swf(tmp_path / "two.toml", speeds="origin")
    assert at_home.weeks[0].platform == coalloc.grid.platform("grid1", speeds="processor")
    assert at_home.weeks[0].jobs[0].base_time == pytest.approx(100.0 * 0.186 / (65.4 / 1024))


def test_a_mapping_is_a_specification_too(tmp_path, monkeypatch, merged):
    monkeypatch.chdir(tmp_path)
    traces = [{"swf": "a.swf", "site": "A", "partitions": [1]}, {"swf": "b.swf", "site": "B"}]
    again = coalloc.io.merge_swf({"platform": "grid.json", "traces": traces, "name": "two"})
    assert again.weeks == merged.weeks


def test_a_specification_places_a_trace_whose_header_does_not(tmp_path, merged):
    spec = write_traces(tmp_path, SPEC.replace('"b.swf"', f'"b.swf"\ntime_zone = -3600\nstart = {MONDAY + 3600}'))
    (tmp_path / "b.swf").write_text((tmp_path / "b.swf").read_text().replace("Time", "Zeit"))
    assert coalloc.io.merge_swf(spec).weeks == merged.weeks


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        (
            ("platform =", "platforms ="),
            ["platform: is missing", "platforms: is not a known key (did you mean platform?); known keys: "],
        ),
        (('"grid.json"', '"no.json"'), ["platform: 'no.json': cannot be read: no such file or directory"]),
        (('swf = "b.swf"', 'swf = "b.swf"\nzone = 1'), ["traces[1].zone: is not a known key; known keys: swf, site,"]),
        (('"b.swf"', '"no.swf"'), ["traces[1].swf: 'no.swf': cannot be read: no such file or directory"]),
        (('"B"', '"C"'), ["traces[1].site: must be a cluster of the platform (A, B), got 'C'"]),
        (('"B"', '"A"'), ["traces[1].site: must differ for each trace, got 'A' again"]),
        (("[1]", "[]"), ["traces[0].partitions: must not be empty"]),
        (("[1]", "[1, 9]"), ["traces[0].partitions[1]: must be the partition of a job of the trace, got 9"]),
        (("platform", "weeks = 0\nplatform"), ["weeks: must be at least 1, got 0"]),
        (
            ("platform", "weeks = 3\nplatform"),
            [
                "traces[0]: must have 3 whole weeks from 1970-01-19 on, got 2",
                "traces[1]: must have 3 whole weeks from 1970-01-12 on, got 2",
            ],
        ),
        (
            ("platform", "warmup_days = 40\nplatform"),
            [
                "traces[0]: must have 1 whole week from 1970-02-16 on, got 0",
                "traces[1]: must have 1 whole week from 1970-02-16 on, got 0",
            ],
        ),
        (("platform", "warmup_days = 1e9\nplatform"), ["warmup_days: must be at most 70000, got 1000000000.0"]),
        (("platform", 'speeds = "home"\nplatform'), ["speeds: must be 'site', 'processor' or 'origin', got 'home'"]),
    ],
)  # fmt: skip
def test_a_fault_is_a_line_with_its_path(tmp_path, change, faults):
    path = write_traces(tmp_path, SPEC.replace(*change, 1))
    with pytest.raises(InstanceError) as caught:
        coalloc.io.merge_swf(path)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(faults)
    for found, fault in zip(lines, faults, strict=True):
        assert found.startswith(f"{path}: {fault}")


def test_all_that_traces_lack_is_said_at_once(tmp_path):
    path = write_traces(tmp_path)
    (tmp_path / "a.swf").write_text("; TimeZone: west\n" + line(1, 0))
    (tmp_path / "b.swf").write_text("; UnixStartTime: -1\n" + line(1, 0))
    with pytest.raises(InstanceError) as caught:
        coalloc.io.merge_swf(path)
    assert str(caught.value).splitlines() == [
        f"{path}: traces[0].start: is missing: the header of the trace has no UnixStartTime",
        f"{path}: traces[0].time_zone: is missing: the header of the trace has 'west' as TimeZone",
        f"{path}: traces[1].start: is missing: the header of the trace has '-1' as UnixStartTime",
        f"{path}: traces[1].time_zone: is missing: the header of the trace has no TimeZone",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            f"{line(1, 0)}\n{line(2, 0)} 3",
            "'b.swf': line 4: must have 18 numbers, got 19 (broken=\"drop\" or --broken drop skips malformed lines)",
        ),
        (line(1, 0) + " 3", "'b.swf': is not an SWF trace: no line consists of 18 numbers"),
        (line(1, 0, run=0), "'b.swf': no job passes the filters and fits on a site"),
        ("", "'b.swf': no job passes the filters and fits on a site"),
        (line(1, 0, request="1e300"), "'b.swf': job 1 must request at most 6048000000 s, got 1e+300 s"),
        (line(1, "1e200"), "'b.swf': must span at most 10000 weeks, got an arrival at 1e+200 s"),
    ],
)
def test_a_file_that_is_no_trace_is_said(tmp_path, text, fault):
    path = write_traces(tmp_path)
    (tmp_path / "b.swf").write_text(f"; UnixStartTime: 5\n; TimeZone: 0\n{text}\n")
    with pytest.raises(InstanceError) as caught:
        coalloc.io.merge_swf(path)
    assert str(caught.value) == f"{path}: traces[1].swf: {fault}"


def test_broken_lines_are_left_out_where_that_is_asked_for_and_counted(tmp_path, merged):
    path = write_traces(tmp_path)
    with (tmp_path / "b.swf").open("a") as trace:
        trace.write("1 2 3\nno line at all\n")
    found = coalloc.io.merge_swf(path, broken="drop")
    assert found.weeks == merged.weeks
    assert [(trace.broken, trace.records) for trace in found.account.traces] == [(0, 30), (2, 4)]
    assert "\n2 malformed lines of b.swf skipped.\n" in found.account.markdown
    with pytest.raises(InstanceError, match=r"line 8: must have 18 numbers, got 3\n.* --broken drop skips"):
        coalloc.io.merge_swf(path)


def test_origin_needs_to_know_how_fast_home_was(tmp_path):
    path = write_traces(tmp_path, 'speeds = "origin"\n' + SPEC)
    platform = json.loads((tmp_path / "grid.json").read_text())
    platform["clusters"][1]["nodes"].append({"count": 1, "power": 1.0})
    (tmp_path / "grid.json").write_text(json.dumps(platform))
    with pytest.raises(
        InstanceError, match=r"traces\[1\].site: must have nodes of one speed with speeds='origin', but 'B' has"
    ):
        coalloc.io.merge_swf(path)


def test_a_real_trace_keeps_the_jobs_of_its_weeks(tmp_path):
    # It begins on Monday, 23 September 1996, 12:00:31 in Greenwich, an hour later in its time zone. The first valid job
    # comes 599,850 s later, on Monday the 30th at 11:38; the warm-up ends on 7 October, again after 0:00.
    write_traces(tmp_path)
    traces = [{"swf": str(shared("data", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")), "site": "B"}]
    platform = coalloc.io.read_platform(tmp_path / "grid.json")
    wide = platform.replace(
        clusters=[cluster.replace(nodes=[cluster.nodes[0].replace(count=100)]) for cluster in platform.clusters]
    )
    coalloc.io.write_platform(wide, tmp_path / "wide.json")
    merged = coalloc.io.merge_swf({"platform": str(tmp_path / "wide.json"), "traces": traces, "weeks": 1})
    (account,) = merged.account.traces
    assert account.first_monday == "1996-10-14"
    assert account.records == 28_476 == account.jobs + sum(account.dropped.values())
    assert account.dropped[WeekDrop.FAILED] == 7944
    assert all(0.0 <= job.arrival < 604_800 for job in merged.weeks[0].jobs)
