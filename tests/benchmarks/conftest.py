"""The benchmarks are scripts, not a package: they import each other from their own folder, and so do their tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
