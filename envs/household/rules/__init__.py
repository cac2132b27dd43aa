"""The household's rules as a program of our own: a game's PDDL and grammar are read, never executed.

ALFWorld's games (Shridhar et al. 2021) carry their rules with them: a domain and a problem in PDDL (McDermott et al.
1998; the part of it that Helmert 2006 calls ADL without axioms), and the texts in TextWorld's grammar format (.twl2).
TextWorld's own engine translates them with a planner and evaluates templates as Python. Here they become joins over
indexed sets of facts, so that a step costs what its rules cost, and there is nothing to compile or to trust.

* :mod:`.conditions` is what rules are made of, which :mod:`.pddl` reads from :mod:`.lists`;
* :mod:`.twl2` reads grammars, :mod:`.templates` the texts in them, :mod:`.names` numbers things;
* :mod:`.facts` keeps what is true, :mod:`.joins` finds what follows from it;
* :mod:`.actions` says what can be done and does it, :mod:`.speech` says what is seen;
* :mod:`.rulebook` is both for a domain and a grammar, :mod:`.position` a game in progress, :mod:`.engine` the way in.

Two known differences, neither of which a game of ALFWorld's shows: TextWorld refuses a game whose goal can never be
reached, and its texts take conditional effects for true whatever their conditions say.
"""

from __future__ import annotations
