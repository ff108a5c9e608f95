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
