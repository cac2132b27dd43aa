"""Page sources by what a setting names: a file, a folder, or a live wiki.

| setting                    | what it is                                                                         |
|----------------------------|------------------------------------------------------------------------------------|
| ``live``, ``https://…``    | Wikipedia, or the MediaWiki API at that address                                    |
| ``*.jsonl``                | one page a line: ``title`` (or ``id``), and ``sentences``, ``text`` or ``lines``    |
| ``*.json``, a list         | HotpotQA questions: the paragraphs of their ``context``                            |
| ``*.json``, an object      | recorded searches: what was asked for, and the observation that came               |
| a folder                   | every ``*.jsonl`` in it, and every ``*.txt`` as a page whose title is the file name |

``lines`` is the format of FEVER's wiki-pages: "number TAB sentence TAB links" lines, titles with -LRB- for "(".
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from trialogue.envs.wiki.corpus import Corpus
from trialogue.envs.wiki.pages import SIMILAR, Page, PageSource, split_sentences, title_key
from trialogue.errors import DataError

_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-COLON-": ":"}
_NOT_FOUND = re.compile(r"Could not find (?P<asked>.*)\. Similar: (?P<titles>\[.*\])\.?", re.DOTALL)
_REMARK = re.compile(r" \((?:redirect from|category|section) .*\)$")
_INTERFACE_TEXT = "Pages for logged out editors learn more. "


def open_source(setting: str | os.PathLike[str] | PageSource) -> PageSource:
    """The page source that ``setting`` names (table above), or ``setting`` itself when it is one. Raises DataError."""
    if not isinstance(setting, (str, os.PathLike)):
        return setting
    if setting == "live" or str(setting).startswith(("http://", "https://")):
        from trialogue.envs.wiki.mediawiki import WIKIPEDIA, MediaWiki

        return MediaWiki(WIKIPEDIA if setting == "live" else str(setting))
    path = Path(setting).expanduser().resolve()
    if not path.exists():
        raise DataError(f"no pages at {path}; expected a folder, a .jsonl or .json file, or 'live' for Wikipedia.")
    files = [path] if path.is_file() else sorted([*path.glob("*.jsonl"), *path.glob("*.txt")])
    if not files:
        raise DataError(f"no pages in {path}; expected *.jsonl files with one page a line, or *.txt files.")
    return _read(tuple((file, stamp(file)) for file in files))


def stamp(path: Path) -> tuple[int, int]:
    """What tells one state of a file from another without reading it."""
    state = path.stat()
    return state.st_mtime_ns, state.st_size


def read_json(path: Path) -> Any:
    """The JSON value in ``path``. Raises DataError that names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from None


def read_jsonl(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in ``path``, one a line, each with its place ("file:line"). Raises DataError."""
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    value = json.loads(line)
                    if not isinstance(value, dict):
                        raise ValueError(f"line {number} is no object")
                    yield f"{path}:{number}", value
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON lines: {error}") from None


def context_pages(questions: Sequence[Any], path: Path) -> Iterator[Page]:
    """The paragraphs that HotpotQA questions bring along in ``context``. Raises DataError."""
    for number, question in enumerate(questions):
        try:
            paragraphs = [Page(str(title), _trimmed(sentences)) for title, sentences in question.get("context", ())]
        except (AttributeError, TypeError, ValueError):
            raise DataError(f"{path}, row {number}: expected a context of [title, [sentence, ...]] pairs.") from None
        yield from paragraphs


class RecordedSearches(Corpus):
    """Searches recorded earlier: the same searches find the same again, others are matched against the titles found."""

    def __init__(self, records: dict[str, str]) -> None:
        self._suggested: dict[str, tuple[str, ...]] = {}
        found = []
        for asked, observation in records.items():
            failed = _NOT_FOUND.fullmatch(observation)
            if failed:
                self._suggested[title_key(asked)] = _titles(failed["titles"])
            else:
                found.append(Page(asked, split_sentences(_without_artefacts(observation))))
        super().__init__(found)

    def similar(self, query: str) -> Sequence[str]:
        return self._suggested.get(title_key(query)) or super().similar(query)


@lru_cache(maxsize=4)
def _read(files: tuple[tuple[Path, tuple[int, int]], ...]) -> Corpus:
    (first, _), *more = files
    if more or first.suffix != ".json":
        return Corpus(page for path, _ in files for page in _pages(path))
    value = read_json(first)
    if isinstance(value, list):
        return Corpus(context_pages(value, first))
    if isinstance(value, dict) and all(isinstance(observation, str) for observation in value.values()):
        return RecordedSearches(value)
    raise DataError(f"{first} holds neither HotpotQA questions (a list) nor recorded searches (an object of texts).")


def _pages(path: Path) -> Iterator[Page]:
    if path.suffix == ".txt":
        yield Page(path.stem, split_sentences(path.read_text(encoding="utf-8")))
    elif path.suffix == ".jsonl":
        for place, row in read_jsonl(path):
            yield _page(row, place)
    else:
        raise DataError(f"{path} is no file of pages; expected .jsonl, .json or .txt.")


def _page(row: dict[str, Any], place: str) -> Page:
    title = row.get("title", row.get("id"))
    body = row.get("sentences", row.get("lines", row.get("text")))
    if not isinstance(title, str) or not isinstance(body, (str, list)):
        raise DataError(f"{place}: expected title and sentences, text or lines; got the keys {', '.join(row)}.")
    if "lines" in row and isinstance(body, str):
        return Page(_unescaped(title.replace("_", " ")), tuple(_fever_lines(body)))
    return Page(title, _trimmed(body) if isinstance(body, list) else split_sentences(body))


def _fever_lines(body: str) -> Iterator[str]:
    for line in body.split("\n"):
        _, _, rest = line.partition("\t")
        sentence = _unescaped(rest.partition("\t")[0].strip())
        if sentence:
            yield sentence


def _unescaped(text: str) -> str:
    for code, sign in _BRACKETS.items():
        text = text.replace(code, sign)
    return text


def _trimmed(sentences: Sequence[str]) -> tuple[str, ...]:
    return tuple(trimmed for sentence in sentences if (trimmed := sentence.strip(" \t\r\n")))


def _titles(listed: str) -> tuple[str, ...]:
    """The titles of a recorded "Similar: [...]" list, without the search page's remarks on redirects."""
    try:
        return tuple(_REMARK.sub("", title) for title in ast.literal_eval(listed))[:SIMILAR]
    except (SyntaxError, TypeError, ValueError) as error:
        raise DataError(f"a recorded search lists similar titles in no readable way: {listed[:80]!r}") from error


def _without_artefacts(observation: str) -> str:
    """Takes out what the recorder put in: a line of Wikipedia's interface, and a second full stop at paragraph ends."""
    return re.sub(r"(?<!\.)\.\.(?!\.)", ".", observation.removeprefix(_INTERFACE_TEXT))
