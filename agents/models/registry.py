"""Models by name, checked in full before anything runs: ``make_model("local:smollm2-135m", parallel=2)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from trialogue.agents.models.contract import Model
from trialogue.agents.models.settings import EndpointSettings, LocalSettings, Settings, read_settings
from trialogue.errors import UnknownName, UsageError


class ScriptedSettings(Settings):
    """Settings of ``scripted:MODULE:ATTRIBUTE``; see :class:`trialogue.agents.models.scripted.ScriptedModel`."""

    style: Literal["chat", "completion"] = "completion"
    can_constrain: bool = False
    can_call_tools: bool = False
    latency_s: float = 0.0


class HumanSettings(Settings):
    """``human:keyboard`` has nothing to set."""


@dataclass(frozen=True)
class ModelInfo:
    """A line of a listing: how a model is named, what it is, and its settings with their defaults (JSON values)."""

    name: str
    summary: str
    settings: Mapping[str, object]


def make_model(name: str, **settings: object) -> Model:
    """The model named ``PROVIDER:NAME``; :func:`describe_models` lists the providers and their settings.

    Raises UnknownName (provider, setting or local model, with the nearest known), UsageError (bad value, missing key),
    MissingExtra, DataError (missing or broken files).
    """
    provider, _, rest = name.partition(":")
    if provider not in _PROVIDERS:
        raise UnknownName("model provider", provider, _PROVIDERS)
    if not rest:
        raise UsageError(f"{name!r} names a provider and no model; expected {_PROVIDERS[provider].info.name}")
    return _PROVIDERS[provider].make(rest, settings)


def describe_models() -> list[ModelInfo]:
    return [provider.info for provider in _PROVIDERS.values()]


def _make_openai(name: str, settings: Mapping[str, object]) -> Model:
    from trialogue.agents.models.openai_model import OpenAIModel

    return OpenAIModel(name, read_settings(EndpointSettings, settings, "openai:"))


def _make_local(name: str, settings: Mapping[str, object]) -> Model:
    from trialogue.agents.models.local_model import LocalModel

    return LocalModel(name, read_settings(LocalSettings, settings, "local:"))


def _make_scripted(name: str, settings: Mapping[str, object]) -> Model:
    from trialogue.agents.models.scripted import ScriptedModel, load_script

    options = read_settings(ScriptedSettings, settings, "scripted:").model_dump()
    return ScriptedModel(load_script(name), name=f"scripted:{name}", **options)


def _make_human(name: str, settings: Mapping[str, object]) -> Model:
    from trialogue.agents.models.human import HumanModel

    read_settings(HumanSettings, settings, "human:")
    return HumanModel(name)


@dataclass(frozen=True)
class _Provider:
    make: Callable[[str, Mapping[str, object]], Model]
    info: ModelInfo


def _info(name: str, summary: str, kind: type[Settings]) -> ModelInfo:
    return ModelInfo(name, summary, kind().model_dump(mode="json"))


_PROVIDERS = {
    "openai": _Provider(
        _make_openai,
        _info("openai:NAME", "a model of the OpenAI API, or of any compatible server at base_url", EndpointSettings),
    ),
    "local": _Provider(
        _make_local,
        _info(
            "local:smollm2-135m", "a GGUF file (or local:/path/model.gguf) run on this machine, no key", LocalSettings
        ),
    ),
    "scripted": _Provider(
        _make_scripted,
        _info("scripted:MODULE:ATTRIBUTE", "replies given by a list, a mapping or a function", ScriptedSettings),
    ),
    "human": _Provider(
        _make_human,
        _info("human:keyboard", "a person: what is new is printed, and one line is read", HumanSettings),
    ),
}
