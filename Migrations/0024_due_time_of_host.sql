-- The writer lowers the due time of a host itself when it adds an entry. With a trigger, SQLite keeps a journal of its own for each
-- insertion, so that it could undo the insertion alone.
DROP TRIGGER avatar_due_insert;
