-- The history: sessions and messages for reading, a projection of the sessions' logs.
--
-- `messages` and `message_parts` are views. What they show is kept once, in `message_rows`: a
-- session and a turn as small integers there, and the parts of a message as one JSON array, so that
-- a message is replaced whole by replacing one row.
-- Times are milliseconds since 1970 in UTC. Positions (`seq`) are those of the session's log.

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
    found_by                 TEXT    NOT NULL            -- id and title, in lower case
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
    created_at         INTEGER NOT NULL
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
