"""Text environments behind one Gymnasium interface.

env = trialogue.envs.make("household")                              # by name
env = gymnasium.make("trialogue.envs:trialogue/Household-v0")       # through Gymnasium
"""

from __future__ import annotations

from trialogue.envs.contract import Info, Policy, Task, TextEnv
from trialogue.envs.registry import EnvEntry, describe, make, make_vec, names, register
from trialogue.envs.spaces import ActionSpace, Explanation, TextSpace

__all__ = [
    "ActionSpace",
    "EnvEntry",
    "Explanation",
    "Info",
    "Policy",
    "Task",
    "TextEnv",
    "TextSpace",
    "describe",
    "make",
    "make_vec",
    "names",
    "register",
]

register(
    "household",
    "trialogue.envs.household:HouseholdEnv",
    "trialogue/Household-v0",
    "Household tasks in text (ALFWorld): real games, and generated ones that need no download.",
)

register(
    "hotpotqa",
    "trialogue.envs.wiki:HotpotQAEnv",
    "trialogue/HotpotQA-v0",
    "Questions answered by searching an encyclopedia (HotpotQA): real ones, and generated ones that need no download.",
)

register(
    "fever",
    "trialogue.envs.wiki:FeverEnv",
    "trialogue/FEVER-v0",
    "Claims judged by searching an encyclopedia (FEVER): real ones, and generated ones that need no download.",
)

register(
    "webshop",
    "trialogue.envs.webshop:WebShopEnv",
    "trialogue/WebShop-v0",
    "A web shop in text (WebShop): real goals from its files, and generated ones that need no download.",
)
