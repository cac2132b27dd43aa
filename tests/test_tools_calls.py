"""Functions as tools: how calls are read, checked, refused, limited and answered."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialogue.envs.tools import Limits, Tool, Toolbox, ToolFailure
from trialogue.errors import UnknownName, UsageError


class Shop:
    """Counts what was really run."""

    def __init__(self) -> None:
        self.bought: list[tuple[str, int]] = []

    def buy(self, option: str, count: int = 1) -> str:
        """Buys an article.

        The second paragraph is for people.
        """
        self.bought.append((option, count))
        return f"bought {count} {option}"

    def search(self, query: str) -> list[str]:
        """Articles that match."""
        return [query] if query != "nothing" else []

    def paint(self, colour: Literal["red", "blue"], coats: float) -> str:
        """Paints the wall."""
        return f"{coats:g} coats of {colour}"

    def open(self) -> str:
        """Opens the shop."""
        return "open"

    def fail(self, why: str) -> str:
        """Fails on purpose."""
        if why == "politely":
            raise ToolFailure("not today")
        raise KeyError(why)


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture
def box(shop: Shop) -> Toolbox:
    search = Tool.of(shop.search, next="try fewer words")
    return Toolbox([shop.buy, search, shop.paint, shop.open, shop.fail])


@pytest.mark.parametrize(
    "text",
    [
        "buy[lamp, 2]",
        "buy [ lamp ,2 ]",
        'buy["lamp", 2]',
        'buy[{"option": "lamp", "count": 2}]',
        'Action: buy\nAction Input: {"option": "lamp", "count": 2}',
        'Action: buy  \n\n Action Input:\n{"option": "lamp",\n "count": "2"}',
        '{"action": "buy", "action_input": {"option": "lamp", "count": 2}}',
        '{"name": "buy", "arguments": {"option": "lamp", "count": 2}}',
        '{"name": "buy", "arguments": "{\\"option\\": \\"lamp\\", \\"count\\": 2}"}',
        '{"id": "call_1", "type": "function", "function": {"name": "buy", "arguments": "{\\"option\\": \\"lamp\\", '
        '\\"count\\": 2}"}}',
    ],
)
def test_every_notation_makes_the_same_call(box: Toolbox, shop: Shop, text: str) -> None:
    assert box.explain(text) == ""
    assert shop.bought == []
    answer = box.call(text)
    assert (answer.text, answer.reason, answer.tool) == ("bought 2 lamp", "", "buy")
    assert shop.bought == [("lamp", 2)]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("buy[lamp]", "bought 1 lamp"),
        ('buy["lamp, red", 2]', "bought 2 lamp, red"),
        ("search[lamp, red]", '["lamp, red"]'),
        ("search[a [b] c]", '["a [b] c"]'),
        ("Action: search\nAction Input: red lamp", '["red lamp"]'),
        ("open[]", "open"),
        ('{"name": "open", "arguments": {}}', "open"),
        ("paint[blue, 1.5]", "1.5 coats of blue"),
    ],
)
def test_arguments_arrive_as_they_were_meant(box: Toolbox, text: str, answer: str) -> None:
    assert box.call(text).text == answer


@pytest.mark.parametrize(
    "call",
    [
        "search[12.50]",
        "Action: search\nAction Input: 12.50",
        ("search", "12.50"),
        ("search", '{"query": "12.50"}'),
    ],
)
def test_a_number_is_text_where_text_is_asked_for(box: Toolbox, call: Any) -> None:
    answer = box.call(call) if isinstance(call, str) else box.call_tool(*call)
    assert (answer.text, answer.reason) == ('["12.50"]', "")
    assert box.call_tool("search", {"query": 12.5}).text == '["12.5"]'
    assert "valid string" in box.call_tool("search", {"query": None}).reason


@pytest.mark.parametrize(
    "text", ["Action:" + " " * 50_000 + "x", "Action: \n" + "\n " * 50_000 + "x", "a" * 99_999 + " ["]
)
def test_text_of_any_shape_is_read_at_once(box: Toolbox, text: str) -> None:
    started = time.monotonic()
    assert box.call(text).reason
    assert box.explain(text)
    assert time.monotonic() - started < 1


def test_quotes_within_arguments_survive(box: Toolbox) -> None:  # REPLY-06
    arguments = r'{"query": "who wrote \"To the Pier\"?"}'
    meant = 'who wrote "To the Pier"?'
    for answer in (box.call_tool("search", arguments), box.call(f"search[{arguments}]")):
        assert json.loads(answer.text) == [meant]


@pytest.mark.parametrize("arguments", ["null", "[1, 2]", "42", '"desk"', '{"x": "' + "y" * 50_000 + '" '])
@pytest.mark.parametrize("notation", ["native", "lines"])
def test_arguments_that_are_no_object_are_answered_and_not_run(
    box: Toolbox, shop: Shop, arguments: str, notation: str
) -> None:  # REPLY-04
    line = f"Action: buy\nAction Input: {arguments}"
    answer = box.call_tool("buy", arguments) if notation == "native" else box.call(line)
    assert answer.text == f"Not done: {answer.reason}" + ("" if answer.reason.endswith(("…", ".")) else ".")
    assert answer.reason
    assert len(answer.text) <= 1000
    assert shop.bought == []


@pytest.mark.parametrize("value", [None, [1, 2], 42, True, 1.5])
def test_native_arguments_must_be_an_object(box: Toolbox, shop: Shop, value: Any) -> None:
    assert "must be a JSON object" in box.call_tool("buy", value).reason
    assert shop.bought == []


@pytest.mark.parametrize(
    "text",
    [
        'Action: buy\nAction Input: {"option": "red",',
        'buy[{"option": "red",]',
        '{"name": "buy", "arguments": "{\\"option\\": \\"red\\","}',
    ],
)
def test_malformed_json_is_never_an_empty_object(box: Toolbox, shop: Shop, text: str) -> None:  # REPLY-05
    answer = box.call(text)
    assert "the JSON of the arguments of buy could not be read" in answer.text
    assert shop.bought == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not a call; write one such as buy[{option, count}]"),
        ("buy a lamp", "not a call"),
        ("buy[lamp", "the closing bracket of the call is missing"),
        ("by[lamp]", "no tool 'by' here (did you mean 'buy'?); tools are: buy, search, paint, open, fail"),
        ("buy[]", "takes 1 to 2 arguments; got 0"),
        ("buy[a, 1, 2]", "takes 1 to 2 arguments; got 3"),
        ("open[now]", "takes 0 arguments; got 1"),
        ('buy[{"option": "lamp", "colour": "red"}]', "colour is not a parameter"),
        ('buy[{"count": 2}]', "option is missing"),
        ("buy[lamp, many]", "count: Input should be a valid integer"),
        ("paint[green, 2]", "colour: Input should be 'red' or 'blue', got 'green'"),
        ('{"tool": "buy"}', "not a call; JSON calls read"),
        ("{0}", "the JSON of the call could not be read"),
        ('["buy"]', "not a call"),
    ],
)
def test_what_is_wrong_is_said(box: Toolbox, shop: Shop, text: str, said: str) -> None:
    answer = box.call(text)
    assert said in answer.reason
    assert answer.text.startswith("Not done: ")
    assert said.split(" (did")[0] in box.explain(text)
    assert shop.bought == []


def test_deeply_nested_json_is_answered(box: Toolbox) -> None:
    for depth in (100_000, 900):
        nested = "[" * depth
        assert box.call_tool("buy", nested).reason
        assert box.call(f'{{"name": "buy", "arguments": {nested}').reason


@given(text=st.one_of(st.text(max_size=300), st.text(max_size=60).map(lambda inner: f"search[{inner}]")))
@settings(deadline=None, max_examples=150)
def test_any_text_is_answered_in_bounds(text: str) -> None:
    shop = Shop()
    box = Toolbox([shop.buy, shop.search, shop.open])
    answer = box.call(text)
    assert 0 < len(answer.text) <= 2200
    answer.text.encode("utf-8")
    assert shop.bought == []


def test_long_results_are_cut_and_the_rest_is_announced() -> None:
    def dump(size: int) -> str:
        """Much text."""
        return "x" * size

    box = Toolbox([dump], limits=Limits(characters=50))
    assert box.call("dump[50]").text == "x" * 50
    text = box.call("dump[51]").text
    assert text == "x" * 50 + "\n[dump: 50 of 51 characters shown; ask for less to see the rest]"


def test_empty_results_are_answered_with_what_to_try_next(box: Toolbox) -> None:
    answer = box.call("search[nothing]")
    assert (answer.text, answer.reason) == ("search found nothing; try fewer words.", "")


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_nothing_is_nothing_and_zero_is_something(empty: Any) -> None:
    def give(something: bool) -> Any:
        """Gives nothing, or zero."""
        return 0 if something else empty

    box = Toolbox([give])
    assert box.call("give[no]").text == "give found nothing; try other arguments, or another tool."
    assert box.call("give[yes]").text == "0"


def test_only_allowed_tools_exist(shop: Shop) -> None:
    box = Toolbox([shop.buy, shop.search], allowed=["search"])
    assert box.templates == ("search[{query}]",)
    assert [schema["function"]["name"] for schema in box.tool_schemas()] == ["search"]
    assert "no tool 'buy' here" in box.call("buy[lamp]").reason
    assert shop.bought == []
    with pytest.raises(UnknownName, match="Did you mean 'search'"):
        Toolbox([shop.search], allowed=["serch"])


def test_dangerous_tools_need_to_be_confirmed(shop: Shop) -> None:
    asked: list[tuple[str, Any]] = []

    def confirm(tool: Tool, arguments: Any) -> bool:
        asked.append((tool.name, dict(arguments)))
        return bool(arguments["count"] < 5)

    buy = Tool.of(shop.buy, dangerous=True)
    assert "needs to be confirmed" in Toolbox([buy]).call("buy[lamp, 2]").reason
    box = Toolbox([buy, shop.search], confirm=confirm)
    assert "needs to be confirmed, and was not" in box.call("buy[lamp, 7]").reason
    assert box.call("buy[lamp, 2]").text == "bought 2 lamp"
    box.call("search[lamp]")
    assert asked == [("buy", {"option": "lamp", "count": 7}), ("buy", {"option": "lamp", "count": 2})]
    assert shop.bought == [("lamp", 2)]


def test_a_call_that_hangs_is_ended() -> None:
    rounds = [0]

    def hang(times: int) -> str:
        """Never comes back."""
        while True:
            rounds[0] += times

    def wait(seconds: float) -> str:
        """Waits inside the operating system."""
        time.sleep(seconds)
        return "late"

    box = Toolbox([hang, wait], limits=Limits(seconds=0.1))
    assert box.call("hang[1]").reason == "hang was ended: it took longer than 0.1 seconds"
    time.sleep(0.3)
    after = rounds[0]
    time.sleep(0.1)
    assert rounds[0] == after  # the loop has stopped, not only been forgotten
    started = time.monotonic()
    assert "took longer" in box.call("wait[1.5]").reason
    assert time.monotonic() - started < 1.4
    assert box.call("wait[0]").text == "late"


def test_failures_of_a_tool_are_answers(box: Toolbox) -> None:
    assert box.call("fail[politely]").text == "Not done: not today."
    assert box.call("fail[badly]").reason == """fail failed: KeyError: "'badly'\""""


