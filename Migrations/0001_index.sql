-- The first schema: images, their files, their owners, and what is needed to keep the two places in agreement.
-- Times end in _ms (milliseconds since 1970-01-01T00:00:00Z) or _us (microseconds). storage_class: 0 caches, 1 documents.

-- The store itself: one row.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- 32 hex digits, drawn once; each root carries it, so that two stores never mix.
    store_id TEXT NOT NULL CHECK (length(store_id) = 32),
    -- The holder whose sync is running.
    sync_holder TEXT
) STRICT;

-- Settings that the operator changed; what has no row has its default.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An origin, as host name and port.
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    -- No request before this time: the origin said so.
    blocked_until_ms INTEGER NOT NULL DEFAULT 0,
    -- No entry of the host is due before this time. A lower bound: a trigger lowers it, picking due entries raises it.
    next_check_ms INTEGER NOT NULL DEFAULT 9223372036854775807
) STRICT;
CREATE INDEX host_by_next_check ON host (next_check_ms);

-- A published file. Neither its id nor its name is ever used again, and its content never changes.
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    -- Relative to the root of the class.
    path TEXT NOT NULL CHECK (path <> ''),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    media_type TEXT NOT NULL,
    width INTEGER NOT NULL CHECK (width >= 0),
    height INTEGER NOT NULL CHECK (height >= 0),
    last_access_us INTEGER NOT NULL,
    UNIQUE (storage_class, sha256)
) STRICT;
CREATE INDEX file_by_last_access ON file (storage_class, last_access_us);

