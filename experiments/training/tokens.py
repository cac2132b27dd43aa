"""An example as token numbers, with those marked that are learnt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trialogue.experiments.training.examples import Example

Tokenize = Callable[[str], tuple[list[int], list[tuple[int, int]]]]
"""The tokens of a text, and where in it (in characters) each begins and ends."""


@dataclass(frozen=True)
class Tokens:
    """``ids`` of one episode; ``learnt`` says for each whether the model is to predict it."""

    ids: tuple[int, ...]
    learnt: tuple[bool, ...]
    task: str = ""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def targets(self) -> int:
        return sum(self.learnt)


def tokenized(example: Example, tokenize: Tokenize) -> Tokens:
    """The whole text is tokenised at once, as a prompt is that holds it.

    A token is learnt when it begins in a learnt part: the line break that ends a reply may make one token with what
    follows; a token that begins before a reply is one that the model, asked to go on after it, could not write.
    """
    ids, offsets = tokenize(example.text)
    spans = example.learnt()
    begins = [begin for begin, _ in spans]

    def is_learnt(place: int) -> bool:
        index = bisect_right(begins, place) - 1
        return index >= 0 and place < spans[index][1]

    # The first token has none before it to be predicted from.
    learnt = [number > 0 and begin < end and is_learnt(begin) for number, (begin, end) in enumerate(offsets)]
    return Tokens(tuple(ids), tuple(learnt), example.task)


def cut(tokens: Tokens, longest: int) -> Tokens | None:
    """At most ``longest`` tokens, ending with a whole reply; None where no reply ends within them."""
    learnt: Sequence[bool] = tokens.learnt
    end = min(len(tokens), longest)
    if end == len(tokens):
        return tokens
    while end and not (learnt[end - 1] and not learnt[end]):
        end -= 1
    return Tokens(tokens.ids[:end], tokens.learnt[:end], tokens.task) if end else None
