"""Reads published few-shot prompts into exemplars: JSON objects of texts, as the ReAct repository keeps them.

Two ways of writing an episode are known (ReAct, Yao et al. 2023, appendix C):

* commands after ``>``, thoughts as ``> think: ...`` answered by ``OK.``, the goal after "Your task is to:" (ALFWorld);
  the key tells the type: ``react_put_0``, and ``act_put_0`` for the same episode without thoughts;
* lines that begin with ``Thought 1:``, ``Action 1:``, ``Observation 1:``, each episode after ``Question:``, ``Claim:``
  or ``Instruction:`` (HotpotQA, FEVER, WebShop). A thought may also be the action ``think[...]``.

What has no action (chain of thought, bare answers) is no episode. Thoughts, actions, observations and goals are taken
as they are; only the verb of ``Search[...]`` is written in lower case, as the environments here have it. No published
prompt says which game it was played in, so ``task`` is empty and nothing can be replayed.
"""

from __future__ import annotations

import fnmatch
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trialogue.errors import DataError, UsageError
from trialogue.exemplars.library import ANY_TYPE, ExemplarEntry, ExemplarFile, StepEntry

_GOAL = re.compile(r"^Your task is to: *(.*)$", re.M)
_TYPED_KEY = re.compile(r"(?:react|act)_([a-z]+)_\d+")
_START = re.compile(r"^(?:Question|Claim|Instruction): *\n?(.*)$", re.M)
_LABELLED = re.compile(r"^(Thought|Action|Observation)(?: \d+)?: ?", re.M)
_THINK = re.compile(r"think\[(.*)\]\.?", re.S)
_VERB = re.compile(r"([A-Z][a-z]+)(?=\[)")
_GOALS = {"Question": "answer the question: {}", "Claim": "judge the claim: {}", "Instruction": "{}"}


@dataclass
class Draft:
    """An episode as it is read: steps are triples of thoughts, action, observation."""

    id: str
    type: str
    goal: str
    observation: str
    steps: list[tuple[tuple[str, ...], str, str]] = field(default_factory=list)

    @property
    def thinks(self) -> bool:
        return any(thoughts for thoughts, _, _ in self.steps)

    def entry(self) -> ExemplarEntry:
        steps = tuple(StepEntry(thought=t, action=a, observation=o) for t, a, o in self.steps)
        return ExemplarEntry(id=self.id, goal=self.goal, observation=self.observation, steps=steps)


@dataclass(frozen=True)
class Imported:
    """One file for each task type, and the keys that were left out, with the reason."""

    files: tuple[ExemplarFile, ...]
    left_out: Mapping[str, str]


def import_prompts(path: Path, env: str, *, type: str = "", keys: str = "", dialect: str = "") -> Imported:
    """Reads the episodes of the prompt file ``path`` whose keys match the pattern ``keys`` (``react_*``).

    Without ``keys``, those with thoughts are read, or all where none has any. ``type`` chooses where keys tell the
    type, and names it where they do not; it is ANY_TYPE then unless given. Raises DataError for a file in no known
    format, UsageError when nothing is left.
    """
    prompts = {key: text for key, text in _read(path).items() if not keys or fnmatch.fnmatchcase(key, keys)}
    if not prompts:
        raise UsageError(f"no key of {path} matches {keys!r}; there are: {', '.join(_read(path))}")
    drafts = {key: list(_episodes(key, text, type or ANY_TYPE)) for key, text in prompts.items()}
    left_out = {key: "holds no actions" for key, found in drafts.items() if not found}
    if not keys and any(draft.thinks for found in drafts.values() for draft in found):
        for key, found in drafts.items():
            if found and not any(draft.thinks for draft in found):
                left_out[key] = "has no thoughts; ask for it by its key"
    chosen = [draft for key, found in drafts.items() if key not in left_out for draft in found]
    files = tuple(_files(chosen, env, type, dialect))
    if not files:
        types = sorted({draft.type for draft in chosen})
        raise UsageError(f"no episode of type {type!r} in {path}; types there: {', '.join(types) or 'none'}")
    return Imported(files, left_out)


def _read(path: Path) -> dict[str, str]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as JSON: {error}") from error
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise DataError(f"{path}: expected a JSON object whose values are prompts (texts).")
    return data


def _files(drafts: Sequence[Draft], env: str, type: str, dialect: str) -> Iterator[ExemplarFile]:
    for found in dict.fromkeys(draft.type for draft in drafts):
        if type in ("", found):
            entries = tuple(draft.entry() for draft in drafts if draft.type == found)
            yield ExemplarFile(env=env, type=found, dialect=dialect or _dialect(drafts), exemplars=entries)


def _dialect(drafts: Sequence[Draft]) -> str:
    """The household's dialect, which only the putting down of objects shows; "" where nothing is put down."""
    actions = [action for draft in drafts for _, action, _ in draft.steps]
    if any(re.fullmatch(r"put .+ in/on .+", action) for action in actions):
        return "put"
    return "move" if any(re.fullmatch(r"move .+ to .+", action) for action in actions) else ""


def _episodes(key: str, text: str, type: str) -> Iterator[Draft]:
    if _GOAL.search(text):
        typed = _TYPED_KEY.fullmatch(key)
        yield from _with_prompt_marks(key, text, typed.group(1) if typed else type)
        return
    starts = list(_START.finditer(text))
    for number, start in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        goal = _GOALS[start.group(0).partition(":")[0]].format(start.group(1).strip())
        draft = Draft(f"{key}-{number + 1}", type, goal, "", _labelled(text[start.end() : end]))
        if draft.steps:
            yield draft


def _with_prompt_marks(key: str, text: str, type: str) -> Iterator[Draft]:
    """The one episode of ``text``: what follows a mark on its line is said, the lines below it are heard."""
    opening, *said = re.split(r"^>", text, flags=re.M)
    goal = _GOAL.search(opening)
    if goal is None:
        raise DataError(f"{key}: the goal comes after the first command; expected it before.")
    draft = Draft(key, type, goal.group(1).strip(), opening[: goal.start()].strip())
    thoughts: list[str] = []
    for piece in said:
        command, _, answer = piece.partition("\n")
        if (command := command.strip()).startswith("think:"):
            thoughts.append(command.removeprefix("think:").strip())
        else:
            draft.steps.append((tuple(thoughts), command, answer.strip()))
            thoughts = []
    if draft.steps:
        yield draft


def _labelled(text: str) -> list[tuple[tuple[str, ...], str, str]]:
    """The steps of one episode of labelled lines; text below a label belongs to it until the next."""
    steps: list[tuple[tuple[str, ...], str, str]] = []
    thoughts: list[str] = []
    _, *parts = _LABELLED.split(text)
    answered_thought = False
    for label, words in zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True):
        think = _THINK.fullmatch(words) if label == "Action" else None
        if label == "Thought" or think:
            thoughts.append(think.group(1) if think else words)
        elif label == "Action":
            steps.append((tuple(thoughts), _VERB.sub(lambda verb: verb.group(1).lower(), words, count=1), ""))
            thoughts = []
        elif steps and not answered_thought:
            steps[-1] = (*steps[-1][:2], words)
        answered_thought = think is not None
    return steps
