"""What is said of the slices of PCBE: shares and claims, on values made by hand."""

from pcbe_slices import slice_lines
from pcbe_values import METERS, SCALED, Value


def values(pcbe, fcfs, others, makespan=10.0):
    """Return what the policies take: J with the published meter, 100 J more with idle power from the start."""
    joules = dict.fromkeys(SCALED, others) | {"energy 1 0": pcbe, "edp 1 0": pcbe, "heuristic 1 1": fcfs}
    return {
        column: Value(makespan, dict(zip(METERS, (published, published + 100.0), strict=True)))
        for column, published in joules.items()
    }


def test_claims_are_judged_on_the_slices_at_hand():
    # Slice 3: 80 of 100 J is 20 % less than FCFS and 1 - 80/90 = 11.1 % less than the best, with idle power from the
    # start 180 of 200 and of 190 J: 10 and 5.3 %. Slice 4: 50 of 40 J, 25 % more.
    text = "\n".join(slice_lines({3: values(80.0, 100.0, 90.0), 4: values(50.0, 40.0, 60.0)}, 0.0))
    assert "The files of 2 of the 20 slices are at hand: 3, 4." in text
    assert "| 3 | 0.0 | 20.0 | 10.0 | 11.1 | 5.3 | 20.0 | 10.0 | 11.1 | 5.3 |" in text
    assert "With the published meter 20.0 % in slice 3; beside them -25.0 % in slice 4." in text
    assert "Without files: 11 and 12." in text
    assert "takes least energy of them in 1 of 2 slices" in text
    assert "saves at most 11.1 % (slice 3), and takes 25.0 % more at worst (slice 4)" in text
    assert "it differs in none of those at hand" in text


def test_no_slices_are_said_to_be_absent():
    assert list(slice_lines({}, None))[-1] == "absent"
