"""A small experiment for tests of pages, whose texts are as hostile to a page as texts can be."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from toy import Corridor, walk

from trialogue.agents.models.contract import Reply, Request
from trialogue.experiments.config import parse_config
from trialogue.experiments.launch import open_store
from trialogue.experiments.runner import run_experiment

SCRIPT = "<script>document.title = 'taken'</script>"
QUOTES = '"\' onmouseover=alert(1) x="</pre></details>&lt;b&gt;'
CONTROL = "\x1b[31mred\x07 \x00 end"
TURNED = "abc \u202egnp.exe\u202c שלום عالم"
LONG = "0123456789" * 10_000 + "the very end"
TEXTS = (SCRIPT, QUOTES, CONTROL, TURNED, LONG)


class Hostile(Corridor):
    """The corridor, with a text of that sort in each room and in the goal."""

    name = "web_samples:Hostile"

    def _look(self) -> str:
        return f"You are in room {self.place}. {TEXTS[self.place % len(TEXTS)]}"

    def _info(self, valid: bool, reason: str) -> dict[str, Any]:
        info = super()._info(valid, reason)
        return {**info, "goal": f"{SCRIPT} {info['goal']}"}


async def speak(request: Request) -> Reply:
    """Walks; thinks in HTML, and writes some actions in capitals, which has to be repaired."""
    reply = await walk(request)
    if reply.text.startswith("think:"):
        return replace(reply, text=f"think: {SCRIPT} {QUOTES} 100% sure_thing")
    return replace(reply, text=reply.text.upper() if len(str(request.prompt)) % 2 else reply.text)


async def priced(request: Request) -> Reply:
    return replace(await walk(request), cost=0.01)


CONFIG: dict[str, Any] = {
    "name": "hostile",
    "model": "scripted:web_samples:speak",
    "agents": {
        "act": {"agent": "act", "settings": {"exemplars": 0}},
        "react": {"agent": "react", "settings": {"exemplars": 0}},
        "reflexion": {"agent": "reflexion", "settings": {"exemplars": 0}},
        "expert": {"agent": "expert"},
    },
    "tasks": {
        "corridor": {
            "env": "web_samples:Hostile",
            "split": "test",
            "settings": {"count": 6, "crash_at": 4, "crash_in": "test/6"},
        }
    },
    "trials": 2,
    "limits": {"steps": 8},
    "concurrency": 3,
}


def play(path: Path, **changes: Any) -> Path:
    """Runs the experiment into a store at ``path``."""
    config = parse_config({**CONFIG, **changes})
    with open_store(config, path) as store:
        asyncio.run(run_experiment(config, store))
    return path


class Parsed(HTMLParser):
    """A page as a browser would read it: its tags with their attributes, and its text without the style sheet."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    @property
    def text(self) -> str:
        return "".join(self.said)

    def names(self) -> set[str]:
        return {name for name, _ in self.tags}

    def values(self, attribute: str) -> list[str]:
        return [given[attribute] or "" for _, given in self.tags if attribute in given]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.said.append(data)


def assert_harmless(page: str) -> Parsed:
    """No text of a model or an environment became a tag, an attribute or a line of the document."""
    parsed = Parsed(page)
    assert not parsed.names() & {"script", "iframe", "object", "embed", "img", "base"}
    for _, given in parsed.tags:
        assert not [name for name in given if name.startswith("on") or name == "style"]
        assert not (given.get("href") or "").lower().startswith("javascript:")
    assert not [c for c in page if c not in "\n\t" and (ord(c) < 32 or c in "\u202e\u202c")]
    return parsed
