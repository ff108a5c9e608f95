-- The head of the audit's chain, which is in a file of its own: what the file had when the positions of
-- the sessions were written, and how much of that was synced. One row; the hashes are SHA-256 in hex.

CREATE TABLE audit_head (
    written_count INTEGER NOT NULL,
    written_hash  TEXT NOT NULL,
    synced_count  INTEGER NOT NULL,
    synced_hash   TEXT NOT NULL,
    checksum      INTEGER NOT NULL -- CRC-32 of the others, with spaces between
) STRICT;
