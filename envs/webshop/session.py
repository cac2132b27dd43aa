"""One visit to a shop: the pages as text, and what can be clicked on each.

The pages read as in ReAct's WebShop prompts (Yao et al. 2023, appendix C.3): what stands in brackets can be clicked.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from trialogue.envs.webshop.catalogue import Goal, Product, Shop
from trialogue.envs.webshop.scoring import Score, score
from trialogue.errors import nearest

TEMPLATES = ("search[{query}]", "click[{element}]")
LONGEST_QUERY = 1_000
"""Characters in a query; longer ones are refused."""

PARTS = ("Description", "Features", "Reviews", "Attributes")

_COMMAND = re.compile(r"(search|click)\[(.*)\]", re.IGNORECASE | re.DOTALL)
_FIRST_OPTION = re.compile(r"(?: with|, and i would like) (?=(?:(?! with )[^:,])+: )")
_COMMANDS = f"commands are: {', '.join(TEMPLATES)}"

Link = tuple[str, Callable[[], str]]
"""A label to click on, and what shows the page that it leads to."""


class Session:
    """A customer with a goal in a shop. ``text`` is the page or answer last shown; ``score`` is set by buying.

    ``page_size`` is the number of results a page; ``parts`` are the pages that an item has beside its main one.
    """

    def __init__(self, shop: Shop, goal: Goal, page_size: int, parts: tuple[str, ...] = PARTS) -> None:
        self._shop, self._goal, self._page_size, self._parts = shop, goal, page_size, parts
        self._found: list[Product] = []
        self._page = 1
        self._chosen: dict[str, str] = {}
        self.score: Score | None = None
        self.text = self._search_page()

    def take(self, command: str) -> str:
        """Obeys ``command`` if it is possible on this page, and returns ""; otherwise changes nothing and says why."""
        why = self.refusal(command)
        if not why:
            verb, argument = _read(command) or ("", "")
            self.text = self._results(argument) if verb == "search" else self._links[plain(argument)]()
        return why

    def refusal(self, command: str) -> str:
        """One sentence on why ``command`` is not possible on this page, with the nearest that is; "" if it is."""
        if self.score is not None:
            return "the purchase is made and the episode over; call reset"
        read = _read(command)
        if read is None:
            return f"not a command: {_short(command)}; {_COMMANDS}{self._near(command)}"
        verb, argument = read
        return self._no_search(argument) if verb == "search" else self._no_click(argument)

    def admissible(self) -> list[str]:
        """Every click of this page. On the search page, where any words may be searched for: suggestions only."""
        if self._may_search:
            return [f"search[{words}]" for words in suggestions(self._goal.text)]
        return [f"click[{label}]" for label in self._labels]

    def _no_search(self, query: str) -> str:
        if not self._may_search:
            return "there is no search box on this page; click[Back to Search] leads to it"
        if not query.strip():
            return "the search is empty; write words between the brackets: search[words]"
        if len(query) > LONGEST_QUERY:
            return f"the search has {len(query)} characters; at most {LONGEST_QUERY} are allowed"
        return "" if query.isprintable() else "the search must be one line of text without control characters"

    def _no_click(self, label: str) -> str:
        key = plain(label)
        if key in self._links:
            return ""
        if self._may_search:
            return f"there is nothing to click on this page but words to search for: {TEMPLATES[0]}"
        if key in self._dead_ends:
            return f"{self._dead_ends[key]}{self._near(label)}"
        return f"there is no {_short(label)} to click on this page{self._near(label)}"

    def _near(self, text: str) -> str:
        by_key = {plain(label): label for label in self._labels}
        found = nearest(plain(text[:LONGEST_QUERY]), by_key)
        return f"; the nearest is click[{by_key[found]}]" if found else self._possible()

    def _possible(self) -> str:
        commands = self.admissible()
        if len(commands) > 8:  # the last ones are an item's own buttons
            commands = [*commands[:3], "…", *commands[-5:]]
        return f"; possible are: {', '.join(commands)}"

    def _show(self, *links: Link, search: bool = False, aliases: Sequence[Link] = ()) -> None:
        """Sets what can be clicked: ``links``, and unlisted ``aliases``. Of equal labels the first counts."""
        self._may_search = search
        self._labels = [label for label, _ in links]
        self._links = {plain(label): follow for label, follow in reversed((*links, *aliases))}
        self._dead_ends: dict[str, str] = {}

    def _search_page(self) -> str:
        self._show(search=True)
        return f"WebShop\nInstruction:\n{self._goal.text}\n[Search]"

    def _results(self, query: str) -> str:
        self._found, self._page = self._shop.search(query), 1
        return self._results_page(1)

    def _results_page(self, page: int) -> str:
        last = max(1, -(-len(self._found) // self._page_size))
        self._page, self._chosen = page, {}
        items = self._found[(page - 1) * self._page_size : page * self._page_size]
        prev: list[Link] = [("< Prev", partial(self._results_page, page - 1))] if page > 1 else []
        following: list[Link] = [("Next >", partial(self._results_page, page + 1))] if page < last else []
        opened: list[Link] = [(item.asin, partial(self._item_page, item)) for item in items]
        self._show(("Back to Search", self._search_page), *prev, *following, *opened)
        self._dead_ends = {"next >": f"page {page} is the last one", "< prev": "page 1 is the first one"}
        heads = ["[Back to Search]", *(f"[{label}]" for label, _ in prev)]
        heads += [f"Page {page} (Total results: {len(self._found)})", *(f"[{label}]" for label, _ in following)]
        return "\n".join(heads + [f"[{item.asin}]\n{item.title}\n{item.price_tag}" for item in items])

    def _item_page(self, item: Product) -> str:
        before: list[Link] = [
            ("Back to Search", self._search_page),
            ("< Prev", partial(self._results_page, self._page)),
        ]
        after: list[Link] = [(part, partial(self._part_page, item, part)) for part in self._parts]
        after.append(("Buy Now", partial(self._buy, item)))
        choices, aliases = self._choices(item, {plain(label) for label, _ in (*before, *after)})
        self._show(*before, *choices, *after, aliases=aliases)
        facts = [item.title, f"Price: {item.price_tag}", f"Rating: {item.rating}"]
        lines = [f"{name} {''.join(self._offer(item, name))}" for name in item.options]
        return "\n".join(["[Back to Search]", "[< Prev]", *lines, *facts, *(f"[{label}]" for label, _ in after)])

    def _choices(self, item: Product, taken: set[str]) -> tuple[list[Link], list[Link]]:
        """Links to each value of ``item``, and aliases "choice: value", which are listed where the value is taken."""
        listed: list[Link] = []
        aliases: list[Link] = []
        for name, values in item.options.items():
            for value in dict.fromkeys(values):
                follow = partial(self._choose, name, value)
                (aliases if plain(value) not in taken else listed).append((f"{name}: {value}", follow))
                if plain(value) not in taken:
                    listed.append((value, follow))
                taken.add(plain(value))
        return listed, aliases

    def _offer(self, item: Product, name: str) -> Iterator[str]:
        for value in dict.fromkeys(item.options[name]):
            yield f"[[{value}]]" if self._chosen.get(name) == value else f"[{value}]"

    def _choose(self, name: str, value: str) -> str:
        self._chosen[name] = value
        return f"You have clicked {value}."

    def _part_page(self, item: Product, part: str) -> str:
        self._show(("Back to Search", self._search_page), ("< Prev", partial(self._item_page, item)))
        lines = {
            "Description": (item.description,),
            "Features": item.features,
            "Reviews": item.reviews or ("No reviews found",),
            "Attributes": item.attributes,
        }[part]
        return "\n".join(["[Back to Search]", "[< Prev]", *lines])

    def _buy(self, item: Product) -> str:
        self.score = score(self._goal, item, self._chosen)
        self._show()
        return f"Your score (min 0.0, max 1.0): {round(self.score.value, 4)}"


def plain(label: str) -> str:
    """A label as it is compared: without regard to case, spaces, or how its characters are escaped (``&gt;``)."""
    while (unescaped := html.unescape(label)) != label:
        label = unescaped
    return " ".join(label.casefold().split())


def suggestions(goal: str) -> list[str]:
    """Queries that the goal itself suggests: without its price limit, and without its options as well."""
    wish = goal.rpartition(", and price lower than ")[0] or goal
    thing = _FIRST_OPTION.split(wish)[0]
    return list(dict.fromkeys(query[:LONGEST_QUERY] for query in (wish, thing)))


def _read(command: str) -> tuple[str, str] | None:
    match = _COMMAND.fullmatch(command.strip())
    return (match[1].lower(), match[2]) if match else None


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
