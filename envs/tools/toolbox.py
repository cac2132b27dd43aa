"""The tools of an environment, and the only way to call them: looked up, checked, confirmed, limited, answered."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trialogue.envs.tools.calls import NoCall, read_arguments, read_call
from trialogue.envs.tools.limited import TimeUp, run_for
from trialogue.envs.tools.tool import BadArguments, Tool, ToolFailure, echo
from trialogue.errors import UnknownName, UsageError, nearest

LONGEST = 86_400  # seconds of a call

Confirm = Callable[[Tool, Mapping[str, Any]], bool]


@dataclass(frozen=True)
class Limits:
    """Of one call: ``seconds`` it may take, and ``characters`` of its result that are shown."""

    seconds: float = 10.0
    characters: int = 2000

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= LONGEST or self.characters < 1:
            raise UsageError(
                f"limits must be positive (at most {LONGEST} seconds); "
                f"got {self.seconds} seconds and {self.characters} characters."
            )


@dataclass(frozen=True)
class Answer:
    """What a call came to. ``reason`` is "" when the tool was run and answered; else why not, in one sentence."""

    text: str
    reason: str = ""
    tool: str = ""


class Toolbox:
    """``tools`` by name; only those of ``allowed`` (default: all) exist for a player.

    ``confirm`` is asked before each call of a dangerous tool; without it such calls are refused. Raises UsageError for
    two tools of one name, UnknownName for an allowed one that is not there.
    """

    def __init__(
        self,
        tools: Iterable[Tool | Callable[..., Any]],
        allowed: Collection[str] | None = None,
        limits: Limits | None = None,
        confirm: Confirm | None = None,
    ) -> None:
        if isinstance(allowed, str):
            raise UsageError(f"allowed is a list of tool names; got {allowed!r}.")
        every: dict[str, Tool] = {}
        for tool in (made if isinstance(made, Tool) else Tool.of(made) for made in tools):
            if tool.name in every:
                raise UsageError(f"two tools are named {tool.name!r}; give one of them another name.")
            every[tool.name] = tool
        for name in allowed or ():
            if name not in every:
                raise UnknownName("tool", name, every)
        self.tools = {name: tool for name, tool in every.items() if allowed is None or name in allowed}
        self.limits, self.confirm = limits or Limits(), confirm

    @property
    def templates(self) -> tuple[str, ...]:
        return tuple(tool.template for tool in self.tools.values())

    def tool_schemas(self) -> list[dict[str, Any]]:
        """The tools in OpenAI's format, for a model's native tool calls."""
        return [tool.schema for tool in self.tools.values()]

    def manual(self) -> str:
        """A line for each tool: how it is called, and the first line of its docstring."""
        return "\n".join(f"{tool.signature}: {tool.manual.splitlines()[0]}" for tool in self.tools.values())

    def call(self, text: str) -> Answer:
        """Reads ``text`` as a call (see :mod:`.calls`) and makes it."""
        try:
            name, given = read_call(text, self.tools)
        except (NoCall, BadArguments) as error:
            return _refused(str(error))
        return self.call_tool(name, given)

    def call_tool(self, name: str, arguments: Any) -> Answer:
        """A native tool call: ``arguments`` as an object or as its JSON text."""
        tool = self.tools.get(name)
        if tool is None:
            near = nearest(name[:80], self.tools)
            hint = f" (did you mean {near!r}?)" if near else ""
            return _refused(f"no tool {echo(name, 80)} here{hint}; tools are: {', '.join(self.tools)}")
        try:
            checked = tool.check(read_arguments(tool, arguments))
        except BadArguments as error:
            return _refused(str(error), name)
        if tool.dangerous and not (self.confirm is not None and self.confirm(tool, checked)):
            return _refused(f"{name} needs to be confirmed, and was not", name)
        return self._run(tool, checked)

    def explain(self, text: str) -> str:
        """Why ``text`` would not be run, "" if it would. Runs and confirms nothing."""
        try:
            name, given = read_call(text, self.tools)
            if name not in self.tools:
                return f"no tool {echo(name, 80)} here; tools are: {', '.join(self.tools)}"
            self.tools[name].check(read_arguments(self.tools[name], given))
        except (NoCall, BadArguments) as error:
            return str(error)
        return ""

    def _run(self, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
        try:
            return Answer(self._told(tool, run_for(self.limits.seconds, tool.run, arguments)), tool=tool.name)
        except TimeUp:
            return _refused(f"{tool.name} was ended: it took longer than {self.limits.seconds:g} seconds", tool.name)
        except ToolFailure as error:
            return _refused(_printable(str(error)[:1000]), tool.name)
        except Exception as error:  # a fault of the tool is an answer to the player, not the end of the episode
            return _refused(f"{tool.name} failed: {type(error).__name__}: {echo(str(error))}", tool.name)

    def _told(self, tool: Tool, result: Any) -> str:
        if result is None or (isinstance(result, str | list | tuple | dict | set) and not result):
            advice = tool.next or "try other arguments, or another tool"
            return f"{tool.name} found nothing; {advice}."
        text = _printable(result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str))
        most = self.limits.characters
        if len(text) <= most:
            return text
        return f"{text[:most]}\n[{tool.name}: {most} of {len(text)} characters shown; ask for less to see the rest]"


def _printable(text: str) -> str:
    """Half a surrogate pair, which no file can hold, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def _refused(reason: str, tool: str = "") -> Answer:
    return Answer(f"Not done: {reason}" + ("" if reason.endswith((".", "?", "…")) else "."), reason, tool)
