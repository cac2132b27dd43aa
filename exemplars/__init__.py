"""Few-shot episodes as YAML, and their loader."""

from trialogue.exemplars.contract import Exemplar, ExemplarStep
from trialogue.exemplars.library import bundled_files, exemplars_for, exemplars_in

__all__ = ["Exemplar", "ExemplarStep", "bundled_files", "exemplars_for", "exemplars_in"]
