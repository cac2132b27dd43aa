"""Reading what a game says: its opening, its answers, and whether it did what it was told.

Games that TextWorld made trace every action (``[taking the coin - succeeded]``), which settles what was done.
Other games only say so in words; the wordings of the usual parsers' refusals are known.
"""

from __future__ import annotations

import re

LONGEST = 190  # bytes; the interpreter cuts a longer line at 198
_TRACED = re.compile(r"^\[(?!\()(.+) - succeeded\]\s*$", re.MULTILINE)
_STATUS = re.compile(r"^>?\s{20,}\S.*\d+/\d+\s*$", re.MULTILINE)  # the status line, drawn among the text
_TURNS = re.compile(r", in \d+ turns?(?:\(s\))?\.")  # refused commands are turns to some games, not to others
_AFTER_THE_END = "Would you like to RESTART"
_TO_THE_INTERPRETER = {
    *("quit", "q", "restart", "save", "restore", "undo", "oops", "verify", "version"),
    *("script", "transcript", "noscript", "unscript", "recording", "replay"),
}
_ABOUT_WORDING = {"brief", "normal", "verbose", "long", "superbrief", "short", "notify"}
_PART = re.compile(r"[,:\"]|\band\b", re.IGNORECASE)  # "quit,", "me, save" and "look, quit" are understood too
_REFUSALS = re.compile(
    r"not a verb I recogni[sz]e|can't see any such thing|didn't understand|only understood you|beg your pardon"
    r"|You can't go that way|What do you want to|Which do you mean|Who do you mean|I don't know the word"
    r"|You seem to want to|You can't use multiple objects|You have to be more specific|only do that to something"
    r"|There was no verb|That sentence isn't one|can't see that here|There is nothing to"
    r"|You excepted something not included|nothing to be repeated",
    re.IGNORECASE,
)


def opening(text: str, goal: str) -> str:
    """The first text without TextWorld's banner and without the goal, which is told apart."""
    _, found, rest = text.partition(goal) if goal else ("", "", "")
    if not found:
        rest = "\n".join(line for line in text.split("\n") if "$$" not in line and "___" not in line)
    return tidy(rest)


def tidy(text: str) -> str:
    """Without what only the screen needs (prompts, status lines, centring, the last question), and turn counts."""
    text = _TURNS.sub(".", _STATUS.sub("", text.partition(_AFTER_THE_END)[0]))
    lines = [line.rstrip() for line in text.split("\n")]
    lines = [line.lstrip() if line.lstrip().startswith("***") else line for line in lines if line != ">"]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def ended(text: str) -> bool:
    """Whether a game asks what to do now that it has ended; it answers no command any more."""
    return _AFTER_THE_END in text


def did(raw: str) -> bool:
    """Whether a traced answer tells of an action that succeeded (actions within actions do not count)."""
    return _TRACED.search(raw) is not None


def refused(text: str) -> bool:
    """Whether an answer of a game without traces sounds like its parser's refusal."""
    return _REFUSALS.search(text.partition("\n\n")[0]) is not None


def unfit(command: str) -> str:
    """Why ``command`` is not passed on to a game at all, "" if it is."""
    if not command:
        return "the command is empty"
    if len(command) > LONGEST:
        return f"a command has at most {LONGEST} characters; this one has {len(command)}"
    if not (command.isascii() and command.isprintable()) or "\\" in command:
        return "a command is one line of plain English letters, digits and punctuation"
    word = _to_the_program(command)
    if word:
        return f"{word!r} speaks to the program that runs the game, not to the game"
    if re.search(r"[.;]\s*\S|\bthen\b", command, re.IGNORECASE):
        return "one command at a time"
    return ""


def _to_the_program(command: str) -> str:
    """The word of ``command`` that is meant for the interpreter ("" if none is): some of them write files."""
    words = [part.split()[0].lower().rstrip("!?.") for part in _PART.split(command) if part.strip()]
    if words and (words[0] in _ABOUT_WORDING or words[0].startswith(("tw-", "#", "$"))):
        return words[0]
    return next((word for word in words if word in _TO_THE_INTERPRETER), "")
