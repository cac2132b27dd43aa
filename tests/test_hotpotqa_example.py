"""An episode of question answering in the format of ReAct's appendix C.1 (Yao et al. 2023), replayed by hand.

Thought, search, thought, lookup, thought, finish, in the labelled notation: through the real environment, agent and
loop. Question and pages are made up.
"""

from __future__ import annotations

import json
from pathlib import Path

from trialogue.agents import make_agent
from trialogue.agents.models.scripted import ScriptedModel, prompt_text
from trialogue.exemplars.contract import Exemplar, ExemplarStep
from trialogue.experiments.config import Limits
from trialogue.experiments.endings import Ending
from trialogue.experiments.episode import Episode, EpisodeLog, Rules
from trialogue.experiments.hosts import EnvHost, place_of

QUESTION = {
    "_id": "ferry",
    "question": "In which year was the ferry that Odalind Brack designed launched?",
    "answer": "1894",
    "type": "bridge",
    "context": [
        [
            "Odalind Brack",
            ["Odalind Brack was an engineer from Vessing.", "She designed the ferry Morning Tern."],
        ],
        [
            "Morning Tern",
            [
                "The Morning Tern is a paddle ferry on Lake Hulme.",
                "It carries forty people.",
                "The hull was launched in 1894.",
                "It was repainted and launched again in 1920.",
            ],
        ],
    ],
}

EXEMPLAR = Exemplar(
    id="mill",
    env="hotpotqa",
    type="bridge",
    task="",
    goal="answer the question: On which stream does the mill of Anselm Coor stand?",
    dialect="",
    observation="You have an encyclopedia.",
    steps=(
        ExemplarStep(
            ("I search Anselm Coor and find his mill.",), "search[Anselm Coor]", "He ran the Low Mill on Ash Beck."
        ),
        ExemplarStep(("It stands on Ash Beck.",), "finish[Ash Beck]", "Episode finished."),
    ),
)

REPLIES = [
    " I need to search Odalind Brack and find the ferry.\nAction 1: search[Odalind Brack]\nObservation 1: She",
    " The ferry is the Morning Tern. I search it and find its launch.\nAction 2: search[Morning Tern]",
    " I look up when it was launched.\nAction 3: lookup[launched]",
    " The hull was launched in 1894, so the answer is 1894.\nAction 4: finish[1894]",
]

PROMPT = """\
You answer a question by looking things up in an encyclopedia, one command at a time, and end with a short answer.

Episodes that were solved:

You have an encyclopedia.
Goal: answer the question: On which stream does the mill of Anselm Coor stand?
Thought 1: I search Anselm Coor and find his mill.
Action 1: search[Anselm Coor]
Observation 1: He ran the Low Mill on Ash Beck.
Thought 2: It stands on Ash Beck.
Action 2: finish[Ash Beck]
Observation 2: Episode finished.

Now your own task:
You have an encyclopedia. Search it for a page, look up words on the page, and finish with a short answer.
Goal: answer the question: In which year was the ferry that Odalind Brack designed launched?
Thought 1: I need to search Odalind Brack and find the ferry.
Action 1: search[Odalind Brack]
Observation 1: Odalind Brack was an engineer from Vessing. She designed the ferry Morning Tern.
Thought 2: The ferry is the Morning Tern. I search it and find its launch.
Action 2: search[Morning Tern]
Observation 2: The Morning Tern is a paddle ferry on Lake Hulme. It carries forty people. \
The hull was launched in 1894. It was repainted and launched again in 1920.
Thought 3: I look up when it was launched.
Action 3: lookup[launched]
Observation 3: (Result 1 / 2) The hull was launched in 1894.
Thought 4:"""


async def test_the_episode_is_played_as_the_paper_writes_it(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps([QUESTION]), encoding="utf-8")
    model = ScriptedModel(REPLIES)
    agent = make_agent(
        "react", model=model, settings={"thoughts": "dense"}, exemplars_for=lambda env, type, dialect: [EXEMPLAR]
    )
    host = EnvHost(place_of("threads", "hotpotqa", {"data": tmp_path}))
    episode = Episode(host, agent, "dev/ferry", 0, Rules(Limits(), None), EpisodeLog())
    end = await episode.play()
    host.close()
    assert (end.ending, end.won, end.score) == (Ending.SOLVED, True, 1.0)
    assert (end.steps, end.turns, len(model.requests)) == (4, 4, 4)
    assert [action for action, _ in episode.pairs] == [
        "search[Odalind Brack]",
        "search[Morning Tern]",
        "lookup[launched]",
        "finish[1894]",
    ]
    assert prompt_text(model.requests[-1]) == PROMPT
    assert model.requests[-1].stop == ("\nObservation",)
