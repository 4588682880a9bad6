"""Pyomo formulations, one file each; :data:`FORMULATIONS` finds them by model and name."""

from coalloc.models.registry import FORMULATIONS, Formulation, formulation_of

__all__ = ["FORMULATIONS", "Formulation", "formulation_of"]
