"""What went wrong at an endpoint: which kind of failure, and whether asking again could help.

Servers word the same failure in their own ways. All that is known of these ways is in this file, as pure functions
of an HTTP answer. Sources: the error objects of the OpenAI API, vLLM, llama.cpp's server, TGI, Ollama and FastAPI.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from trialogue.errors import ContextOverflow, ModelError, ModelErrorKind

OPTIONAL_PARAMETERS = ("max_completion_tokens", "max_tokens", "stop", "temperature", "seed", "stream_options")
"""Parameters that a request can do without (or under another name) when a server refuses them."""


@dataclass(frozen=True)
class Failure:
    """One failed call. ``wait_s`` is the pause in seconds that the server asked for; ``refused`` names a parameter."""

    kind: ModelErrorKind
    message: str
    retry: bool = False
    wait_s: float | None = None
    refused: str | None = None

    def error(self) -> ModelError:
        return ContextOverflow(self.message) if self.kind == "context_overflow" else ModelError(self.kind, self.message)


@dataclass(frozen=True)
class _Detail:
    """The error object of an answer, whatever its dialect; ``text`` is the message, or the whole body."""

    code: str = ""
    type: str = ""
    param: str = ""
    text: str = ""


def failure_of_status(
    status: int, body: str, url: str, headers: Mapping[str, str], *, with_tools: bool = False
) -> Failure:
    """Classifies an HTTP answer of status 400 or more. ``headers`` is a case-insensitive mapping, or in lower case.

    ``with_tools`` says that tools were offered, which many servers and models refuse.
    """
    detail = _read_detail(body)
    said = f"HTTP {status} from {url}: {_shorten(detail.text) or '(empty answer)'}"
    if status not in (401, 403, 429) and _is_overflow(detail):
        return Failure("context_overflow", f"the prompt does not fit the model's window. {said}")
    if status == 402 or {detail.code, detail.type} & _QUOTA_CODES:
        return Failure("quota", f"the account's quota is used up; waiting will not help. {said}")
    if status == 429:
        return Failure("rate_limit", said, retry=True, wait_s=retry_after(headers))
    if with_tools and status in _TOOL_STATUSES and (_TOOL_WORDS.search(detail.text) or detail.param == "tools"):
        return Failure("bad_request", f"no native tool calls here: {_WITHOUT_TOOLS}. {said}")
    if status in (401, 403):
        return Failure("auth", f"the endpoint refused the API key. {said}")
    if status == 404:
        return Failure("not_found", f"{said}. {_address_hint(url)}")
    if status in (408, 409) or status >= 500:
        return Failure("server", said, retry=True, wait_s=retry_after(headers))
    return Failure("bad_request", said, refused=_refused_parameter(detail))


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as asked for by ``Retry-After`` (RFC 9110: seconds, here also with decimals, or a date)."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    asked = headers.get("retry-after")
    seconds = _number(asked)
    if asked is None or seconds is not None:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
    except ValueError:
        return None


_QUOTA_CODES = {"insufficient_quota", "quota_exceeded", "billing_not_active", "billing_hard_limit_reached"}

_OVERFLOW_CODES = {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}

_OVERFLOW_WORDS = re.compile(
    r"maximum context length|context length exceeded|available context size|maximum model length|max_model_len"
    r"|(exceeds?|larger than|longer than|over|beyond).{0,40}context (window|length|size|limit)"
    r"|(prompt|input) is too long|inputs?` tokens \+ `max_new_tokens`|input token count .{0,40}exceeds",
    re.IGNORECASE | re.DOTALL,
)

_REFUSAL_WORDS = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|not permitted|not allowed|deprecated|no longer",
    re.IGNORECASE,
)

_TOOL_STATUSES = {400, 404, 422, 500, 501}

_TOOL_WORDS = re.compile(
    r"\btools? (param|choice|use|call)|\btool_(choice|calls)\b|function calling"
    r"|(support|permit|recogni[sz]e).{0,40}\btools?\b|\btools?\b.{0,40}(support|permit|recogni[sz]e)",
    re.IGNORECASE | re.DOTALL,
)

_WITHOUT_TOOLS = "switch them on at the server, or have calls written as text (an agent's notation: json)"

_REFUSAL_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}


def _read_detail(body: str) -> _Detail:
    try:
        parsed = json.loads(body)
    except ValueError:
        return _Detail(text=body)
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    if not isinstance(error, dict):
        return _Detail(text=str(error))
    words = error.get("message") or error.get("detail") or body
    return _Detail(
        code=_text(error.get("code")),
        type=_text(error.get("type")),
        param=_text(error.get("param")),
        text=words if isinstance(words, str) else json.dumps(words),
    )


def _is_overflow(detail: _Detail) -> bool:
    return bool({detail.code, detail.type} & _OVERFLOW_CODES or _OVERFLOW_WORDS.search(detail.text))


def _refused_parameter(detail: _Detail) -> str | None:
    """The parameter that the server does not take at all (a bad value, such as a limit too large, is not a refusal)."""
    if detail.code not in _REFUSAL_CODES and not _REFUSAL_WORDS.search(detail.text):
        return None
    if detail.param:
        return detail.param if detail.param in OPTIONAL_PARAMETERS else None
    found = re.search(rf"\b({'|'.join(OPTIONAL_PARAMETERS)})\b", detail.text)
    return found.group(1) if found else None


def _address_hint(url: str) -> str:
    parts = urlsplit(url)
    if "/v1/" in parts.path:
        return "Is the model's name right, and does the server have this route?"
    root = parts.path.removesuffix("/chat/completions").removesuffix("/completions")
    return f"Most servers expect base_url to end in /v1: try {parts.scheme}://{parts.netloc}{root}/v1"


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is not None and 0 <= number < float("inf") else None


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _shorten(text: str, limit: int = 600) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"
