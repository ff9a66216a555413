-- The lists that name contacts, by their paths or the names that the operator gives them. A contact stays as long as one of them
-- names it, so that pruning by one list does not unlink the contacts of another.
CREATE TABLE source (
    -- named_by of the contacts that it names has the bit 1 << id.
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 0 AND 61),
    name TEXT NOT NULL UNIQUE CHECK (name <> '')
) STRICT;

-- 0: no list with a name named the contact.
ALTER TABLE contact ADD COLUMN named_by INTEGER NOT NULL DEFAULT 0 CHECK (named_by >= 0);
