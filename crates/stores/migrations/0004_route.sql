-- The name that leads to the provider of a session's model.

ALTER TABLE sessions ADD COLUMN route TEXT; -- null when the model's own name does