def test_what_a_tool_returns_can_always_be_told() -> None:
    circle: list[Any] = []
    circle.append(circle)
    returned = {"circle": circle, "half": "a\ud800b", "keys": {(1, 2): "x"}}

    def give(what: str) -> Any:
        """Gives something."""
        return returned[what]

    def leave() -> str:
        """Ends the program."""
        raise SystemExit(3)

    def complain() -> str:
        """Fails in odd words."""
        raise ToolFailure("no \udc00")

    box = Toolbox([give, leave, complain])
    assert box.call("give[half]").text == "a?b"
    assert box.call("give[circle]").reason.startswith("give failed: ValueError")
    assert box.call("give[keys]").reason.startswith("give failed: TypeError")
    assert box.call("leave[]").reason == "leave failed: RuntimeError: 'ended by SystemExit'"
    assert box.call("complain[]").reason == "no ?"


def test_calls_of_several_threads_do_not_disturb_each_other() -> None:
    def double(number: int) -> int:
        """Twice the number."""
        time.sleep(0.001)
        return 2 * number

    box = Toolbox([double])
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda n: box.call(f"double[{n}]").text, range(100))) == [
            str(2 * n) for n in range(100)
        ]


def test_a_tool_is_told_by_its_signature_and_docstring(box: Toolbox) -> None:
    assert box.manual().splitlines()[:2] == [
        "buy[option, count: int = 1]: Buys an article.",
        "search[query]: Articles that match.",
    ]
    assert box.templates[0] == "buy[{option, count}]"
    assert box.templates[3] == "open[]"


