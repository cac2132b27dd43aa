"""Text environments behind one Gymnasium interface.

env = trialogue.envs.make("household")                              # by name
env = gymnasium.make("trialogue.envs:trialogue/Household-v0")       # through Gymnasium
"""

from __future__ import annotations

from trialogue.envs.contract import Info, Policy, Task, TextEnv
from trialogue.envs.game import Game, GameEnv
from trialogue.envs.registry import EnvEntry, describe, make, make_vec, names, register, register_installed
from trialogue.envs.spaces import ActionSpace, Explanation, TextSpace

__all__ = [
    "ActionSpace",
    "EnvEntry",
    "Explanation",
    "Game",
    "GameEnv",
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
    "register_installed",
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

register(
    "textworld",
    "trialogue.envs.textworld:TextWorldEnv",
    "trialogue/TextWorld-v0",
    "Text adventures (TextWorld): games from files, and generated ones that need no download.",
)

register(
    "tools",
    "trialogue.envs.tools:ToolsEnv",
    "trialogue/Tools-v0",
    "Typed Python functions as tools, and questions that take several calls; generated, no download.",
)

register_installed()
