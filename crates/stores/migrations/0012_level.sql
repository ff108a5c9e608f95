-- The approval level of a session's turns. The checksum of a row covers it where there is one, so that rows
-- that were written before keep theirs.

ALTER TABLE sessions ADD COLUMN approval TEXT; -- null for the server's
