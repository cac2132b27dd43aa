"""What an endpoint turned out not to accept, learned from its own answers and remembered for later calls.

No list of model names: names change (a dated ``o4-mini-2025-04-16``), and the endpoint itself says what it refuses.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

_log = logging.getLogger(__name__)


class Refusals:
    """The refused parameters of one endpoint and model."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._refused: set[str] = set()
        self._asked_temperatures: set[float] = set()

    def __contains__(self, parameter: str) -> bool:
        return parameter in self._refused

    def learn(self, parameter: str, sent: Mapping[str, object]) -> bool:
        """Notes a refusal; False when that teaches nothing new, so that the same request would fail again.

        A concurrent call may have learned it first: then ``sent`` still holds the parameter, and asking again helps.
        """
        if parameter in self._refused:
            return parameter in sent
        self._refused.add(parameter)
        _log.warning("%s does not accept %r; %s", self._endpoint, parameter, _CONSEQUENCES[parameter])
        return True

    def adapt(self, body: Mapping[str, object]) -> dict[str, object]:
        """``body`` without what is refused; a refused ``max_tokens`` becomes ``max_completion_tokens`` in chat."""
        adapted = dict(body)
        if "max_tokens" in self._refused and "messages" in adapted:
            adapted["max_completion_tokens"] = adapted.pop("max_tokens")
        if "temperature" in self._refused:
            self._asked_temperatures.add(float(str(body["temperature"])))
        return {name: value for name, value in adapted.items() if name not in self._refused}

    def conditions(self) -> dict[str, object]:
        if not self._refused:
            return {}
        effective: dict[str, object] = {"refused_parameters": sorted(self._refused)}
        if "temperature" in self._refused:
            asked = ", ".join(f"{value:g}" for value in sorted(self._asked_temperatures))
            effective["effective_temperature"] = f"server default (asked {asked})"
        return effective


def cut_at_stop(text: str, stop: Sequence[str]) -> str:
    """``text`` before the first of ``stop``. Leading white space goes first: a reply may open with a line break."""
    text = text.lstrip()
    ends = [text.find(mark) for mark in stop if mark and mark in text]
    return text[: min(ends)] if ends else text


_CONSEQUENCES = {
    "stop": "replies are cut at the stop sequences here instead",
    "temperature": "its own default temperature applies",
    "seed": "replies are not reproducible by seed",
    "max_tokens": "the limit is sent as max_completion_tokens (chat) or not at all (completions)",
    "max_completion_tokens": "replies have no length limit",
    "stream_options": "token usage of streamed replies may be missing",
}
