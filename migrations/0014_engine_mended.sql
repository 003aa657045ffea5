-- What a fault of the configuration stopped is tried again once something of the configuration became another
-- (engine.md 18): when that was.
ALTER TABLE engine_repos ADD COLUMN mended_at TEXT;
