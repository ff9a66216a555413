-- Which image is to take the place of a contact's others, and has not come yet.

-- 1: the contact's URL changed to that of this image, and until it is there the contact keeps what it had.
ALTER TABLE owner ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0 CHECK (replaces IN (0, 1));
CREATE INDEX owner_replacing ON owner (avatar_id) WHERE replaces;
