"""Truths: what an architecture really scores, from which source, under which policy."""

from harness.bench.catalogue import sources
from harness.bench.identity import Curve, Identity, Source, Truth, Truths
from harness.bench.query import curve, seconds, truth, truths

__all__ = ["Curve", "Identity", "Source", "Truth", "Truths", "curve", "seconds", "sources", "truth", "truths"]
