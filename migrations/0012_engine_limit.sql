-- A limit of the agent's provider holds for all repositories at once and stands in `settings`
-- (`engine.limited_until`); nothing ever wrote this one.
ALTER TABLE engine_repos DROP COLUMN limited_until;
