-- The search: in which messages each word is (AS-27).
--
-- The index has no text of its own and no positions: the words are made by the program, folded and
-- with spaces between, and a hit's text is read from its row. `rowid` is `message_rows.key`.

CREATE VIRTUAL TABLE search_terms USING fts5 (
    terms,
    content = '',
    contentless_delete = 1,
    detail = none,
    tokenize = 'ascii'
);

-- Parts of the index are merged when eight of a size are there: twice as soon as is usual, because in a
-- small one they take as much again.
INSERT INTO search_terms (search_terms, rank) VALUES ('crisismerge', 8);

-- However a message goes, its words go in the same statement.
CREATE TRIGGER message_is_gone AFTER DELETE ON message_rows
BEGIN
    DELETE FROM search_terms WHERE rowid = old.key;
END;

-- The index has the messages from `below` to before `above`, by their keys; a program fills it at both
-- ends, many messages at once, because the steps cost more than the words. One row.
CREATE TABLE search_range (below INTEGER NOT NULL, above INTEGER NOT NULL) STRICT;
INSERT INTO search_range (below, above)
SELECT coalesce(max(key), 0) + 1, coalesce(max(key), 0) + 1 FROM message_rows;
