"""Few-shot episodes as YAML, and their loader."""

from trialogue.exemplars.contract import Exemplar, ExemplarStep

__all__ = ["Exemplar", "ExemplarStep"]
