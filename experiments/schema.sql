-- One file holds one experiment. Times are seconds; JSON columns hold UTF-8 JSON text with sorted keys.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,     -- schema, trialogue, created, config, name, changes (of the config)
    value TEXT NOT NULL
) STRICT;

CREATE TABLE run (              -- one agent on one task set
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,       -- AGENT/TASKS
    agent      TEXT NOT NULL,
    tasks      TEXT NOT NULL,
    conditions TEXT NOT NULL,              -- JSON: everything a number depends on
    parent     INTEGER REFERENCES episode(id), -- the episode that this run forks; NULL for a run of the plan
    fork       TEXT                        -- JSON: at which step, and the thought or action put there
) STRICT;

CREATE TABLE episode (          -- one attempt at one task; planned before anything is played
    id                INTEGER PRIMARY KEY, -- the same for the same plan, at any concurrency
    run               INTEGER NOT NULL REFERENCES run(id),
    task              TEXT NOT NULL,
    task_index        INTEGER NOT NULL,    -- position in the task set, from 0
    type              TEXT NOT NULL,
    split             TEXT NOT NULL,
    seed              INTEGER NOT NULL,
    trial             INTEGER NOT NULL,    -- from 0
    goal              TEXT NOT NULL DEFAULT '',
    dialect           TEXT NOT NULL DEFAULT '',
    observation       TEXT NOT NULL DEFAULT '',  -- what the environment said at the start
    exemplars         TEXT NOT NULL DEFAULT '[]',-- JSON: ids, in the order shown
    ending            TEXT,                -- NULL until it has ended
    won               INTEGER,
    score             REAL,
    error             TEXT NOT NULL DEFAULT '',
    notes             TEXT NOT NULL DEFAULT '[]',-- JSON: what a resumed episode found different
    steps             INTEGER NOT NULL DEFAULT 0,
    turns             INTEGER NOT NULL DEFAULT 0,
    started           REAL,
    seconds           REAL,
    lesson            TEXT,                -- JSON: what is kept of a failed trial for later ones; NULL: nothing
    UNIQUE (run, task_index, seed, trial)
) STRICT;

CREATE TABLE reply (            -- one answer of a model, stored before it is used
    episode       INTEGER NOT NULL REFERENCES episode(id),
    call          INTEGER NOT NULL,        -- from 0 within the episode; a call that failed leaves a gap
    request_hash  TEXT NOT NULL,
    shared        INTEGER NOT NULL,        -- characters this prompt shares with that of call `base`
    prompt        TEXT NOT NULL,           -- the rest of the prompt: text, or messages rendered
    request       TEXT NOT NULL,           -- JSON: stop, max_tokens, temperature, seed, constraint, tools
    text          TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    prompt_tokens     INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    cached_tokens     INTEGER NOT NULL,
    cost          REAL,
    retries       INTEGER NOT NULL,
    seconds       REAL NOT NULL,
    calls         TEXT NOT NULL DEFAULT '[]', -- JSON list of {id, name, arguments}: native tool calls
    base          INTEGER,                 -- an earlier call, the last stored when this one was; NULL: none
    retried       TEXT NOT NULL DEFAULT '[]', -- JSON list: why each of the retries was needed
    PRIMARY KEY (episode, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE turn (             -- one call of the agent: thoughts and at most one action
    episode   INTEGER NOT NULL REFERENCES episode(id),
    turn      INTEGER NOT NULL,            -- from 0 within the episode
    calls     INTEGER NOT NULL,            -- replies used up to and with this turn
    kind      TEXT NOT NULL,
    thoughts  TEXT NOT NULL,               -- JSON list
    action    TEXT,
    liberties TEXT NOT NULL,               -- JSON list of {kind, before, after}
    problem   TEXT NOT NULL,
    event     TEXT NOT NULL,
    memory    TEXT NOT NULL DEFAULT '',    -- digest of the memory in its prompts, '' where none stood there
    notes     TEXT NOT NULL DEFAULT '[]',  -- JSON list of texts
    PRIMARY KEY (episode, turn)
) STRICT, WITHOUT ROWID;

CREATE TABLE step (             -- one action executed, or one unreadable turn that cost a step
    episode     INTEGER NOT NULL REFERENCES episode(id),
    step        INTEGER NOT NULL,          -- from 1 within the episode
    turn        INTEGER NOT NULL,
    action      TEXT,                      -- NULL: nothing readable, nothing was executed
    observation TEXT NOT NULL,
    valid       INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    reward      REAL NOT NULL,
    score       REAL NOT NULL,
    won         INTEGER NOT NULL,
    seconds     REAL NOT NULL,
    PRIMARY KEY (episode, step)
) STRICT, WITHOUT ROWID;

CREATE INDEX episode_by_run ON episode (run, task_index, seed, trial);

CREATE TABLE label (            -- what a person says of an episode: a failure tag, or a word of their own
    episode INTEGER NOT NULL REFERENCES episode(id),
    label   TEXT NOT NULL,
    who     TEXT NOT NULL,
    note    TEXT NOT NULL DEFAULT '',
    time    REAL NOT NULL,
    PRIMARY KEY (episode, label, who)
) STRICT, WITHOUT ROWID;
