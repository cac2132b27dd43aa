"""A model on this machine: the endpoint client, talking to an embedded llama.cpp server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from trialogue.agents.models.contract import Reply, Request
from trialogue.agents.models.llama_server import LlamaServer, require_xllamacpp, threads_of
from trialogue.agents.models.openai_model import OpenAIModel
from trialogue.agents.models.per_loop import PerLoop
from trialogue.agents.models.settings import EndpointSettings, LocalSettings
from trialogue.agents.models.weights import find_adapter, find_weights, sha256_of
from trialogue.errors import ModelError


class LocalModel:
    """``name`` is "smollm2-135m" or the path of a GGUF file, with "+ADAPTER" if wanted: a bundled one by name, or
    the path of a LoRA GGUF file.

    The files are looked for when the model is made, and the server starts with the first request (about a second for
    135M). At most ``parallel`` requests are at the server at once, so that a request's time limit begins when its turn
    comes. Raises MissingExtra, UnknownName, DataError.
    """

    def __init__(self, name: str, settings: LocalSettings | None = None) -> None:
        require_xllamacpp()
        self._settings = settings or LocalSettings()
        self._name = f"local:{name}"
        weights, adapter = _split(name)
        self._weights = find_weights(weights)
        self._adapter = None if adapter is None else find_adapter(adapter)
        self._server: LlamaServer | None = None
        self._client: OpenAIModel | None = None
        self._starting = PerLoop(asyncio.Lock)
        self._places = PerLoop(lambda: asyncio.Semaphore(self._settings.parallel))
        self._closed = False

    @property
    def name(self) -> str:
        return self._name

    @property
    def style(self) -> Literal["chat", "completion"]:
        return "chat" if self._settings.api == "chat" else "completion"

    @property
    def can_constrain(self) -> bool:
        return True

    @property
    def can_call_tools(self) -> bool:
        return self._settings.api == "chat"

    async def generate(self, request: Request) -> Reply:
        async with self._places.get():
            client = await self._running()
            return await client.generate(request)

    def conditions(self) -> Mapping[str, object]:
        adapter = self._adapter
        return {
            "provider": "local",
            "file": self._weights.name,
            "sha256": sha256_of(self._weights),
            "adapter": adapter and {"file": adapter.name, "sha256": sha256_of(adapter)},
            "engine": f"xllamacpp {version('xllamacpp')}",
            **self._settings.model_dump(exclude={"timeout_s"}),
            "threads": threads_of(self._settings),
        }

    async def close(self) -> None:
        """Stops the server and frees its memory. Requests still on their way fail."""
        self._closed = True
        if self._client is not None:
            await self._client.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.close)
        self._client = self._server = None

    async def _running(self) -> OpenAIModel:
        async with self._starting.get():
            if self._closed:
                raise ModelError("connection", f"{self._name} was closed")
            if self._client is None:
                alias = self._weights.stem
                self._server = await asyncio.to_thread(LlamaServer, self._weights, self._adapter, alias, self._settings)
                address = self._server.address
                endpoint = EndpointSettings(
                    base_url=f"{address.url}/v1",
                    api=self._settings.api,
                    timeout_s=self._settings.timeout_s,
                    constraint="gbnf",
                )
                self._client = OpenAIModel(alias, endpoint, name=self._name, api_key=address.key)
        return self._client


def _split(name: str) -> tuple[str, str | None]:
    """``BASE+ADAPTER``; a plus sign in the name of a file that exists parts nothing."""
    if "+" not in name or Path(name).expanduser().is_file():
        return name, None
    parts = name.split("+")
    cuts = [("+".join(parts[:n]), "+".join(parts[n:])) for n in range(1, len(parts))]
    return next((cut for cut in cuts if Path(cut[0]).expanduser().is_file()), cuts[0])
