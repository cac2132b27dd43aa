"""Live pages through the MediaWiki API (https://www.mediawiki.org/wiki/API): JSON answers, never the pages' HTML.

Requests follow the API's etiquette: spaced, with ``maxlag`` and a user agent that names the program, and waiting as
long as Retry-After asks. Every answer is kept on disk, so that what is asked twice costs one request and is
answered alike.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trialogue.envs.wiki.pages import SIMILAR, Page, split_sentences, title_key
from trialogue.errors import EnvError, UsageError

WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
_BUSY = frozenset({429, 500, 502, 503, 504})
_LONGEST_WAIT = 60.0
_HEADING = re.compile(r"(=+) *(.+?) *\1")
_BACK_MATTER = frozenset(
    {"see also", "references", "notes", "footnotes", "citations", "external links", "further reading"}
)


class MediaWiki:
    """The wiki whose API is at ``api``.

    ``cache`` is a folder (default: trialogue/wiki in the user's cache folder), ``interval`` the seconds between two
    requests to one API in this process, ``timeout`` the seconds to wait for an answer, ``retries`` how often a busy
    or unreachable wiki is asked again before EnvError.
    """

    def __init__(
        self,
        api: str = WIKIPEDIA,
        cache: str | os.PathLike[str] | None = None,
        user_agent: str | None = None,
        interval: float = 0.5,
        timeout: float = 20.0,
        retries: int = 3,
    ) -> None:
        if not api.startswith(("http://", "https://")):
            raise UsageError(f"the address of a MediaWiki API starts with http:// or https://; got {api!r}.")
        self.api, self.timeout, self.retries = api, timeout, retries
        self.cache = Path(cache) if cache is not None else _user_cache()
        self.user_agent = (
            user_agent or f"trialogue/{version('trialogue')} (text environments for language-model agents)"
        )
        self._pace = _pace_of(api, interval)

    def page(self, title: str) -> Page | None:
        """The article of ``title``, redirects followed by the wiki; None for missing and disambiguation pages."""
        entry = self._entry(title)
        if entry is None or _is_disambiguation(entry) or not entry.get("extract"):
            return None
        return Page(str(entry["title"]), tuple(_sentences(str(entry["extract"]))))

    def similar(self, query: str) -> Sequence[str]:
        """What the wiki's own search finds; not the disambiguation page of that very title, which cannot be opened."""
        if not query.strip():
            return ()
        found = self._query({"list": "search", "srsearch": query[:300], "srlimit": str(SIMILAR + 1), "srprop": ""})
        titles = [str(hit["title"]) for hit in found.get("search", ())]
        entry = self._entry(query)
        hidden = title_key(str(entry["title"])) if entry is not None and _is_disambiguation(entry) else None
        return tuple(title for title in titles if title_key(title) != hidden)[:SIMILAR]

    def fingerprint(self) -> str:
        """The address: live pages change, so no hash can name them."""
        return f"live {self.api}"

    def _entry(self, title: str) -> dict[str, Any] | None:
        if not title.strip() or any(sign in title for sign in "|\x1f"):
            return None
        content = {
            "prop": "extracts|pageprops",
            "explaintext": "1",
            "exsectionformat": "wiki",
            "ppprop": "disambiguation",
        }
        pages = self._query({**content, "redirects": "1", "titles": title}).get("pages", ())
        entry: dict[str, Any] | None = next(iter(pages), None)
        if entry is None or entry.get("missing") or entry.get("invalid") or entry.get("ns", 0) != 0:
            return None
        return entry

    def _query(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        common = {"action": "query", "format": "json", "formatversion": "2", "maxlag": "5"}
        url = f"{self.api}?{urllib.parse.urlencode({**common, **parameters}, errors='replace')}"
        kept = self.cache / f"{hashlib.sha256(url.encode()).hexdigest()}.json"
        answer = _read_kept(kept)
        if answer is None:
            answer = self._ask(url)
            _keep(kept, answer)
        found: dict[str, Any] = answer.get("query", {})
        return found

    def _ask(self, url: str) -> dict[str, Any]:
        problem = ""
        for attempt in range(self.retries + 1):
            self._pace.wait()
            answer, problem, pause = self._try(url)
            if answer is not None:
                return answer
            if attempt < self.retries:
                time.sleep(min(2.0**attempt if pause is None else pause, _LONGEST_WAIT))
        raise EnvError(f"{self.api} gave no answer in {self.retries + 1} tries; the last: {problem}.")

    def _try(self, url: str) -> tuple[dict[str, Any] | None, str, float | None]:
        """One request: the answer, or what was wrong and how long to wait. EnvError for what no waiting mends."""
        request = urllib.request.Request(url, headers={"User-Agent": self.user_agent})  # noqa: S310
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:  # noqa: S310
                answer, pause = json.load(response), _pause(response.headers)
        except urllib.error.HTTPError as error:
            if error.code not in _BUSY:
                raise EnvError(f"{self.api} refused a request: {error.code} {error.reason}.") from error
            return None, f"{error.code} {error.reason}", _pause(error.headers)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return None, f"{type(error).__name__}: {error}", None
        if not isinstance(answer, dict):
            return None, f"expected a JSON object; got {type(answer).__name__}", None
        fault = answer.get("error")
        if fault is None:
            return answer, "", None
        if fault.get("code") in ("maxlag", "ratelimited"):
            return None, str(fault.get("info")), pause
        raise EnvError(f"{self.api} refused a request: {fault.get('code')}: {fault.get('info')}.")


def _is_disambiguation(entry: Mapping[str, Any]) -> bool:
    return "disambiguation" in entry.get("pageprops", {})


def _sentences(extract: str) -> Iterator[str]:
    """The prose of an extract: no headings, no formula sources, nothing from "See also" and its like onwards."""
    skipping_below = 0
    for line in extract.split("\n"):
        heading = _HEADING.fullmatch(line.strip())
        if heading:
            level = len(heading[1])
            if not skipping_below or level <= skipping_below:
                skipping_below = level if heading[2].casefold() in _BACK_MATTER else 0
        elif not skipping_below and "{\\displaystyle" not in line:
            yield from split_sentences(line)


def _pause(headers: Any) -> float | None:
    """Seconds of Retry-After, or None when the wiki does not say (a date there is not worth a parser)."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None


def _read_kept(path: Path) -> dict[str, Any] | None:
    """A kept answer; None when there is none, or it is damaged and has to be fetched again."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return kept if isinstance(kept, dict) else None


def _keep(path: Path, answer: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    partial.write_text(json.dumps(answer), encoding="utf-8")
    partial.replace(path)


def _user_cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "trialogue" / "wiki"


class _Pace:
    """Spaces requests of all threads: each waits until ``interval`` seconds after the one before."""

    def __init__(self) -> None:
        self.interval = 0.0
        self._lock = threading.Lock()
        self._next = 0.0

    def wait(self) -> None:
        with self._lock:
            pause = self._next - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            self._next = time.monotonic() + self.interval


_PACES: dict[str, _Pace] = {}


def _pace_of(api: str, interval: float) -> _Pace:
    pace = _PACES.setdefault(api, _Pace())
    pace.interval = max(pace.interval, interval)
    return pace
