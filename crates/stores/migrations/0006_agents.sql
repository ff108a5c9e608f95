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
