-- The last accesses in a narrow table: recording one leaves the wide row of the file as it is.

CREATE TABLE access (
    -- Of the file. The triggers below keep the tables equal, also where foreign keys are off, as in a shell.
    file_id INTEGER PRIMARY KEY,
    -- Copies of the file's columns, which never change: the order of eviction is read without the rows of the files.
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    last_access_us INTEGER NOT NULL
) STRICT;
-- In the order of the row ids, so that each page is written once.
INSERT INTO access (file_id, storage_class, size_bytes, last_access_us)
SELECT id, storage_class, size_bytes, last_access_us FROM file ORDER BY id;
CREATE INDEX access_by_time ON access (storage_class, last_access_us);

-- Each file has a row in both tables. From now on, file.last_access_us is the time with which the file was published.
DROP INDEX file_by_last_access;
CREATE TRIGGER file_access_insert AFTER INSERT ON file BEGIN
    INSERT INTO access (file_id, storage_class, size_bytes, last_access_us)
    VALUES (NEW.id, NEW.storage_class, NEW.size_bytes, NEW.last_access_us);
END;
CREATE TRIGGER file_access_delete AFTER DELETE ON file BEGIN
    DELETE FROM access WHERE file_id = OLD.id;
END;

-- The same columns as before.
DROP VIEW avatar_overview;
CREATE VIEW avatar_overview AS
SELECT
    avatar.key AS key,
    CASE WHEN avatar.host_id IS NOT NULL THEN coalesce(avatar.source_url, avatar.key) END AS source_url,
    CASE file.storage_class WHEN 0 THEN 'caches/' WHEN 1 THEN 'documents/' END || file.path AS local_file,
    CASE avatar.storage_class WHEN 0 THEN 'caches' ELSE 'documents' END AS storage_class,
    file.size_bytes AS size_bytes,
    avatar.etag AS etag,
    -- A subquery, because a join would be made for the queries that do not read the column too.
    strftime(
        '%Y-%m-%dT%H:%M:%fZ',
        (SELECT last_access_us FROM access WHERE access.file_id = avatar.file_id) / 1000 / 1000.0,
        'unixepoch'
    ) AS last_access,
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
