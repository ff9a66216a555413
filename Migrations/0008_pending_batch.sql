-- Fewer writes for a batch of images: one row names all of its files, and the totals are written once for each transaction.

-- Files on their way in or out together. A file has a name here, in pending_file or in file, and never in two of them.
CREATE TABLE pending_batch (
    -- Never used again: a process that knows a dropped row by its id cannot drop a later one.
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The process that will finish them; whoever finds it dead does so in its place.
    holder TEXT NOT NULL CHECK (holder <> ''),
    -- JSON: an array for each file, of its class, its path relative to the root, and its size in bytes.
    files TEXT NOT NULL CHECK (json_valid(files))
) STRICT;
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

-- The program adds up the changes of a transaction and writes the table total once at its end.
DROP TRIGGER file_total_insert;
DROP TRIGGER file_total_delete;
DROP TRIGGER pending_file_total_insert;
DROP TRIGGER pending_file_total_delete;
