-- A section of the inbox is some kinds of one state, and what is kept in sight stands apart: each is counted.
DROP TRIGGER inbox_counted_in;
DROP TRIGGER inbox_counted_out;
DROP TRIGGER inbox_counted_over;
DROP TABLE inbox_counts;

CREATE TABLE inbox_counts (
    state  TEXT NOT NULL,
    kind   TEXT NOT NULL,
    saved  INTEGER NOT NULL,
    total  INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    PRIMARY KEY (state, kind, saved)
) STRICT;

INSERT INTO inbox_counts (state, kind, saved, total, unread)
SELECT state, kind, saved, count(*), sum(1 - read) FROM inbox GROUP BY state, kind, saved;

CREATE TRIGGER inbox_counted_in AFTER INSERT ON inbox BEGIN
    INSERT INTO inbox_counts (state, kind, saved, total, unread)
    VALUES (new.state, new.kind, new.saved, 1, 1 - new.read)
    ON CONFLICT (state, kind, saved) DO UPDATE SET
        total = total + excluded.total, unread = unread + excluded.unread;
END;

CREATE TRIGGER inbox_counted_out AFTER DELETE ON inbox BEGIN
    UPDATE inbox_counts SET total = total - 1, unread = unread - 1 + old.read
    WHERE state = old.state AND kind = old.kind AND saved = old.saved;
END;

CREATE TRIGGER inbox_counted_over AFTER UPDATE OF state, kind, saved, read ON inbox BEGIN
    UPDATE inbox_counts SET total = total - 1, unread = unread - 1 + old.read
    WHERE state = old.state AND kind = old.kind AND saved = old.saved;
    INSERT INTO inbox_counts (state, kind, saved, total, unread)
    VALUES (new.state, new.kind, new.saved, 1, 1 - new.read)
    ON CONFLICT (state, kind, saved) DO UPDATE SET
        total = total + excluded.total, unread = unread + excluded.unread;
END;
