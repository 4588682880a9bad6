"""The picture of merged weeks."""

from coalloc.plot.weeks import draw_weeks


def test_bars_are_jobs_per_week_and_processor_hours_per_day():
    weeks, days = draw_weeks("grid1", [5, 7, 6], [7200.0, 3600.0]).axes
    assert [bar.get_height() for bar in weeks.patches] == [5, 7, 6]
    assert [bar.get_height() for bar in days.patches] == [2.0, 1.0]
    assert (weeks.get_ylabel(), days.get_ylabel()) == ("jobs", "processor h")
