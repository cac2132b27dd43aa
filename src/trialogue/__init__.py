"""Run language-model agents in text environments, and say with evidence which agent is better.

The parts, each importable on its own:

* ``trialogue.envs``         text environments behind one Gymnasium interface
* ``trialogue.agents``       what to say to a model and how to read its reply
* ``trialogue.exemplars``    few-shot episodes as YAML
* ``trialogue.experiments``  run, store, compare, show; the command line
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("trialogue")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
