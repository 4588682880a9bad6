"""Certificates: proofs that a schedule is optimal, which ``coalloc/verify.py`` checks without the rest of coalloc."""

from __future__ import annotations

from coalloc.certificates.certifying import certify

__all__ = ["certify"]
