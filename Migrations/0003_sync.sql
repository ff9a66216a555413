-- What a sync keeps of hosts that fail, of downloads that broke off, and of small images for slow networks.

-- Failures of the host in a row, whichever of its images was asked for; the kind of the last of them; and until when the
-- host is left alone because of them. What the host itself asked for is blocked_until_ms.
ALTER TABLE host ADD COLUMN failure_count INTEGER NOT NULL DEFAULT 0 CHECK (failure_count >= 0);
ALTER TABLE host ADD COLUMN failure TEXT;
ALTER TABLE host ADD COLUMN rests_until_ms INTEGER;

-- The latest time of the system's clock that was seen: if it is later than now, the clock was set back, and what was
-- written ahead of time is not waited for.
ALTER TABLE store ADD COLUMN clock_ms INTEGER;

-- The smaller image that stands in for this one while the network is constrained, and whether that one is stored now.
ALTER TABLE avatar ADD COLUMN low_data_url TEXT;
ALTER TABLE avatar ADD COLUMN is_low_data INTEGER NOT NULL DEFAULT 0 CHECK (is_low_data IN (0, 1));

-- The first bytes of an image whose download was interrupted, to be continued by whoever asks for the image next.
CREATE TABLE partial_download (
    key TEXT PRIMARY KEY CHECK (key <> ''),
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    -- In the folder 'partial' of the class's staging folder. A name is never used again.
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    -- What the bytes came from.
    url TEXT NOT NULL,
    -- A strong tag, verbatim: only bytes with the same one belong together.
    etag TEXT NOT NULL,
    -- The bytes that had come when the row was written; there may be more.
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    -- The length of the whole, if the origin said.
    total_bytes INTEGER CHECK (total_bytes > 0),
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX partial_download_by_age ON partial_download (updated_ms);
