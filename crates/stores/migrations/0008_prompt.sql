-- What a session's client tells its agent. The checksum of a row covers it where there is one, so that
-- rows that were written before keep theirs.

ALTER TABLE sessions ADD COLUMN system_prompt TEXT; -- null when its client says nothing
