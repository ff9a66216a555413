-- What changed, for whoever mirrors the pictures: one row for each change of an entry's content or of its owners.

-- The bytes that an entry had when it lost its file to an eviction or a purge: if they come again, nothing changed.
ALTER TABLE avatar ADD COLUMN absent_sha256 BLOB CHECK (length(absent_sha256) = 32);

-- The feed: one row.
CREATE TABLE change_feed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The number of the last change. A change takes as many numbers as it has owners, at least one, and bears the last
    -- of them: so the distance of two numbers bounds the rows between them.
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    -- Changes up to this number are no longer told.
    floor INTEGER NOT NULL CHECK (floor BETWEEN 0 AND sequence)
) STRICT;
-- What an older index holds was never told: whoever begins at 0 there has to look at all of it.
INSERT INTO change_feed (id, sequence, floor) SELECT 1, found, found FROM (SELECT EXISTS (SELECT 1 FROM avatar) AS found);

CREATE TABLE content_change (
    sequence INTEGER PRIMARY KEY,
    key TEXT NOT NULL CHECK (key <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('added', 'changed', 'removed')),
    -- Of the new bytes; with 'removed', of the last ones.
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    time_ms INTEGER NOT NULL
) STRICT;

-- The contacts that a change concerns.
CREATE TABLE content_change_owner (
    sequence INTEGER NOT NULL REFERENCES content_change (sequence) ON DELETE CASCADE,
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (sequence, contact)
) STRICT, WITHOUT ROWID;
