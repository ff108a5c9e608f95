-- The approval level of a session's turns, and whether text from outside may be in it. The checksum of a row
-- covers each where there is one, so that rows that were written before keep theirs.

ALTER TABLE sessions ADD COLUMN approval TEXT; -- null for the server's
ALTER TABLE sessions ADD COLUMN tainted INTEGER NOT NULL DEFAULT 0; -- 0 or 1
