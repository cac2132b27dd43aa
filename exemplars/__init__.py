"""Few-shot episodes as YAML, and their loader."""

from trialogue.exemplars.contract import Exemplar, ExemplarStep, PlannedStep
from trialogue.exemplars.library import bundled_files, exemplars_for, exemplars_in

__all__ = ["Exemplar", "ExemplarStep", "PlannedStep", "bundled_files", "exemplars_for", "exemplars_in"]
