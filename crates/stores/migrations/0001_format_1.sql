-- The history: sessions and messages for reading, a projection of the sessions' logs.
--
-- `messages` and `message_parts` are views. What they show is kept once, in `message_rows`: a
-- session and a turn as small integers there, and the parts of a message as one JSON array, so that
-- a message is replaced whole by replacing one row.
-- Times are milliseconds since 1970 in UTC. Positions (`seq`) are those of the session's log.
--
-- A checksum is null only inside the transaction that makes a row. That of a message is the sum, of 32
-- bits, of three: over its content, its turn with its place, and its position.

CREATE TABLE sessions (
    key                      INTEGER PRIMARY KEY,
    id                       TEXT    NOT NULL UNIQUE,
    model                    TEXT    NOT NULL,
    agent                    TEXT    NOT NULL,
    metadata                 TEXT    NOT NULL, -- JSON
    created_at               INTEGER NOT NULL,
    updated_at               INTEGER NOT NULL,
    message_count            INTEGER NOT NULL DEFAULT 0,
    total_tokens_input       INTEGER NOT NULL DEFAULT 0,
    total_tokens_output      INTEGER NOT NULL DEFAULT 0,
    total_tokens_cache_read  INTEGER NOT NULL DEFAULT 0,
    total_tokens_cache_write INTEGER NOT NULL DEFAULT 0,
    total_tokens_reasoning   INTEGER NOT NULL DEFAULT 0,
    projected                INTEGER NOT NULL DEFAULT 0, -- the log is here up to this position
    found_by                 TEXT    NOT NULL,           -- id and title, in lower case
    title                    TEXT,                       -- null when it has none
    context                  TEXT,                       -- JSON; null when no prompt was refused
    route                    TEXT,                       -- null when the model's own name leads to its provider
    preview                  TEXT,                       -- of the user's first message; null when there is none
    preview_seq              INTEGER,                    -- that message's `turn_seq`
    counts_check             INTEGER,                    -- of the counts, in terms that SQL can add up
    checksum                 INTEGER,
    system_prompt            TEXT,                       -- null when its client says nothing
    approval                 TEXT,                       -- null for the server's
    tainted                  INTEGER NOT NULL DEFAULT 0  -- whether text from outside may be in it: 0 or 1
) STRICT;

CREATE INDEX sessions_by_update ON sessions (updated_at);

CREATE TABLE turns (
    key                INTEGER PRIMARY KEY,
    session_key        INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    id                 TEXT    NOT NULL,
    agent              TEXT    NOT NULL, -- its path
    parent_call        TEXT,
    turn_seq           INTEGER, -- where it started, or ended without a start; null while it waits
    finish_reason      TEXT,    -- JSON
    tokens_input       INTEGER,
    tokens_output      INTEGER,
    tokens_cache_read  INTEGER,
    tokens_cache_write INTEGER,
    tokens_reasoning   INTEGER,
    started_at         INTEGER,
    finished_at        INTEGER,
    checksum           INTEGER,
    iterations         INTEGER, -- null while it lives
    budget             TEXT,    -- JSON; null without one
    bill               TEXT,    -- JSON; null when there is nothing on it
    UNIQUE (session_key, id)
) STRICT;

CREATE TABLE message_rows (
    key                INTEGER PRIMARY KEY,
    id                 TEXT    NOT NULL UNIQUE,
    session_key        INTEGER NOT NULL REFERENCES sessions (key) ON DELETE CASCADE,
    turn_key           INTEGER, -- no foreign key: a turn goes only with its session
    -- Where it stands: its turn's place, without a turn its own, and while its turn waits the
    -- greatest integer; then `seq`, where it was first put.
    turn_seq           INTEGER NOT NULL,
    seq                INTEGER NOT NULL,
    depth              INTEGER NOT NULL, -- how many agents are above its own
    agent              TEXT    NOT NULL, -- its path
    role               TEXT    NOT NULL,
    parts              TEXT    NOT NULL, -- JSON
    parent_message_id  TEXT,
    model              TEXT,
    finish_reason      TEXT,
    tokens_input       INTEGER,
    tokens_output      INTEGER,
    tokens_cache_read  INTEGER,
    tokens_cache_write INTEGER,
    tokens_reasoning   INTEGER,
    metadata           TEXT, -- JSON; null when empty
    created_at         INTEGER NOT NULL,
    checksum           INTEGER
) STRICT;

-- The order of reading. `depth` rides along so that children's messages are passed over in the
-- index, without a look at their rows.
CREATE INDEX message_rows_in_order ON message_rows (session_key, turn_seq, seq, depth);

CREATE VIEW message_parts AS
SELECT
    m.id                            AS message_id,
    p.key                           AS idx,
    json_extract(p.value, '$.type') AS type,
    p.value                         AS body
