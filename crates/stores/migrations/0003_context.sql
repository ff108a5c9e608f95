-- What a refused prompt revealed about the window of a session's model.

ALTER TABLE sessions ADD COLUMN context TEXT; -- JSON; null when no prompt was refused
