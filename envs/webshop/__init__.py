"""A web shop in text: WebShop's products and goals (real ones, and generated ones that need no download)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialogue.envs.webshop.env import WebShopEnv

__all__ = ["WebShopEnv"]


def __getattr__(name: str) -> Any:
    if name == "WebShopEnv":
        from trialogue.envs.webshop.env import WebShopEnv

        return WebShopEnv
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
