"""Native tool calls on the wire: what is sent, and what servers make of the answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialogue.agents.models import Message, Request, ScriptedModel, Tool, ToolCall, make_model
from trialogue.agents.models.wire import body_of, merge_chunks, read_reply
from trialogue.agents.reading import Language, Reading, read_calls
from trialogue.errors import UsageError

TOOL = Tool("go_to", "go to {receptacle}", ("receptacle",))
CALL = ToolCall("call_1", "go_to", '{"receptacle": "desk 1"}')


def test_tools_calls_and_answers_are_sent_as_the_api_has_them() -> None:
    messages = (Message("user", "?"), Message("assistant", "hm", (CALL,)), Message("tool", "a mug 1", call_id="call_1"))
    body = body_of(Request(messages, tools=(TOOL,)), "m", "chat")
    function = {"name": "go_to", "arguments": '{"receptacle": "desk 1"}'}
    assert body["messages"] == [
        {"role": "user", "content": "?"},
        {
            "role": "assistant",
            "content": "hm",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "a mug 1", "tool_call_id": "call_1"},
    ]
    assert body["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "go_to",
                "description": "go to {receptacle}",
                "parameters": {
                    "type": "object",
                    "properties": {"receptacle": {"type": "string"}},
                    "required": ["receptacle"],
                },
            },
        }
    ]
    assert "tools" not in body_of(Request(messages), "m", "chat")


@pytest.mark.parametrize("arguments", ['{"receptacle": "desk 1"}', {"receptacle": "desk 1"}])
@pytest.mark.parametrize("named", ["abc", "", None])
def test_calls_are_read_with_tolerance(arguments: object, named: str | None) -> None:
    told = {"id": named, "type": "function", "function": {"name": "go_to", "arguments": arguments}}
    choice = {"message": {"content": None, "tool_calls": [told, {"function": None}, 7]}, "finish_reason": "tool_calls"}
    reply = read_reply({"choices": [choice]})
    assert (reply.text, reply.finish_reason) == ("", "tool_calls")
    assert [(call.id, call.name) for call in reply.calls] == [(named or "call_0", "go_to")]
    assert json.loads(reply.calls[0].arguments) == {"receptacle": "desk 1"}


def test_streamed_calls_are_put_together_by_their_index() -> None:
    def chunk(**part: object) -> dict[str, object]:
        return {"choices": [{"delta": {"tool_calls": [part]}}]}

    chunks = [
        chunk(index=1, id="b", function={"name": "look", "arguments": ""}),
        chunk(index=0, id="a", function={"name": "go_to", "arguments": '{"rece'}),
        chunk(index=0, function={"arguments": 'ptacle": "desk 1"}'}),
        {"choices": [{"delta": {"content": "hm"}, "finish_reason": "tool_calls"}]},
    ]
    reply = read_reply(merge_chunks(chunks))
    assert reply.text == "hm"
    assert reply.calls == (ToolCall("a", "go_to", '{"receptacle": "desk 1"}'), ToolCall("b", "look", ""))


async def test_tools_need_a_model_that_can_call_them() -> None:
    request = Request((Message("user", "?"),), tools=(TOOL,))
    with pytest.raises(UsageError, match="can_call_tools=True"):
        await ScriptedModel(["x"], style="chat").generate(request)
    assert (await ScriptedModel(["x"], style="chat", can_call_tools=True).generate(request)).text == "x"
    text = make_model("openai:m", base_url="http://127.0.0.1:9/v1", api="completions")
    assert not text.can_call_tools
    with pytest.raises(UsageError, match='only api "chat" can call'):
        await text.generate(Request("p", tools=(TOOL,)))
    assert make_model("openai:m", base_url="http://127.0.0.1:9/v1").can_call_tools


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=6))
def test_streamed_arguments_hold_all_their_parts(parts: list[str]) -> None:
    first = {"index": 0, "id": "a", "function": {"name": "go_to", "arguments": None}}
    deltas = [first, *({"index": 0, "function": {"arguments": part}} for part in parts)]
    chunks = [{"choices": [{"delta": {"tool_calls": [delta]}}]} for delta in deltas]
    end = {"choices": [{"delta": {"tool_calls": None}, "finish_reason": "tool_calls"}]}
    assert read_reply(merge_chunks([*chunks, end])).calls == (ToolCall("a", "go_to", "".join(parts)),)


def test_streamed_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    parts = [
        {"id": "a", "function": {"name": "look", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "go_to", "arguments": {"receptacle": "desk 1"}}},
    ]
    chunks = [{"choices": [{"delta": {"tool_calls": [part]}}]} for part in parts]
    reply = read_reply(merge_chunks([*chunks, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]))
    assert reply.calls == (ToolCall("a", "look", "{}"), ToolCall("b", "go_to", '{"receptacle": "desk 1"}'))


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "index", "function", "name", "arguments"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(JSON)
def test_whatever_stands_for_calls_is_read(told: object) -> None:
    whole = read_reply({"choices": [{"message": {"content": "x", "tool_calls": told}}]})
    delta = {"content": "x", "tool_calls": told}
    streamed = read_reply(merge_chunks([{"choices": [{"delta": delta, "finish_reason": "stop"}]}]))
    for reply in (whole, streamed):
        assert reply.text == "x"
        assert all(isinstance(field, str) for call in reply.calls for field in (call.id, call.name, call.arguments))
        assert all(call.id for call in reply.calls)


def test_half_a_surrogate_pair_in_a_call_is_replaced() -> None:
    call = {"id": "a", "function": {"name": "go_to", "arguments": '{"receptacle": "\ud83d'}}
    assert read_reply({"choices": [{"message": {"tool_calls": [call]}}]}).calls[0].arguments.endswith("\ufffd")


def reading_of(arguments: str) -> Reading:
    """A call of ``search``, from the answer of an endpoint to the command."""
    call = {"id": "a", "function": {"name": "search", "arguments": arguments}}
    reply = read_reply(
        {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    )
    assert reply.calls[0].arguments == arguments
    language = Language(("search[{query}]", "look"), None, "")
    return read_calls(reply.text, reply.calls, finish_reason=reply.finish_reason, language=language, repairs=True)


BAD_ARGUMENTS = ["null", "[1, 2]", "42", '"desk"', '{"x": "' + "a" * 50_000 + '" ', '{"option": "red",']


@pytest.mark.parametrize("arguments", BAD_ARGUMENTS, ids=lambda arguments: arguments[:12])
def test_arguments_that_are_no_object_are_no_action(arguments: str) -> None:  # REPLY-04, REPLY-05
    reading = reading_of(arguments)
    assert (reading.kind, reading.action) == ("unreadable", None)
    assert "JSON" in reading.problem
    assert max(len(reading.problem), len(reading.echo)) <= 1000


def test_escaped_quotes_in_arguments_survive() -> None:  # REPLY-06
    reading = reading_of('{"query": "who wrote \\"To the Pier\\"?"}')
    assert (reading.kind, reading.action) == ("action", 'search[who wrote "To the Pier"?]')
