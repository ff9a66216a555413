-- The shared tier: an object store that the stores of several machines share.

-- Entries whose last answer of an origin still has to be put into the tier, in the order of the answers. An entry that gets
-- another answer meanwhile takes a new place at the end.
CREATE TABLE tier_upload (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    avatar_id INTEGER NOT NULL UNIQUE REFERENCES avatar (id) ON DELETE CASCADE
) STRICT;

-- Erased images whose objects still have to be deleted from the tier.
CREATE TABLE tier_erasure (
    -- Of the URL, because the URL itself is erased.
    url_sha256 BLOB PRIMARY KEY CHECK (length(url_sha256) = 32)
) STRICT, WITHOUT ROWID;

-- One row once the store has used a tier.
CREATE TABLE tier (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The name of this store among those that share the tier: 32 hex digits, drawn once.
    machine TEXT NOT NULL CHECK (length(machine) = 32),
    -- Since the store first used a tier: images taken, images confirmed, answers put, answers dropped because too many waited.
    taken INTEGER NOT NULL DEFAULT 0,
    confirmed INTEGER NOT NULL DEFAULT 0,
    put INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    -- The last failure; NULL after a success.
    failure TEXT,
    failed_ms INTEGER
) STRICT;
