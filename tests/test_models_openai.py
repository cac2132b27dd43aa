"""The endpoint client against a real HTTP server on loopback that answers as scripted."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Event, Thread
from typing import Any

import pytest

from trialogue.agents.models import (
    Constraint,
    Message,
    Reply,
    Request,
    Tape,
    Tool,
    ToolCall,
    make_model,
    request_hash,
)
from trialogue.errors import ContextOverflow, ModelError, UnknownName, UsageError

KEY = "sk-very-secret-0123456789"


@dataclass
class Answer:
    """One HTTP answer. ``body`` is sent as JSON unless it is text; ``fault`` "hang" or "reset" sends nothing."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""


class FakeEndpoint:
    """Gives its answers in order (the last one for ever) and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.released = Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.server.daemon_threads = True
        Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @property
    def root(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.times.append(time.monotonic())
                endpoint.paths.append(self.path)
                endpoint.bodies.append(json.loads(body))
                asked = endpoint.bodies[-1]
                answer = endpoint.answers.pop(0) if len(endpoint.answers) > 1 else endpoint.answers[0]
                self.answer(answer(asked) if callable(answer) else answer)

            def answer(self, answer: Answer) -> None:
                if answer.fault == "hang":
                    endpoint.released.wait(20)
                if answer.fault:
                    self.close_connection = True
                    self.connection.close()
                    return
                sent = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(sent.encode())))
                self.end_headers()
                self.wfile.write(sent.encode())

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        return Handler


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEndpoint]:
    monkeypatch.setenv("TEST_KEY", KEY)
    fake = FakeEndpoint()
    yield fake
    fake.close()


def said(text: str | None, finish: str = "stop", **more: Any) -> Answer:
    message = {"role": "assistant", "content": text, **more.pop("message", {})}
    return Answer({"choices": [{"message": message, "finish_reason": finish}], **more})


def failed(status: int, **error: Any) -> Answer:
    return Answer({"error": error}, status, error.pop("headers", {}))


def chat(text: str = "Your task is to: look.", **settings: Any) -> Request:
    return Request((Message("user", text),), **settings)


async def ask(endpoint: FakeEndpoint, request: Request, *answers: Answer, **settings: Any) -> Reply:
    endpoint.answers = list(answers)
    model = make_model("openai:m", **{"base_url": endpoint.root + "/v1", "api_key_env": "TEST_KEY", **settings})
    try:
        return await model.generate(request)
    finally:
        await model.close()


async def test_reads_text_usage_cache_and_cost(endpoint: FakeEndpoint) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 400}}
    prices = {"input": 2.0, "output": 10.0, "cached_input": 0.5}
    reply = await ask(endpoint, chat(seed=7, stop=("\nObs",)), said("look", usage=usage), prices=prices)
    assert (reply.text, reply.finish_reason, reply.retries) == ("look", "stop", 0)
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cached) == (1000, 50, 400)
    assert reply.cost == pytest.approx((600 * 2.0 + 400 * 0.5 + 50 * 10.0) / 1e6)
    assert endpoint.bodies[0] == {
        "model": "m",
        "max_tokens": 100,
        "temperature": 0.0,
        "messages": [{"role": "user", "content": "Your task is to: look."}],
        "stop": ["\nObs"],
        "seed": 7,
    }


async def test_completions_send_text(endpoint: FakeEndpoint) -> None:
    body = {"choices": [{"text": " look", "finish_reason": "length"}], "timings": {"cache_n": 12}, "usage": None}
    reply = await ask(endpoint, Request("a\n>", stop=("\n",)), Answer(body), api="completions")
    assert (reply.text, reply.finish_reason, reply.usage.cached) == (" look", "length", 12)
    assert endpoint.paths == ["/v1/completions"]
    assert endpoint.bodies[0]["prompt"] == "a\n>"
    assert endpoint.bodies[0]["stop"] == ["\n"]


@pytest.mark.parametrize(("api", "request_"), [("chat", Request("text")), ("completions", chat())])
async def test_the_wrong_kind_of_prompt_is_refused(endpoint: FakeEndpoint, api: str, request_: Request) -> None:
    with pytest.raises(UsageError, match=r'Use api "'):
        await ask(endpoint, request_, said("x"), api=api)
    assert endpoint.bodies == []


async def test_null_content_is_an_empty_text_and_not_retried(endpoint: FakeEndpoint) -> None:  # REPLY-01
    answer = said(None, "length", usage={"completion_tokens": 64}, message={"reasoning_content": "hm, "})
    reply = await ask(endpoint, chat(), answer, max_retries=3)
    assert (reply.text, reply.finish_reason, reply.usage.completion) == ("", "length", 64)
    assert len(endpoint.bodies) == 1


async def test_reasoning_stays_out_of_the_text(endpoint: FakeEndpoint) -> None:
    reply = await ask(endpoint, chat(), said("look", message={"reasoning_content": "The task says look."}))
    assert reply.text == "look"


async def test_content_in_parts_is_joined(endpoint: FakeEndpoint) -> None:
    parts = [{"type": "text", "text": "go to "}, {"type": "image"}, {"type": "text", "text": "desk 1"}]
    reply = await ask(endpoint, chat(), Answer({"choices": [{"message": {"content": parts}}]}))
    assert (reply.text, reply.finish_reason) == ("go to desk 1", "other")


async def test_used_up_quota_is_not_retried(endpoint: FakeEndpoint) -> None:  # OAI-01
    answer = failed(429, type="insufficient_quota", code="insufficient_quota", message="quota")
    with pytest.raises(ModelError, match="quota") as caught:
        await ask(endpoint, chat(), answer, max_retries=6)
    assert caught.value.kind == "quota"
    assert len(endpoint.bodies) == 1


async def test_retry_after_with_decimals_is_honoured(endpoint: FakeEndpoint) -> None:  # OAI-02
    reply = await ask(endpoint, chat(), failed(429, headers={"Retry-After": "1.5"}), said("ok"))
    assert (reply.text, reply.retries) == ("ok", 1)
    assert 1.5 <= endpoint.times[1] - endpoint.times[0] < 5
    assert reply.seconds >= 1.5


async def test_a_pause_beyond_the_bound_is_not_waited_for(endpoint: FakeEndpoint) -> None:
    with pytest.raises(ModelError, match="asks to wait 3600 s") as caught:
        await ask(endpoint, chat(), failed(429, headers={"Retry-After": "3600"}), said("ok"))
    assert caught.value.kind == "rate_limit"


OVERFLOWS = [
    {"code": "context_length_exceeded"},
    {"message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", "code": 400},
    {
        "message": "The decoder prompt (length 9001) is longer than the maximum model length of 8192.",
        "type": "BadRequest",
    },
    {
        "message": "request (15001 tokens) exceeds the available context size (8192 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "code": 400,
    },
    {
        "message": "'max_tokens' is too large: 500. This model's maximum context length is 2048 tokens",
        "param": "max_tokens",
    },
    {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
    {"message": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"},
]


@pytest.mark.parametrize("error", OVERFLOWS, ids=lambda error: str(error.get("message", "code"))[:20])
async def test_overflow_in_several_wordings_after_one_call(endpoint: FakeEndpoint, error: dict[str, Any]) -> None:
    with pytest.raises(ContextOverflow) as caught:  # OAI-03
        await ask(endpoint, chat(), failed(400, **error), max_retries=3)
    assert caught.value.kind == "context_overflow"
    assert len(endpoint.bodies) == 1


async def test_a_refused_stop_is_remembered_and_applied_here(
    endpoint: FakeEndpoint, caplog: pytest.LogCaptureFixture
) -> None:  # OAI-04
    told = said("Thought: go.\nAction: look\nObservation: made up", "length")
    endpoint.answers = [failed(400, param="stop", code="unsupported_parameter"), told]
    model = make_model("openai:o4-mini-2025-04-16", base_url=endpoint.root + "/v1", api_key_env="TEST_KEY")
    first = await model.generate(chat(stop=("\nObservation:",)))
    second = await model.generate(chat(stop=("\nObservation:",)))
    assert first.text == second.text == "Thought: go.\nAction: look"
    assert (first.finish_reason, first.retries) == ("stop", 0)
    assert ["stop" in body for body in endpoint.bodies] == [True, False, False]
    assert model.conditions()["refused_parameters"] == ["stop"]
    assert [record.levelname for record in caplog.records if "'stop'" in record.getMessage()] == ["WARNING"]
    await model.close()


async def test_concurrent_calls_learn_a_refusal_once(endpoint: FakeEndpoint, caplog: pytest.LogCaptureFixture) -> None:
    together = Barrier(3)  # all three ask before any is answered

    def answer(body: dict[str, Any]) -> Answer:
        if "seed" not in body:
            return said("look")
        together.wait(timeout=10)
        return failed(400, message="Unsupported parameter: 'seed' is not supported with this model.")

    endpoint.answers = [answer]
    model = make_model("openai:m", base_url=endpoint.root + "/v1", api_key_env="TEST_KEY")
    replies = await asyncio.gather(*(model.generate(chat(seed=1)) for _ in range(3)))
    assert [reply.text for reply in replies] == ["look"] * 3
    assert len(endpoint.bodies) == 6
    assert sum("'seed'" in record.getMessage() for record in caplog.records) == 1
    await model.close()


async def test_max_tokens_is_renamed_only_where_refused(endpoint: FakeEndpoint) -> None:  # OAI-05
    message = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
    refusal = failed(400, param="max_tokens", code="unsupported_parameter", message=message)
    await ask(endpoint, chat(max_tokens=200), refusal, said("look"))
    assert len(endpoint.bodies) == 2
    assert endpoint.bodies[1]["max_completion_tokens"] == 200
    assert "max_tokens" not in endpoint.bodies[1]
    endpoint.bodies.clear()
    await ask(endpoint, chat(max_tokens=200), said("look"))
    assert [(b["max_tokens"], "max_completion_tokens" in b) for b in endpoint.bodies] == [(200, False)]


async def test_a_bad_value_is_no_refusal(endpoint: FakeEndpoint) -> None:
    with pytest.raises(ModelError, match="too large") as caught:
        await ask(
            endpoint, chat(), failed(400, param="max_tokens", code="invalid_value", message="max_tokens too large")
        )
    assert caught.value.kind == "bad_request"
    assert len(endpoint.bodies) == 1


async def test_refusals_one_after_the_other(endpoint: FakeEndpoint, caplog: pytest.LogCaptureFixture) -> None:  # OAI-06
    endpoint.answers = [
        failed(400, param="temperature", code="unsupported_value"),
        failed(400, param="stop", code="unsupported_parameter"),
        said("look"),
    ]
    model = make_model("openai:m", base_url=endpoint.root + "/v1", api_key_env="TEST_KEY")
    await model.generate(chat(temperature=0.3, stop=("\n",)))
    assert len(endpoint.bodies) == 3
    assert not {"temperature", "stop"} & set(endpoint.bodies[2])
    assert model.conditions()["effective_temperature"] == "server default (asked 0.3)"
    assert sum("'temperature'" in record.getMessage() for record in caplog.records) == 1
    await model.close()


async def test_a_validation_answer_in_fastapi_style_is_understood(endpoint: FakeEndpoint) -> None:
    detail = [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}]
    await ask(endpoint, chat(seed=3), Answer({"detail": detail}, 422), said("look"))
    assert ["seed" in body for body in endpoint.bodies] == [True, False]


async def test_the_same_refusal_twice_ends(endpoint: FakeEndpoint) -> None:
    with pytest.raises(ModelError, match="HTTP 400"):
        await ask(endpoint, chat(stop=("x",)), failed(400, param="stop", code="unsupported_parameter"))
    assert len(endpoint.bodies) == 2


def streamed(*chunks: Any, done: bool = True) -> Answer:
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + (["data: [DONE]\n\n"] if done else [])
    return Answer("".join(events), headers={"Content-Type": "text/event-stream"})


async def test_a_stream_whose_last_chunk_holds_only_usage(endpoint: FakeEndpoint) -> None:  # OAI-07
    chunks = [
        {"choices": [{"delta": {"role": "assistant", "content": None}}]},
        {"choices": [{"delta": {"content": "go to "}}]},
        {"choices": [{"delta": {"content": "desk 1"}}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
    ]
    reply = await ask(endpoint, chat(), streamed(*chunks), stream=True)
    assert (reply.text, reply.finish_reason) == ("go to desk 1", "stop")
    assert (reply.usage.prompt, reply.usage.completion) == (10, 5)
    assert endpoint.bodies[0]["stream"] is True
    assert endpoint.bodies[0]["stream_options"] == {"include_usage": True}


async def test_a_stream_that_breaks_off_is_asked_for_again(endpoint: FakeEndpoint) -> None:
    broken = streamed({"choices": [{"delta": {"content": "go to"}}]}, done=False)
    whole = streamed({"choices": [{"text": "look", "finish_reason": "stop"}]})
    reply = await ask(endpoint, Request("a"), broken, whole, stream=True, api="completions")
    assert (reply.text, reply.retries) == ("look", 1)


async def test_an_address_without_v1_gets_a_hint(endpoint: FakeEndpoint) -> None:  # OAI-08
    with pytest.raises(ModelError) as caught:
        await ask(endpoint, chat(), Answer("404 page not found", 404), base_url=endpoint.root)
    assert caught.value.kind == "not_found"
    assert f"{endpoint.root}/chat/completions" in str(caught.value)
    assert f"{endpoint.root}/v1" in str(caught.value)
    assert len(endpoint.bodies) == 1


async def test_a_trailing_slash_changes_nothing(endpoint: FakeEndpoint) -> None:
    await ask(endpoint, chat(), said("x"), base_url=endpoint.root + "/v1/")
    assert endpoint.paths == ["/v1/chat/completions"]


async def test_a_server_at_an_address_needs_no_key(endpoint: FakeEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # OAI-09
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert (await ask(endpoint, chat(), said("x"), api_key_env=None)).text == "x"
    with pytest.raises(UsageError, match="OPENAI_API_KEY"):
        make_model("openai:gpt-4o")
    with pytest.raises(UsageError, match="NAMED_KEY"):
        make_model("openai:gpt-4o", base_url=endpoint.root, api_key_env="NAMED_KEY")


async def test_a_server_that_never_answers_is_given_up(endpoint: FakeEndpoint) -> None:  # OAI-10
    started = time.monotonic()
    with pytest.raises(ModelError, match=r"within 0\.3 s .after 1 retries") as caught:
        await ask(endpoint, chat(), Answer(fault="hang"), timeout_s=0.3, max_retries=1)
    assert caught.value.kind == "timeout"
    assert len(endpoint.bodies) == 2
    assert time.monotonic() - started < 5


async def test_one_hanging_call_leaves_the_others_alone(endpoint: FakeEndpoint) -> None:
    endpoint.answers = [Answer(fault="hang"), said("look")]
    model = make_model("openai:m", base_url=endpoint.root + "/v1", timeout_s=0.5, max_retries=0, api_key_env="TEST_KEY")
    outcomes = await asyncio.gather(*(model.generate(chat()) for _ in range(4)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["ModelError", "Reply", "Reply", "Reply"]
    await model.close()


async def test_a_chat_reply_that_opens_with_a_line_break_is_not_cut(endpoint: FakeEndpoint) -> None:  # OAI-12
    text = "\nThought: try it.\nAction: open fridge 1"
    refusal = failed(400, param="stop", code="unsupported_parameter")
    reply = await ask(endpoint, chat(stop=("\n", "\nObservation:")), refusal, said(text))
    assert reply.text == "Thought: try it.\nAction: open fridge 1"
    assert endpoint.bodies[0]["stop"] == ["\nObservation:"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"choices": []}),
        Answer({"choices": None}),
        Answer({"choices": ["text"]}),
        Answer("[1, 2"),
        Answer("[]"),
        Answer({"error": {"message": "upstream failed"}}),
        Answer("", 500),
        Answer("<html>bad gateway</html>", 502),
        Answer(fault="reset"),
    ],
    ids=["empty", "null", "no object", "cut", "list", "error as 200", "500", "502", "reset"],
)
async def test_failures_that_may_pass_are_retried_and_counted(endpoint: FakeEndpoint, answer: Answer) -> None:
    reply = await ask(endpoint, chat(), answer, said("look"))
    assert (reply.text, reply.retries) == ("look", 1)
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Answer({"choices": []}), "malformed"),
        (Answer("", 503), "server"),
        (Answer(fault="reset"), "connection"),
        (failed(429, message="slow down"), "rate_limit"),
    ],
    ids=["malformed", "server", "connection", "rate_limit"],
)
async def test_retries_end_with_a_named_kind(endpoint: FakeEndpoint, answer: Answer, kind: str) -> None:
    with pytest.raises(ModelError, match="after 1 retries") as caught:
        await ask(endpoint, chat(), answer, max_retries=1)
    assert caught.value.kind == kind
    assert len(endpoint.bodies) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_never_shows(endpoint: FakeEndpoint, caplog: pytest.LogCaptureFixture, status: int) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(ModelError, match="refused the API key") as caught:
        await ask(endpoint, chat(), failed(status, message=f"Incorrect API key provided: {KEY}."))
    assert caught.value.kind == "auth"
    assert KEY not in str(caught.value)
    assert caught.value.__suppress_context__
    assert KEY not in caplog.text


async def test_conditions_hold_no_secret(endpoint: FakeEndpoint) -> None:
    address = endpoint.root.replace("http://", "http://user:pass@") + "/v1"
    extra = {"top_k": 1, "api_key": "abc", "note": f"uses {KEY}"}
    endpoint.answers = [said("x", model="m-2024-01-01")]
    model = make_model("openai:m", base_url=address, api_key_env="TEST_KEY", extra_body=extra)
    await model.generate(chat())
    told = json.dumps(model.conditions())
    assert not [secret for secret in (KEY, "abc", "pass", "TEST_KEY") if secret in told]
    assert model.conditions()["served_models"] == ["m-2024-01-01"]
    assert endpoint.bodies[0]["top_k"] == 1
    await model.close()


CONSTRAINT = Constraint(("look", "go to desk 1"), "think: ")


@pytest.mark.parametrize(
    ("style", "text", "read"),
    [
        ("gbnf", " go to desk 1\n", "go to desk 1"),
        ("choice", "think: on the desk?", "think: on the desk?"),
        ("json_schema", '{"line": "look"}', "look"),
        ("json_schema", '{"line": {"rest": "on the\\ndesk?"}}', "think: on the desk?"),
    ],
)
async def test_constraints_are_sent_and_read(endpoint: FakeEndpoint, style: str, text: str, read: str) -> None:
    reply = await ask(endpoint, chat(constraint=CONSTRAINT), said(text), constraint=style)
    assert reply.text == read
    added = {"gbnf": "grammar", "choice": "structured_outputs", "json_schema": "response_format"}[style]
    assert added in endpoint.bodies[0]


@pytest.mark.parametrize("text", ["dance", "think", '{"line": 3}', ""])
@pytest.mark.parametrize("style", ["gbnf", "json_schema"])
async def test_an_ignored_constraint_is_an_error(endpoint: FakeEndpoint, style: str, text: str) -> None:
    with pytest.raises(ModelError, match="did not keep to the constraint"):
        await ask(endpoint, chat(constraint=CONSTRAINT), said(text), constraint=style)
    assert len(endpoint.bodies) == 1


async def test_a_constraint_without_a_way_to_send_it_is_refused(endpoint: FakeEndpoint) -> None:
    model = make_model("openai:m", base_url=endpoint.root)
    assert not model.can_constrain
    with pytest.raises(UsageError, match="set constraint to"):
        await model.generate(chat(constraint=CONSTRAINT))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"base_ulr": "x"}, "base_url"),
        ({"api": "chats"}, "api"),
        ({"timeout_s": 0}, "timeout_s"),
        ({"prices": {"input": 1}}, r"prices\.output"),
        ({"constraint": "json_schema", "api": "completions"}, "json_schema"),
    ],
)
def test_bad_settings_are_refused_with_a_hint(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_model("openai:m", **{"base_url": "http://127.0.0.1:1/v1", **settings})


@pytest.mark.parametrize(("name", "words"), [("opneai:x", "'openai'"), ("openai:", "openai:NAME"), ("gpt-4o", "Known")])
def test_bad_names_are_refused_with_a_hint(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_model(name)


def test_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'max_retries'"):
        make_model("openai:m", max_retry=3)


def test_one_model_serves_several_event_loops(endpoint: FakeEndpoint) -> None:
    endpoint.answers = [said("look")]
    model = make_model("openai:m", base_url=endpoint.root + "/v1", api_key_env="TEST_KEY")
    assert [asyncio.run(model.generate(chat())).text for _ in range(2)] == ["look", "look"]


TOOLS = (Tool("go_to", "go to {receptacle}", ("receptacle",)), Tool("look", "look", ()))


@pytest.mark.parametrize("stream", [False, True])
async def test_native_calls_go_there_and_back(endpoint: FakeEndpoint, stream: bool) -> None:
    call = {"id": "c9", "type": "function", "function": {"name": "go_to", "arguments": '{"receptacle": "desk 1"}'}}
    chunks = [
        {"choices": [{"delta": {"content": None, "tool_calls": [{"index": 0, **call}]}}]},
        {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
    ]
    whole = said(None, "tool_calls", message={"tool_calls": [call]})
    asked = chat(tools=TOOLS)
    reply = await ask(endpoint, asked, streamed(*chunks) if stream else whole, stream=stream)
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert reply.calls == (ToolCall("c9", "go_to", '{"receptacle": "desk 1"}'),)
    assert [tool["function"]["name"] for tool in endpoint.bodies[0]["tools"]] == ["go_to", "look"]
    answered = (*asked.prompt, Message("assistant", "", reply.calls), Message("tool", "a mug 1", call_id="c9"))
    await ask(endpoint, Request(answered, tools=TOOLS), said("done"))
    assert endpoint.bodies[1]["messages"][1:] == [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "a mug 1", "tool_call_id": "c9"},
    ]


TOOL_REFUSALS = [
    (400, "registry.example/library/phi does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, "No endpoints found that support tool use"),
    (422, "tools: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("status", "message"), TOOL_REFUSALS, ids=[str(status) for status, _ in TOOL_REFUSALS])
async def test_a_refusal_of_tools_is_told_as_such_after_one_call(
    endpoint: FakeEndpoint, status: int, message: str
) -> None:
    with pytest.raises(ModelError, match=r"no native tool calls here: .*notation: json") as caught:
        await ask(endpoint, chat(tools=TOOLS), failed(status, message=message))
    assert (caught.value.kind, message in str(caught.value)) == ("bad_request", True)
    assert len(endpoint.bodies) == 1


async def test_other_failures_of_requests_with_tools_are_what_they_are(endpoint: FakeEndpoint) -> None:
    reply = await ask(endpoint, chat(tools=TOOLS), failed(500, message="internal error"), said("look"))
    assert (reply.text, reply.retries) == ("look", 1)
    with pytest.raises(ContextOverflow):
        await ask(endpoint, chat(tools=TOOLS), failed(400, message="tools use tokens: prompt is too long"))


@pytest.mark.parametrize("together", [False, True], ids=["in turn", "together"])
async def test_samples_of_one_prompt_replay_without_a_call(endpoint: FakeEndpoint, together: bool) -> None:  # SC-03
    in_turn = "abaca"

    def answer(body: dict[str, Any]) -> Answer:
        time.sleep(0.02 * (5 - body["seed"]) if together else 0)  # the first sample comes last
        return said(in_turn[body["seed"]])

    endpoint.answers = [answer]
    stored: dict[int, tuple[str, Reply]] = {}
    requests = [chat(temperature=0.7, seed=seed) for seed in range(5)]

    async def samples() -> str:
        model = make_model("openai:m", base_url=endpoint.root + "/v1", api_key_env="TEST_KEY")
        tape = Tape(
            dict(stored),
            on_new=lambda number, request, reply: stored.update({number: (request_hash(request), reply)}),
            on_reply=lambda *_: None,
            on_stale=lambda number: pytest.fail(f"call {number} is stale"),
        )
        recorded = tape.recorded(model)
        replies = (
            await asyncio.gather(*map(recorded.generate, requests))
            if together
            else [await recorded.generate(request) for request in requests]
        )
        await model.close()
        return "".join(reply.text for reply in replies)

    assert [await samples(), await samples()] == [in_turn, in_turn]
    assert len(endpoint.bodies) == 5
    assert {body["temperature"] for body in endpoint.bodies} == {0.7}
