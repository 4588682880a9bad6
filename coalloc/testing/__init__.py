"""Brute force from the definitions, and small random instances, for tests of formulations, bounds and policies."""

from coalloc.testing.brute_force import (
    BruteForceResult,
    brute_force_cbs,
    brute_force_jpr,
    brute_force_oas,
    brute_force_pas,
)
from coalloc.testing.brute_force_energy import brute_force_energy
from coalloc.testing.features import small_feature_instance
from coalloc.testing.small import SmallSize, small_instance, small_package

__all__ = [
    "BruteForceResult",
    "SmallSize",
    "brute_force_cbs",
    "brute_force_energy",
    "brute_force_jpr",
    "brute_force_oas",
    "brute_force_pas",
    "small_feature_instance",
    "small_instance",
    "small_package",
]
