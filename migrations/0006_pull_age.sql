-- How old an answer is that a task's head was taken from: GitHub's copies lag, and an older one says nothing.

ALTER TABLE tasks ADD COLUMN pull_updated_at TEXT; -- GitHub's own time of what it last showed of the pull request
