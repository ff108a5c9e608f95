-- What a turn may use and what it cost. All three are null in rows of older versions.

ALTER TABLE turns ADD COLUMN iterations INTEGER; -- null while it lives
ALTER TABLE turns ADD COLUMN budget TEXT; -- JSON; null without one
ALTER TABLE turns ADD COLUMN bill TEXT; -- JSON; null when there is nothing on it
