"""Reading an encyclopedia through two commands, ``search`` and ``lookup`` (ReAct, Yao et al. 2023, section 3.1)."""

from __future__ import annotations

from trialogue.envs.wiki.pages import Page, PageSource

OPENING_SENTENCES = 5
NO_MORE = "No more results."


class Browser:
    """What a reader has open: the page found last, and how far the last look-up has come on it."""

    def __init__(self, source: PageSource) -> None:
        self.source = source
        self.page: Page | None = None
        self._string = ""
        self._results: list[str] = []
        self._shown = 0

    def search(self, entity: str) -> str:
        """The first sentences of the page; or titles like ``entity``, while the page open before stays open."""
        page = self.source.page(entity)
        if page is None:
            similar = ", ".join(repr(title) for title in self.source.similar(entity))
            return f"Could not find [{entity}]. Similar: [{similar}]."
        self.page, self._string = page, ""
        return " ".join(page.sentences[:OPENING_SENTENCES])

    def lookup(self, string: str) -> str:
        """The next sentence of the open page that holds ``string``, case aside. Needs an open page."""
        if self.page is None:
            raise ValueError("no page is open")
        wanted = string.casefold()
        if wanted != self._string:
            self._string, self._shown = wanted, 0
            self._results = [sentence for sentence in self.page.sentences if wanted in sentence.casefold()]
        if self._shown == len(self._results):
            return NO_MORE
        self._shown += 1
        return f"(Result {self._shown} / {len(self._results)}) {self._results[self._shown - 1]}"