-- Every file that may exist without being published: on its way in, or on its way out.
CREATE TABLE pending_file (
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    path TEXT NOT NULL CHECK (path <> ''),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    -- The process that will finish it; whoever finds it dead does so in its place.
    holder TEXT NOT NULL CHECK (holder <> ''),
    PRIMARY KEY (storage_class, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_file_by_holder ON pending_file (holder);

-- One image that somebody asked for, under its whole key.
CREATE TABLE avatar (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE CHECK (key <> ''),
    -- What is fetched, where that is not the key itself.
    source_url TEXT,
    -- NULL: an own image, which has no origin.
    host_id INTEGER REFERENCES host (id),
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    file_id INTEGER REFERENCES file (id),
    -- Why there is no file although there was one: 'evicted' or 'missing'.
    absence TEXT,
    -- Validators, verbatim.
    etag TEXT,
    last_modified TEXT,
    -- The header fields of the stored response that freshness depends on, one "name: value" a line.
    response_fields TEXT,
    response_ms INTEGER,
    -- From the request to that response.
    response_delay_ms INTEGER,
    -- When the bytes last came from the origin.
    fetched_ms INTEGER,
    -- The last answer of the origin, or the last attempt to get one.
    checked_ms INTEGER,
    fresh_until_ms INTEGER,
    -- When the entry is due; NULL: never.
    next_check_ms INTEGER,
    -- The kind of the last failure; NULL after a success.
    failure TEXT,
    failure_count INTEGER NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
    CHECK (file_id IS NULL OR absence IS NULL),
    CHECK (host_id IS NOT NULL OR next_check_ms IS NULL)
) STRICT;
CREATE INDEX avatar_by_file ON avatar (file_id) WHERE file_id IS NOT NULL;
-- What was evicted waits to be asked for; it is not due.
CREATE INDEX avatar_due ON avatar (host_id, next_check_ms) WHERE next_check_ms IS NOT NULL AND absence IS NOT 'evicted';

CREATE TRIGGER avatar_due_insert AFTER INSERT ON avatar WHEN NEW.next_check_ms IS NOT NULL BEGIN
    UPDATE host SET next_check_ms = NEW.next_check_ms WHERE id = NEW.host_id AND next_check_ms > NEW.next_check_ms;
END;
CREATE TRIGGER avatar_due_update AFTER UPDATE OF next_check_ms, host_id ON avatar WHEN NEW.next_check_ms IS NOT NULL BEGIN
    UPDATE host SET next_check_ms = NEW.next_check_ms WHERE id = NEW.host_id AND next_check_ms > NEW.next_check_ms;
END;

-- Which contact uses which image. The contact is the host program's own, opaque id.
CREATE TABLE owner (
    contact TEXT NOT NULL CHECK (contact <> ''),
    avatar_id INTEGER NOT NULL REFERENCES avatar (id) ON DELETE CASCADE,
    PRIMARY KEY (contact, avatar_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_by_avatar ON owner (avatar_id);

-- Bytes and files of each class, kept by the triggers below: the budget must not cost a walk.
CREATE TABLE total (
    storage_class INTEGER PRIMARY KEY CHECK (storage_class IN (0, 1)),
    files INTEGER NOT NULL CHECK (files >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    pending_files INTEGER NOT NULL CHECK (pending_files >= 0),
    pending_bytes INTEGER NOT NULL CHECK (pending_bytes >= 0)
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0, 0), (1, 0, 0, 0, 0);

CREATE TRIGGER file_total_insert AFTER INSERT ON file BEGIN
    UPDATE total SET files = files + 1, bytes = bytes + NEW.size_bytes WHERE storage_class = NEW.storage_class;
END;
CREATE TRIGGER file_total_delete AFTER DELETE ON file BEGIN
    UPDATE total SET files = files - 1, bytes = bytes - OLD.size_bytes WHERE storage_class = OLD.storage_class;
END;
CREATE TRIGGER file_is_immutable BEFORE UPDATE OF storage_class, sha256, path, size_bytes ON file BEGIN
    SELECT RAISE(ABORT, 'a published file does not change');
END;
CREATE TRIGGER pending_file_total_insert AFTER INSERT ON pending_file BEGIN
    UPDATE total SET pending_files = pending_files + 1, pending_bytes = pending_bytes + NEW.size_bytes
    WHERE storage_class = NEW.storage_class;
END;
CREATE TRIGGER pending_file_total_delete AFTER DELETE ON pending_file BEGIN
    UPDATE total SET pending_files = pending_files - 1, pending_bytes = pending_bytes - OLD.size_bytes
    WHERE storage_class = OLD.storage_class;
END;
CREATE TRIGGER pending_file_is_immutable BEFORE UPDATE OF storage_class, path, size_bytes ON pending_file BEGIN
    SELECT RAISE(ABORT, 'a pending file does not change');
END;

-- Stable for people with a sqlite3 shell, whatever becomes of the tables above.
CREATE VIEW avatar_overview AS
SELECT
    avatar.key AS key,
    CASE WHEN avatar.host_id IS NOT NULL THEN coalesce(avatar.source_url, avatar.key) END AS source_url,
    CASE file.storage_class WHEN 0 THEN 'caches/' WHEN 1 THEN 'documents/' END || file.path AS local_file,
    CASE avatar.storage_class WHEN 0 THEN 'caches' ELSE 'documents' END AS storage_class,
    file.size_bytes AS size_bytes,
    avatar.etag AS etag,
    strftime('%Y-%m-%dT%H:%M:%fZ', file.last_access_us / 1000 / 1000.0, 'unixepoch') AS last_access,
    strftime('%Y-%m-%dT%H:%M:%fZ', avatar.fresh_until_ms / 1000.0, 'unixepoch') AS fresh_until,
    strftime('%Y-%m-%dT%H:%M:%fZ', avatar.checked_ms / 1000.0, 'unixepoch') AS checked_at,
    CASE
        WHEN avatar.host_id IS NULL THEN 'own'
        WHEN avatar.failure = 'gone' THEN 'gone'
        WHEN avatar.absence IS NOT NULL THEN avatar.absence
        WHEN avatar.failure IS NOT NULL THEN 'failing'
        WHEN avatar.fresh_until_ms > CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) THEN 'fresh'
        ELSE 'stale'
    END AS state
FROM avatar LEFT JOIN file ON file.id = avatar.file_id;
