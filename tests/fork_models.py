"""A scripted model that heeds advice: it walks right only if its last thought says so. What it is asked is kept."""

from __future__ import annotations

from trialogue.agents.models.contract import Reply, Request, Usage

ASKED: list[str] = []


def heeds(request: Request) -> Reply:
    prompt = request.prompt if isinstance(request.prompt, str) else "\n".join(m.content for m in request.prompt)
    ASKED.append(prompt)
    episode = prompt.rpartition("Now your own task:")[2]
    thoughts = [line for line in episode.splitlines() if "think:" in line]
    if not thoughts or thoughts[-1].endswith("think:"):
        text = "think: I had better wait here."
    else:
        text = "go right" if "right" in thoughts[-1] else "look"
    return Reply(text, usage=Usage(prompt=len(prompt), completion=len(text)), cost=0.25)
