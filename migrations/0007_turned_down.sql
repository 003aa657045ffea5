-- A no about a commit outlives the text it was said to: no later text about that commit goes out by itself.

ALTER TABLE effects ADD COLUMN turned_down INTEGER NOT NULL DEFAULT 0 CHECK (turned_down IN (0, 1));
UPDATE effects SET turned_down = 1 WHERE state = 'dismissed' OR (state = 'failed' AND why = 'removed');
