import itertools

import numpy as np
import pytest

from coalloc.documents.palette import BASE, INK, PAPER, RUNNING, bar_colour, channels, luminance, mixed, text_colour

# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
PROTANOPIA = [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
DEUTERANOPIA = [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
DEFICIENCIES = {"none": np.eye(3), "protanopia": np.array(PROTANOPIA), "deuteranopia": np.array(DEUTERANOPIA)}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def lab(colour: str, deficiency: str) -> np.ndarray:
    """CIELAB (D65) of a colour as seen with a deficiency."""
    rgb = np.array(channels(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ np.clip(DEFICIENCIES[deficiency] @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_colours_of_a_thesis_instance_are_distinct_for_everybody(deficiency):
    # Eight jobs; a difference of 2.3 in CIELAB is just noticeable, 10 is plain.
    colours = [bar_colour(i) for i in range(8)] + [RUNNING]
    for one, other in itertools.combinations(colours, 2):
        assert np.linalg.norm(lab(one, deficiency) - lab(other, deficiency)) > 10, (one, other)


def test_colours_are_stable_and_repeat_late():
    assert bar_colour(0) == BASE[0]
    assert len({bar_colour(i) for i in range(33)}) == 33
    assert bar_colour(33) == bar_colour(0)
    assert bar_colour(None) == RUNNING


def test_labels_have_the_contrast_that_wcag_asks_of_large_text():
    for number in [None, *range(33)]:
        back = luminance(bar_colour(number)) + 0.05
        front = luminance(text_colour(bar_colour(number))) + 0.05
        assert max(back / front, front / back) >= 3.0


def test_luminance_and_mixing_have_the_known_ends():
    assert luminance("#000000") == 0.0
    assert luminance("#FFFFFF") == pytest.approx(1.0)
    assert (text_colour("#FFFFFF"), text_colour("#000000")) == (INK, PAPER)
    assert (mixed("#102030", "#FFFFFF", 0.0), mixed("#102030", "#FFFFFF", 1.0)) == ("#102030", "#FFFFFF")
