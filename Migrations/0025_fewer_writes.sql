-- A new image costs fewer writes. The bytes of pending files are added up when they are asked for, because few rows name such
-- files; the id of a batch is a random number, so that no row counts the ids; and SQLite makes a table for each list of more than
-- two values in a check, so the kind of a change is compared with each of its values.
--
-- An index may come from elsewhere: a row that another program left behind without the row that it refers to, or with a value
-- that no check allows, is not copied, and does not stop the upgrade.

-- Bytes and published files of each class, written once for each transaction: the budget must not cost a walk.
CREATE TABLE new_total (
    storage_class INTEGER PRIMARY KEY CHECK (storage_class IN (0, 1)),
    files INTEGER NOT NULL CHECK (files >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
INSERT OR IGNORE INTO new_total SELECT storage_class, files, bytes FROM total;
DROP TABLE total;
ALTER TABLE new_total RENAME TO total;

-- Files on their way in or out together. A file has a name here, in pending_file or in file, and never in two of them.
CREATE TABLE new_pending_batch (
    -- Random: a process that knows a dropped row by its id does not drop a later one.
    id INTEGER PRIMARY KEY,
    -- The process that will finish them; whoever finds it dead does so in its place.
    holder TEXT NOT NULL CHECK (holder <> ''),
    -- JSON: an array for each file, of its class, its path relative to the root, and its size in bytes.
    files TEXT NOT NULL CHECK (json_valid(files)),
    -- The sums of these sizes, so that the budget does not cost a walk over the files.
    caches_bytes INTEGER NOT NULL DEFAULT 0 CHECK (caches_bytes >= 0),
    documents_bytes INTEGER NOT NULL DEFAULT 0 CHECK (documents_bytes >= 0)
) STRICT;
INSERT INTO new_pending_batch
SELECT
    id, holder, files,
    (SELECT coalesce(sum(size_bytes), 0) FROM pending WHERE batch_id = pending_batch.id AND storage_class = 0
        AND size_bytes BETWEEN 0 AND 1 << 40),
    (SELECT coalesce(sum(size_bytes), 0) FROM pending WHERE batch_id = pending_batch.id AND storage_class = 1
        AND size_bytes BETWEEN 0 AND 1 << 40)
FROM pending_batch WHERE holder <> '' AND json_valid(files);
DROP VIEW pending;
DROP TABLE pending_batch;
ALTER TABLE new_pending_batch RENAME TO pending_batch;
CREATE TRIGGER pending_batch_is_immutable BEFORE UPDATE ON pending_batch BEGIN
    SELECT RAISE(ABORT, 'a pending batch does not change');
END;

-- Every file that may exist without being published, whichever table names it.
CREATE VIEW pending AS
SELECT storage_class, path, size_bytes, holder, NULL AS batch_id FROM pending_file
UNION ALL
SELECT
    CAST(json_extract(named.value, '$[0]') AS INTEGER), CAST(json_extract(named.value, '$[1]') AS TEXT),
    CAST(json_extract(named.value, '$[2]') AS INTEGER), pending_batch.holder, pending_batch.id
-- An index may come from elsewhere, and a row that is no such JSON must not block the others.
FROM pending_batch, json_each(CASE WHEN json_valid(pending_batch.files) THEN pending_batch.files ELSE '[]' END) AS named
WHERE named.type = 'array';

-- Changes of images, as the feed tells them.
CREATE TABLE new_content_change (
    sequence INTEGER PRIMARY KEY,
    key TEXT NOT NULL CHECK (key <> ''),
    kind TEXT NOT NULL CHECK (kind = 'added' OR kind = 'changed' OR kind = 'removed'),
    -- Of the new bytes; with 'removed', of the last ones.
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    time_ms INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO new_content_change SELECT sequence, key, kind, sha256, time_ms FROM content_change;
-- The contacts that a change concerns. The renaming below renames the table that it refers to.
CREATE TABLE new_content_change_owner (
    sequence INTEGER NOT NULL REFERENCES new_content_change (sequence) ON DELETE CASCADE,
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (sequence, contact)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO new_content_change_owner
SELECT sequence, contact FROM content_change_owner WHERE sequence IN (SELECT sequence FROM new_content_change);
DROP TABLE content_change_owner;
DROP TABLE content_change;
ALTER TABLE new_content_change RENAME TO content_change;
ALTER TABLE new_content_change_owner RENAME TO content_change_owner;
