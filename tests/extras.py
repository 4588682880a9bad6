"""What the optional extras change: CI runs the tests with this mark without them, and once more with all of them."""

from __future__ import annotations

import pytest

from coalloc.system.extras import is_installed

NO_PICTURES = "the extra plot is not installed"
needs_pictures = pytest.mark.skipif(not is_installed("matplotlib"), reason=NO_PICTURES)
"""Skip a test that draws where nothing can be drawn."""

AUTO = pytest.param("auto", marks=pytest.mark.extras)
"""The portfolio as a formulation: it asks CP-SAT where that is installed."""
