"""The benchmarks are scripts, not a package: they import each other from their own folder, and so do their tests."""

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path[:0] = [str(BENCHMARKS), *(str(BENCHMARKS / name) for name in ("thesis", "grid", "cisne"))]
