-- What an effect does, whole (engine.md 15): NULL for the comment of a review, whose text is all of it.
ALTER TABLE effects ADD COLUMN deed TEXT;
-- Why it is wanted, in one line for the person.
ALTER TABLE effects ADD COLUMN line TEXT;
-- Of a deed of several writes: the one the last intent was for.
ALTER TABLE effects ADD COLUMN part TEXT;
