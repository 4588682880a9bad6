"""What all generators share: descriptions of parameters, rounding, ranges."""

from coalloc.workloads.generator import Parameter, describe, order_faults, rounded_duration
from coalloc.workloads.generators.oas import ThesisOas


def test_a_description_names_each_parameter_with_default_and_meaning():
    description = describe("thesis-oas", ThesisOas)
    assert description.parameters[0] == Parameter("jobs", 8, "number of jobs")
    assert "link_bandwidth=125.0" in description.signature
    assert "link_bandwidth=125.0     bandwidth of each link, MB/s" in str(description)


def test_a_duration_is_whole_milliseconds_but_never_nothing():
    assert rounded_duration(1.23449) == 1.234
    assert rounded_duration(0.0001) == 0.001
    assert rounded_duration(1e300) == 1e300


def test_only_bounds_in_the_wrong_order_are_faults():
    faults = order_faults(("low", 0.5, "high", 0.4), ("a", 1, "b", 1))
    assert [str(fault) for fault in faults] == ["high: must be at least low = 0.5, got 0.4"]
