-- The shared tier: an object store that the stores of several machines share.

-- Answers of origins that still have to be put into the tier, in their order. An entry that gets another answer meanwhile takes a
-- new place at the end. An answer is put only while its entry still has it.
CREATE TABLE tier_upload (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    avatar_id INTEGER NOT NULL UNIQUE REFERENCES avatar (id) ON DELETE CASCADE,
    -- The SHA-256 of the URL that was requested, and the time of its answer.
    url_sha256 BLOB NOT NULL CHECK (length(url_sha256) = 32),
    answered_ms INTEGER NOT NULL
) STRICT;

-- Erased images whose objects have to be deleted from the tier.
CREATE TABLE tier_erasure (
    -- Of the URL, because the URL itself is erased.
    url_sha256 BLOB PRIMARY KEY CHECK (length(url_sha256) = 32),
    -- Of the picture, if one was stored.
    sha256 BLOB CHECK (length(sha256) = 32),
    -- The name of this erasure in the tier: 16 hex digits. A later erasure of the same URL has another one.
    erasure TEXT NOT NULL CHECK (length(erasure) = 16),
    -- When the image was erased, and when its objects were first deleted. They are looked for once more some minutes later,
    -- because another machine may have been about to put one.
    erased_ms INTEGER NOT NULL,
    deleted_ms INTEGER
) STRICT, WITHOUT ROWID;

-- One row once the store has used a tier.
CREATE TABLE tier (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The name of this store among those that share the tier: 32 hex digits, drawn once.
    machine TEXT NOT NULL CHECK (length(machine) = 32),
    -- The day of its object in the tier, counted from 1970; NULL before the first one.
    registered_day INTEGER,
    -- Since the store first used a tier: images taken, images confirmed, answers put, answers dropped because too many waited.
    taken INTEGER NOT NULL DEFAULT 0,
    confirmed INTEGER NOT NULL DEFAULT 0,
    put INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    -- The last failure; NULL after a success.
    failure TEXT,
    failed_ms INTEGER
) STRICT;