FROM message_rows AS m, json_each(m.parts) AS p;

CREATE VIEW messages AS
SELECT
    m.id,
    s.id AS session_id,
    t.id AS turn_id,
    m.role,
    (
        SELECT group_concat(coalesce(
            json_extract(p.value, '$.outcome.text'),
            json_extract(p.value, '$.text')
        ), '')
        FROM json_each(m.parts) AS p
        WHERE json_extract(p.value, '$.type') IN ('text', 'outcome')
    ) AS content,
    (
        SELECT nullif(json_group_array(json_object(
            'id', json_extract(p.value, '$.id'),
            'name', json_extract(p.value, '$.name'),
            'args', json_extract(p.value, '$.args')
        )), '[]')
        FROM json_each(m.parts) AS p
        WHERE json_extract(p.value, '$.type') = 'call'
    ) AS tool_calls,
    coalesce((
        SELECT json_extract(p.value, '$.call') FROM json_each(m.parts) AS p
        WHERE json_extract(p.value, '$.type') = 'outcome'
    ), '') AS tool_call_id,
    (
        SELECT json_extract(p.value, '$.name') FROM json_each(m.parts) AS p
        WHERE json_extract(p.value, '$.type') = 'outcome'
    ) AS name,
    coalesce((
        SELECT json_extract(p.value, '$.outcome.status') <> 'done' FROM json_each(m.parts) AS p
        WHERE json_extract(p.value, '$.type') = 'outcome'
    ), 0) AS is_error,
    coalesce(m.tokens_input + m.tokens_output, 0) AS token_usage,
    m.parent_message_id,
    coalesce(m.metadata, '{}') AS metadata,
    m.created_at
FROM message_rows AS m
JOIN sessions AS s ON s.key = m.session_key
LEFT JOIN turns AS t ON t.key = m.turn_key;

-- One row that every sync changes, so that there is something to commit.
CREATE TABLE syncs (count INTEGER NOT NULL) STRICT;
INSERT INTO syncs (count) VALUES (0);

-- The generation that the stores of a data directory share: one row.
CREATE TABLE generation (id TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;

-- The definitions of agents that clients make. They are kept here alone: no journal has them.
--
-- A name is unique over all workspaces, because a name is what an agent is called by.

CREATE TABLE sub_agent_definitions (
    id                 TEXT    NOT NULL PRIMARY KEY, -- made by the application
    workspace_id       TEXT,
    name               TEXT    NOT NULL UNIQUE,
    enabled            INTEGER NOT NULL,
    system_prompt      TEXT    NOT NULL,
    display_name       TEXT    NOT NULL,
    model              TEXT,             -- JSON; null for the session's
    tool_keys          TEXT    NOT NULL, -- JSON
    allowed_sub_agents TEXT    NOT NULL, -- JSON
    max_depth          INTEGER,
    max_steps          INTEGER,
    approval           TEXT,
    version            INTEGER NOT NULL,
    page_ids           TEXT    NOT NULL, -- JSON
    updated_at         INTEGER NOT NULL,
    checksum           INTEGER NOT NULL
) STRICT;

-- Every version of each, in the same columns.
CREATE TABLE sub_agent_versions (
    id                 TEXT    NOT NULL,
    workspace_id       TEXT,
    name               TEXT    NOT NULL,
    enabled            INTEGER NOT NULL,
    system_prompt      TEXT    NOT NULL,
    display_name       TEXT    NOT NULL,
    model              TEXT,
    tool_keys          TEXT    NOT NULL,
    allowed_sub_agents TEXT    NOT NULL,
    max_depth          INTEGER,
    max_steps          INTEGER,
    approval           TEXT,
    version            INTEGER NOT NULL,
    page_ids           TEXT    NOT NULL,
    updated_at         INTEGER NOT NULL,
    checksum           INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT;

-- What the turns of sessions in memory have used: one row, in the columns of `sessions`. It is all
-- that the history has of them.

CREATE TABLE spent_in_memory (
    total_tokens_input       INTEGER NOT NULL,
    total_tokens_output      INTEGER NOT NULL,
    total_tokens_cache_read  INTEGER NOT NULL,
    total_tokens_cache_write INTEGER NOT NULL,
    total_tokens_reasoning   INTEGER NOT NULL,
    checksum                 INTEGER NOT NULL -- the sum of the others
) STRICT;

-- The head of the audit's chain, which is in a file of its own: what the file had when the positions of
-- the sessions were written, and how much of that was synced. One row; the hashes are SHA-256 in hex.

CREATE TABLE audit_head (
    written_count INTEGER NOT NULL,
    written_hash  TEXT NOT NULL,
    synced_count  INTEGER NOT NULL,
    synced_hash   TEXT NOT NULL,
    checksum      INTEGER NOT NULL -- CRC-32 of the others, with spaces between
) STRICT;
