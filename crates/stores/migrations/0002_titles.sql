-- What a person calls a session, beside what its client gave when it was made.

ALTER TABLE sessions ADD COLUMN title TEXT; -- null when it has none

-- Titles were among the client's facts alone; one short line is a title.
UPDATE sessions SET title = trim(json_extract(metadata, '$.title'))
WHERE json_type(metadata, '$.title') = 'text'
AND octet_length(trim(json_extract(metadata, '$.title'))) BETWEEN 1 AND 256
AND json_extract(metadata, '$.title') NOT GLOB '*[' || char(1, 45, 31, 127, 45, 159) || ']*'
AND instr(json_extract(metadata, '$.title'), char(0)) = 0;
