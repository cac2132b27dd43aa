"""How answers are scored: HotpotQA's exact match and F1, and FEVER's three labels.

``official`` is the normalisation of the HotpotQA evaluation script (hotpot_evaluate_v1.py, taken over from SQuAD):
lower case, ASCII punctuation and English articles removed, white space collapsed. It leaves nothing of answers such
as "A" or "The The" (the dev set has two), and the script then accepts any prediction of which nothing is left. Here
such an answer is compared as it stands, case and white space aside, and an empty prediction never scores: the one
departure from the script.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trialogue.errors import UnknownName, UsageError

_ASCII_PUNCTUATION = f"[{re.escape(string.punctuation)}]"
_DECIMAL_POINT, _MINUS = r"(?<=\d)\.(?=\d)", r"(?<!\w)-(?=\d)"
_NOT_PART_OF_NUMBER = rf"(?!{_DECIMAL_POINT})(?!{_MINUS}){_ASCII_PUNCTUATION}"
_CLOSED = frozenset({"yes", "no", "noanswer"})


def official(text: str) -> str:
    """The normalisation of HotpotQA's evaluation script."""
    return _without_articles(re.sub(_ASCII_PUNCTUATION, "", text.lower()))


def unicode_folded(text: str) -> str:
    """More lenient: accents fall, and so does the punctuation of every script, dashes included (13–3 is 13-3)."""
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(c for c in decomposed if unicodedata.category(c)[0] not in "PM")
    return official(plain)


def number_aware(text: str) -> str:
    """Stricter: decimal points and signs stay (1.0 is not 10, -5 is not 5); thousands commas fall all the same."""
    return _without_articles(re.sub(_NOT_PART_OF_NUMBER, "", text.lower()))


METRICS: dict[str, Callable[[str], str]] = {
    "official": official,
    "unicode_folded": unicode_folded,
    "number_aware": number_aware,
}
"""The normalisations by name. A figure must name the one it was made with; the default everywhere is "official"."""


def require_metric(name: str) -> str:
    """``name`` if it is one of METRICS. Raises UnknownName."""
    if name not in METRICS:
        raise UnknownName("metric", name, METRICS)
    return name


def exact_match(prediction: str, gold: str, metric: str = "official") -> bool:
    """Whether the two are equal once normalised. Raises UnknownName for a metric that does not exist."""
    predicted, wanted = _comparable(prediction, gold, metric)
    return bool(wanted) and predicted == wanted


def f1(prediction: str, gold: str, metric: str = "official") -> float:
    """Overlap of words in [0, 1]; yes, no and noanswer only match themselves, as in the official script."""
    predicted, wanted = _comparable(prediction, gold, metric)
    if predicted != wanted and not _CLOSED.isdisjoint((predicted, wanted)):
        return 0.0
    ours, theirs = Counter(predicted.split()), Counter(wanted.split())
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def _comparable(prediction: str, gold: str, metric: str) -> tuple[str, str]:
    normalise = METRICS[require_metric(metric)]
    wanted = normalise(gold)
    return (normalise(prediction), wanted) if wanted else (_plain(prediction), _plain(gold))


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _without_articles(text: str) -> str:
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


SUPPORTS, REFUTES, NOT_ENOUGH_INFO = "SUPPORTS", "REFUTES", "NOT ENOUGH INFO"
LABELS = (SUPPORTS, REFUTES, NOT_ENOUGH_INFO)
"""FEVER's labels (Thorne et al. 2018) as its data spells them."""

_SPELLINGS = {
    **dict.fromkeys(("supports", "supported", "support"), SUPPORTS),
    **dict.fromkeys(("refutes", "refuted", "refute"), REFUTES),
    **dict.fromkeys(("notenoughinfo", "notenoughinformation", "nei"), NOT_ENOUGH_INFO),
}


def fever_label(text: str) -> str | None:
    """The label that ``text`` spells (case, spaces, underscores and punctuation aside), or None when it spells none."""
    return _SPELLINGS.get("".join(c for c in text.casefold() if c.isalnum()))


def fever_match(prediction: str, gold: str) -> bool:
    """Whether ``prediction`` spells the label ``gold``. Raises UsageError when ``gold`` is no label."""
    wanted = fever_label(gold)
    if wanted is None:
        raise UsageError(f"a gold label is one of {', '.join(LABELS)}; got {gold!r}.")
    return fever_label(prediction) == wanted


@dataclass(frozen=True)
class FeverReport:
    """``n`` claims, of which ``correct`` were labelled rightly and ``unanswered`` not at all (these count as wrong)."""

    n: int
    correct: int
    unanswered: int

    @property
    def accuracy(self) -> float:
        return self.correct / self.n


def fever_report(answers: Mapping[str, str], gold: Mapping[str, str]) -> FeverReport:
    """Label accuracy over every claim of ``gold``, answered or not. Raises UsageError for answers to unknown claims."""
    unknown = sorted(set(answers) - set(gold))
    if unknown or not gold:
        raise UsageError(
            f"expected gold labels for every answered claim; none for: {', '.join(unknown) or '(no claims)'}."
        )
    correct = sum(fever_match(answers[claim], label) for claim, label in gold.items() if claim in answers)
    return FeverReport(len(gold), correct, len(gold) - len(answers))
