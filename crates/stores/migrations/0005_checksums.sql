-- What a bad disk changed is found when it is read: checksums of what is served, and the generation
-- that the stores of a data directory share.
--
-- A checksum is null in a row that was written before, until it is written again. That of a message
-- is the sum, of 32 bits, of three: over its content, its turn with its place, and its position.

ALTER TABLE sessions ADD COLUMN preview TEXT; -- of the user's first message; null when there is none
ALTER TABLE sessions ADD COLUMN preview_seq INTEGER; -- that message's `turn_seq`
ALTER TABLE sessions ADD COLUMN counts_check INTEGER; -- of the counts, in terms that SQL can add up
ALTER TABLE sessions ADD COLUMN checksum INTEGER;
ALTER TABLE message_rows ADD COLUMN checksum INTEGER;
ALTER TABLE turns ADD COLUMN checksum INTEGER;

CREATE TABLE generation (id TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT;