def test_schemas_are_those_of_native_tool_calls(box: Toolbox) -> None:
    schema = box.tool_schemas()[0]
    assert (schema["type"], schema["function"]["name"]) == ("function", "buy")
    assert schema["function"]["description"].startswith("Buys an article.\n\nThe second")
    parameters = schema["function"]["parameters"]
    assert parameters["required"] == ["option"]
    assert parameters["additionalProperties"] is False
    assert {name: told["type"] for name, told in parameters["properties"].items()} == {
        "option": "string",
        "count": "integer",
    }
    assert box.tool_schemas()[2]["function"]["parameters"]["properties"]["colour"]["enum"] == ["red", "blue"]


def test_functions_that_make_no_tool_are_refused() -> None:
    def undocumented(x: int) -> int:
        return x

    def untyped(x) -> None:  # type: ignore[no-untyped-def]
        """Does something."""

    def many(*values: int) -> None:
        """Does something."""

    for function, said in ((undocumented, "docstring"), (untyped, "a type each"), (many, "a type each")):
        with pytest.raises(UsageError, match=said):
            Tool.of(function)

    async def later(x: int) -> int:
        """Comes later."""
        return x

    def unknown(x: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Takes what nobody knows."""

    def odd(x: Shop) -> None:
        """Takes what cannot be written in a call."""

    for function, said in ((later, "async"), (unknown, "Nowhere"), (odd, "cannot be checked")):
        with pytest.raises(UsageError, match=said):
            Tool.of(function)
    with pytest.raises(UsageError, match="plain name"):
        Tool.of(lambda x: x)
    shop = Shop()
    with pytest.raises(UsageError, match="two tools are named 'buy'"):
        Toolbox([shop.buy, shop.buy])
    with pytest.raises(UsageError, match="limits must be positive"):
        Limits(seconds=0)
    with pytest.raises(UsageError, match="limits must be positive"):
        Limits(seconds=float("nan"))
    with pytest.raises(UsageError, match="a list of tool names; got 'buy'"):
        Toolbox([shop.buy], allowed="buy")
