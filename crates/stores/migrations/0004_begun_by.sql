-- Who began a session: `owner`, or `token:NAME`; null of sessions that were there before (MD-11).

ALTER TABLE sessions ADD COLUMN begun_by TEXT;
