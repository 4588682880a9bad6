"""The independent checker: it recomputes all that a schedule has to keep, from the instance alone."""

from coalloc.checker.checker import RULES as RULES
from coalloc.checker.checker import Links as Links
from coalloc.checker.checker import Violation as Violation
from coalloc.checker.checker import check as check
