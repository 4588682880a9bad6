"""The independent checker: it recomputes from the instance alone whether a schedule satisfies every rule."""

from coalloc.checker.checker import RULES as RULES
from coalloc.checker.checker import SUPPORTED as SUPPORTED
from coalloc.checker.checker import check as check
from coalloc.checker.rule import Links as Links
from coalloc.checker.rule import Violation as Violation
