"""Independent checker, one file per family of rules: it recomputes every rule from the instance alone."""

from coalloc.checker.checker import RULES as RULES
from coalloc.checker.checker import SUPPORTED as SUPPORTED
from coalloc.checker.checker import check as check
from coalloc.checker.rule import Links as Links
from coalloc.checker.rule import Violation as Violation
