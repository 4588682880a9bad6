"""Hypothesis in every test: no clock, for machines differ; the same examples in every run of CI. And Ctrl-C works.

A shell that starts the tests in the background has them, and all programs that they start, ignore it.
"""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

signal.signal(signal.SIGINT, signal.default_int_handler)
