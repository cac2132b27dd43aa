"""Settings of models: checked when a model is made, before any episode starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trialogue.agents.models.wire import Api
from trialogue.errors import UnknownName, UsageError

ConstraintStyle = Literal["gbnf", "choice", "json_schema"]


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Prices(Settings):
    """Money per million tokens. ``cached_input`` is for prompt tokens from a prefix cache; None: as ``input``."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)


class EndpointSettings(Settings):
    """Settings of ``openai:NAME``.

    ``api_key_env`` names the environment variable that holds the key (never the key itself). ``timeout_s`` bounds one
    call in seconds, ``max_retries`` the further calls after a failure that may pass, ``max_wait_s`` one pause between
    them. ``max_concurrent`` bounds the calls under way; after a 429 they become fewer by themselves. ``constraint`` is
    how the server takes constrained decoding: "gbnf" (llama.cpp), "choice" (vLLM) or "json_schema" (OpenAI and others,
    chat only). ``extra_body`` is added to each request as it stands.
    """

    base_url: str | None = None
    api_key_env: str | None = None
    api: Api = "chat"
    timeout_s: float = Field(default=120.0, gt=0)
    max_retries: int = Field(default=4, ge=0)
    max_wait_s: float = Field(default=60.0, gt=0)
    max_concurrent: int | None = Field(default=None, ge=1)
    prices: Prices | None = None
    constraint: ConstraintStyle | None = None
    stream: bool = False
    extra_body: dict[str, Any] = Field(default_factory=dict)


class LocalSettings(Settings):
    """Settings of ``local:NAME``.

    ``context`` is in tokens, for each of ``parallel`` slots (requests answered at once); memory grows with their
    product, and prefixes are kept in the slots: give concurrent episodes a slot each. ``threads`` None: all cores that
    this process may use but one. ``kv_cache`` is the number format of the context. ``adapter_scale`` weighs the adapter
    of ``local:NAME+ADAPTER``. ``cache_prompt`` False reads each prompt anew: slower, but a reply then does not depend
    on which part of its prompt was read before; with ``parallel`` 1 it depends on the request alone.
    """

    api: Api = "completions"
    context: int = Field(default=8192, ge=256)
    parallel: int = Field(default=4, ge=1, le=256)
    threads: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=600.0, gt=0)
    cache_prompt: bool = True
    kv_cache: Literal["f16", "q8_0", "q4_0"] = "f16"
    adapter_scale: float = 1.0


S = TypeVar("S", bound=Settings)


def read_settings(kind: type[S], settings: Mapping[str, object], owner: str) -> S:
    """Raises UnknownName for a setting that ``kind`` lacks (with the nearest), UsageError for a bad value."""
    for name in settings:
        if name not in kind.model_fields:
            raise UnknownName(f"setting of {owner}", name, kind.model_fields)
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"setting {where} of {owner}: {first['msg']} (got {first['input']!r})") from None
