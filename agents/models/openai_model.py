"""Models behind an OpenAI-compatible endpoint (OpenAI, vLLM, llama.cpp, Ollama and others), chat or completions.

The ``openai`` client carries the calls; retries, time limits and what the endpoint refuses are decided here, so that
every call is counted. API: the OpenAI reference, "Chat completions" and "Completions".
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit, urlunsplit

from trialogue.agents.models import constraints
from trialogue.agents.models.contract import Constraint, Reply, Request, Usage
from trialogue.agents.models.failures import Failure, failure_of_status
from trialogue.agents.models.per_loop import PerLoop
from trialogue.agents.models.refusals import Refusals, cut_at_stop
from trialogue.agents.models.settings import EndpointSettings, Prices
from trialogue.agents.models.throttle import Throttle
from trialogue.agents.models.wire import Malformed, body_of, merge_chunks, read_json, read_reply, stops_of
from trialogue.errors import UsageError

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI

_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 20.0


class OpenAIModel:
    """``model`` at the endpoint that ``settings`` describe. Can be asked concurrently.

    ``api_key`` is for servers that this program started itself; otherwise the key comes from the environment. The key
    reaches no record and no error text. Raises UsageError when a key is missing that the endpoint needs.
    """

    def __init__(
        self, model: str, settings: EndpointSettings | None = None, *, name: str = "", api_key: str | None = None
    ) -> None:
        if not model:
            raise UsageError("openai: needs a model's name, as in openai:gpt-4o")
        self._model = model
        self._name = name or f"openai:{model}"
        self._settings = settings or EndpointSettings()
        self._base_url = self._settings.base_url or os.environ.get("OPENAI_BASE_URL") or None
        self._key = api_key or _key_from_environment(self._settings.api_key_env, self._base_url)
        self._refusals = Refusals(self._name)
        self._client = PerLoop(self._new_client)
        self._throttle = PerLoop(lambda: Throttle(self._settings.max_concurrent))
        self._jitter = random.Random()  # our own: drawing from the global one would disturb seeded experiments
        self._served: set[str] = set()
        if self._settings.constraint == "json_schema" and self._settings.api != "chat":
            raise UsageError('constraint "json_schema" needs api "chat"; completions have no response_format')

    @property
    def name(self) -> str:
        return self._name

    @property
    def style(self) -> Literal["chat", "completion"]:
        return "chat" if self._settings.api == "chat" else "completion"

    @property
    def can_constrain(self) -> bool:
        return self._settings.constraint is not None

    @property
    def can_call_tools(self) -> bool:
        return self._settings.api == "chat"

    async def generate(self, request: Request) -> Reply:
        """``Reply.retries`` counts calls after failures that may pass, not those that taught a refused parameter."""
        body = self._body(request)
        started = time.monotonic()
        retried: list[str] = []
        throttle = self._throttle.get()
        while True:
            sent = self._refusals.adapt(body)
            async with throttle.place():
                outcome = await self._call(sent)
            if isinstance(outcome, Reply):
                outcome = self._finish(request, outcome)
            if isinstance(outcome, Reply):
                throttle.answered()
                return replace(
                    outcome, retries=len(retried), retried=tuple(retried), seconds=time.monotonic() - started
                )
            if outcome.kind == "rate_limit":
                throttle.refused()
            if outcome.refused is not None and self._refusals.learn(outcome.refused, sent):
                continue
            await self._pause_or_raise(outcome, len(retried))
            retried.append(outcome.kind)

    def conditions(self) -> Mapping[str, object]:
        settings = self._settings.model_dump(exclude=_NOT_DECISIVE)
        settings["extra_body"] = json.loads(self._scrub(json.dumps(_without_secrets(settings["extra_body"]))))
        return {
            "provider": "openai",
            "model": self._model,
            "base_url": _without_user(self._base_url or "default"),
            "client": f"openai {version('openai')}",
            "served_models": sorted(self._served),
            **settings,
            **self._refusals.conditions(),
        }

    async def close(self) -> None:
        client = self._client.pop()
        if client is not None:
            await client.close()

    def _new_client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI  # takes about a second to import

        return AsyncOpenAI(api_key=self._key, base_url=self._base_url, max_retries=0, timeout=self._settings.timeout_s)

    def _body(self, request: Request) -> dict[str, object]:
        if request.tools and not self.can_call_tools:
            raise UsageError(f'{self._name} was offered tools, which only api "chat" can call')
        body = body_of(request, self._model, self._settings.api)
        if self._settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if request.constraint is not None:
            body |= self._constraint_fields(request.constraint)
        return body | self._settings.extra_body

    def _constraint_fields(self, constraint: Constraint) -> dict[str, object]:
        constraints.check_constraint(constraint)
        match self._settings.constraint:
            case "gbnf":
                return {"grammar": constraints.gbnf(constraint)}
            case "choice":
                return {"structured_outputs": constraints.structured_outputs(constraint)}
            case "json_schema":
                return {"response_format": constraints.response_format(constraint)}
        raise UsageError(
            f"{self._name} was asked for constrained decoding, but how its server takes it is not set; "
            'set constraint to "gbnf" (llama.cpp), "choice" (vLLM) or "json_schema" (OpenAI)'
        )

    async def _call(self, sent: Mapping[str, object]) -> Reply | Failure:
        """One HTTP call, bounded as a whole: a server that sends a byte now and then is bounded as well."""
        import openai

        try:
            async with asyncio.timeout(self._settings.timeout_s):
                answer = await self._post(sent)
            return self._read(answer)
        except (TimeoutError, openai.APITimeoutError):
            where = f"from {_without_user(self._base_url or 'the endpoint')}"
            return Failure("timeout", f"no answer {where} within {self._settings.timeout_s:g} s", retry=True)
        except openai.APIStatusError as error:
            return self._failure_of(error, with_tools="tools" in sent)
        except openai.APIConnectionError as error:
            where = _without_user(str(error.request.url))
            return Failure(
                "connection", self._scrub(f"no connection to {where}: {error.__cause__ or error}"), retry=True
            )
        except (Malformed, json.JSONDecodeError, openai.APIError) as error:
            return Failure("malformed", self._scrub(f"{self._name}: unreadable answer: {error}"), retry=True)

    async def _post(self, sent: Mapping[str, object]) -> object:
        """The answer's JSON, parsed here because the client's own types fail on fields that servers leave out."""
        client = self._client.get()
        api: Any = client.chat.completions if self._settings.api == "chat" else client.completions
        # Everything travels as extra_body: the client would drop or refuse names that it does not know.
        needed = {"model": sent["model"], **{key: sent[key] for key in ("messages", "prompt") if key in sent}}
        extra = {key: value for key, value in sent.items() if key not in needed and key != "stream"}
        if not sent.get("stream"):
            return read_json((await api.with_raw_response.create(**needed, extra_body=extra)).content)
        async with await api.create(**needed, stream=True, extra_body=extra) as stream:
            return merge_chunks([chunk.to_dict() async for chunk in stream])

    def _read(self, answer: object) -> Reply:
        if isinstance(answer, Mapping):
            if "choices" not in answer and "error" in answer:  # some gateways report errors with status 200
                raise Malformed(str(answer["error"]))
            if isinstance(answer.get("model"), str):
                self._served.add(answer["model"])
        return read_reply(answer)

    def _failure_of(self, error: APIStatusError, *, with_tools: bool) -> Failure:
        url, answer = _without_user(str(error.request.url)), error.response
        failure = failure_of_status(error.status_code, answer.text, url, answer.headers, with_tools=with_tools)
        return replace(failure, message=self._scrub(failure.message))

    def _finish(self, request: Request, reply: Reply) -> Reply | Failure:
        """The reply as asked for: cut at stops that the server refused, out of its JSON wrapping, with its price."""
        stop = stops_of(request, self._settings.api) if "stop" in self._refusals else []
        text = cut_at_stop(reply.text, stop) if stop else reply.text
        if stop and len(text) < len(reply.text.lstrip()):
            reply = replace(reply, finish_reason="stop")
        if request.constraint is not None and reply.finish_reason == "stop":
            line = constraints.unwrap(request.constraint, text) if self._settings.constraint == "json_schema" else text
            if line is None or not constraints.permits(request.constraint, line.strip()):
                return Failure("bad_request", f"{self._name} did not keep to the constraint; it replied {text[:200]!r}")
            text = line.strip()
        return replace(reply, text=text, cost=_cost(reply.usage, self._settings.prices))

    async def _pause_or_raise(self, failure: Failure, retries: int) -> None:
        longest = self._settings.max_wait_s
        if failure.wait_s is not None and failure.wait_s > longest:
            asked = f"it asks to wait {failure.wait_s:g} s, and max_wait_s is {longest:g}"
            failure = replace(failure, message=f"{failure.message} ({asked})", retry=False)
        if failure.retry and retries < self._settings.max_retries:
            pause = _FIRST_PAUSE_S * 2**retries * self._jitter.uniform(0.75, 1.0)
            await asyncio.sleep(min(pause, _LONGEST_PAUSE_S, longest) if failure.wait_s is None else failure.wait_s)
            return
        if retries:
            failure = replace(failure, message=f"{failure.message} (after {retries} retries)")
        raise failure.error() from None

    def _scrub(self, text: str) -> str:
        return text.replace(self._key, "[api key]") if self._key else text


def _key_from_environment(variable: str | None, base_url: str | None) -> str:
    """A server at a given address may need no key, unless its variable was named; the default endpoint needs one."""
    key = os.environ.get(variable or "OPENAI_API_KEY", "").strip()
    if not key and (variable is not None or base_url is None):
        raise UsageError(
            f"the environment variable {variable or 'OPENAI_API_KEY'} is not set. Set it to your API key, "
            "or give base_url for a server that needs none"
        )
    return key or _NO_KEY


_NO_KEY = "no-key"

_NOT_DECISIVE = {"api_key_env", "base_url", "timeout_s", "max_retries", "max_wait_s", "max_concurrent"}

_SECRET_NAME = re.compile(r"api_?key|secret|password|authorization|credential", re.IGNORECASE)


def _without_secrets(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: "[hidden]" if _SECRET_NAME.search(str(k)) else _without_secrets(v) for k, v in value.items()}
    return [_without_secrets(item) for item in value] if isinstance(value, list) else value


def _without_user(url: str) -> str:
    """``url`` without ``user:password@``."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _cost(usage: Usage, prices: Prices | None) -> float | None:
    if prices is None:
        return None
    cached_price = prices.input if prices.cached_input is None else prices.cached_input
    fresh = max(0, usage.prompt - usage.cached)
    return (fresh * prices.input + usage.cached * cached_price + usage.completion * prices.output) / 1e6
