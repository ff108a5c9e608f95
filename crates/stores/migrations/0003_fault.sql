-- Why a turn failed, as its end in the log says it; null for one that did not, and for those that ended
-- before this format. A checksum has it only where it is.
ALTER TABLE turns ADD COLUMN fault TEXT; -- JSON
