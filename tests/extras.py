"""What the optional extras change: CI runs the tests with this mark without them, and once more with all of them."""

from __future__ import annotations

import pytest

AUTO = pytest.param("auto", marks=pytest.mark.extras)
"""The portfolio as a formulation: it asks CP-SAT where that is installed."""
