"""Ranks as the source printed them, from the values that it printed; and each function by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from coalloc.studies.rankings import degradation, mean_coverage, non_dominated, ranking, ranks, set_coverage

TABLE_10 = {
    "LBal_E": (0.37096774, 14, 0.05069124, 3, 0.21082949, 12),
    "LBal_S": (0.30875576, 10, 0.05707196, 5, 0.18291386, 9),
    "LBal_T": (0.50179211, 17, 0.32526882, 21, 0.41353047, 20),
    "LBal_W": (0.45362903, 16, 0.29493088, 18, 0.37427995, 7),
    "MaxAR_eff": (0.92059553, 30, 0.68202765, 30, 0.80131159, 31),
    "MaxAR_v": (0.06451613, 1, 0.05376344, 4, 0.05913978, 1),
    "MaxAR_veff": (0.06451613, 2, 0.33064516, 23, 0.19758065, 10),
    "MCT": (0.86021505, 29, 0.09090909, 10, 0.47556207, 25),
    "MCT_eff": (0.22939068, 7, 0.06810036, 7, 0.14874552, 5),
    "MLB": (0.66308244, 25, 0.71827957, 31, 0.690681, 30),
    "MLB_eff": (0.71612903, 27, 0.50537634, 29, 0.61075269, 27),
    "MLB_v": (0.34408602, 12, 0.45967742, 28, 0.40188172, 18),
    "MLB_veff": (0.38709677, 15, 0.35714286, 24, 0.37211982, 15),
    "MLp": (0.24193548, 8, 0.05846774, 6, 0.15020161, 6),
    "MLp_eff": (0.359447, 13, 0.11491935, 13, 0.23718318, 13),
    "MLp_v": (0.16129032, 5, 0.03494624, 2, 0.09811828, 3),
    "MLp_veff": (0.1733871, 6, 0.09475806, 11, 0.13407258, 4),
    "MPL": (0.54516129, 20, 0.28709677, 16, 0.41612903, 21),
    "MPL_eff": (0.58312655, 23, 0.16129032, 14, 0.37220844, 16),
    "MPL_v": (0.25806452, 9, 0.09677419, 12, 0.17741935, 8),
    "MPL_veff": (0.31854839, 11, 0.08797654, 9, 0.20326246, 11),
    "MST": (0.60703812, 24, 0.03225806, 1, 0.31964809, 14),
    "MST_eff": (1, 31, 0.29912023, 19, 0.64956012, 29),
    "MST_v": (0.07096774, 3, 0.08294931, 8, 0.07695853, 2),
    "MST_veff": (0.07096774, 4, 0.25806452, 15, 0.16451613, 7),
    "MWT": (0.51612903, 18, 0.29435484, 17, 0.40524194, 19),
    "MWT_eff": (0.54569892, 21, 0.32258065, 20, 0.43413978, 22),
    "MWWT_S": (0.56129032, 22, 0.32718894, 22, 0.44423963, 23),
    "MWWT_T": (0.54032258, 19, 0.39589443, 25, 0.4681085, 24),
    "MWWT_W": (0.66451613, 26, 0.4398827, 27, 0.55219941, 26),
    "Random": (0.8266129, 28, 0.42473118, 26, 0.62567204, 28),
}
"""Coverage and rank on grid 1, on grid 2, the mean of the coverages, and its rank; as printed."""

TABLE_11 = {
    "LBal_E": (47.38, 0, 3),
    "LBal_S": (24.62, 69.18, 14),
    "LBal_T": (50.22, 69.42, 16),
    "LBal_W": (28.46, 69.61, 15),
    "MCT": (84.31, 37.43, 20),
    "MCT_eff": (14.45, 65.59, 28),
    "MLB": (74.38, 71.9, 26),
    "MLB_eff": (81.21, 68.71, 28),
    "MLB_v": (10.1, 70.5, 9),
    "MLB_veff": (15.91, 67.58, 10),
    "MLp": (21.39, 71.23, 13),
    "MLp_eff": (49.28, 70.39, 17),
    "MLp_v": (1.96, 67.39, 5),
    "MLp_veff": (1.88, 68.59, 6),
    "MPL": (74.04, 71.19, 25),
    "MPL_eff": (82.55, 69.69, 29),
    "MPL_v": (16.23, 69.23, 11),
    "MPL_veff": (21.06, 68.14, 12),
    "MST": (88.21, 31.53, 18),
    "MST_eff": (92.16, 74.77, 31),
    "MST_v": (0.34, 25.73, 2),
    "MST_veff": (0.34, 74.64, 7),
    "MWT": (61.13, 64.51, 21),
    "MWT_eff": (58.5, 70, 23),
    "MWWT_S": (60.37, 61.14, 19),
    "MWWT_T": (61.23, 65.41, 22),
    "MWWT_W": (67.72, 66.12, 24),
    "MaxAR_eff": (87.87, 73.48, 30),
    "MaxAR_v": (0, 5.99, 1),
    "MaxAR_veff": (0.001, 64.72, 4),
    "Random": (81.07, 68.53, 27),
}
"""Degradation of EnEff on grid 1 and on grid 2, %, and the rank; as printed."""


def test_table_10_but_for_its_misprint():
    table = pd.DataFrame.from_dict(TABLE_10, orient="index", columns=["1", "rank_1", "2", "rank_2", "mean", "rank"])
    found = ranking(table[["1", "2"]])
    assert list(found) == list(table)
    assert found["rank_1"].tolist() == table["rank_1"].tolist()
    assert found["rank_2"].tolist() == table["rank_2"].tolist()
    assert np.allclose(found["mean"], table["mean"], rtol=0.0, atol=1e-8)
    misprinted = found["rank"] != table["rank"]
    assert found[misprinted]["rank"].to_dict() == {"LBal_W": 17}  # printed: 7, which MST_veff is as well


def test_table_11_but_for_its_misprint():
    table = pd.DataFrame.from_dict(TABLE_11, orient="index", columns=["1", "2", "rank"])
    found = ranking(table[["1", "2"]])
    misprinted = found["rank"] != table["rank"]
    assert found[misprinted]["rank"].to_dict() == {"MCT_eff": 8}  # printed: 28, which MLB_eff is as well


def test_degradation_is_how_much_worse_than_the_best():
    # Of 2, 3, 2: 3 is 50 % more than the least, 2 a third less than the greatest.
    assert degradation([2.0, 3.0, 2.0]).tolist() == [0.0, 50.0, 0.0]
    assert degradation([2.0, 3.0, 2.0], "greatest").tolist() == pytest.approx([100 / 3, 0.0, 100 / 3])


def test_degradation_from_nothing_is_undefined():
    assert np.array_equal(degradation([0.0, 3.0, 0.0]), [0.0, math.nan, 0.0], equal_nan=True)
    assert degradation([0.0, 0.0], "greatest").tolist() == [0.0, 0.0]


def test_a_front_has_no_point_that_another_dominates():
    # (2, 2) is dominated by (1, 2); equal points stay, both.
    assert non_dominated([(1, 2), (2, 1), (2, 2), (2, 1)]).tolist() == [[1, 2], [2, 1], [2, 1]]


def test_coverage_counts_points_that_are_dominated_or_equalled():
    # Of B's three points A equals (1, 2), dominates (3, 3) and misses (0, 9).
    a, b = [(1, 2), (2, 1)], [(1, 2), (3, 3), (0, 9)]
    assert set_coverage(a, b) == pytest.approx(2 / 3)
    assert set_coverage(b, a) == 0.5
    assert set_coverage(a, a) == 1.0


def test_the_mean_coverage_counts_a_front_itself():
    fronts = {"a": [(1, 2), (2, 1)], "b": [(1, 2), (3, 3), (0, 9)]}
    assert mean_coverage(fronts) == {"a": pytest.approx(0.75), "b": pytest.approx((2 / 3 + 1) / 2)}


def test_of_equal_values_the_first_ranks_first_and_what_is_undefined_last():
    assert ranks([0.5, math.nan, 0.1, 0.5]).tolist() == [2, 4, 1, 3]
    assert ranking(pd.DataFrame({"1": [0.2, 0.1], "2": [0.1, math.nan]}))["rank"].tolist() == [1, 2]
