-- Only the files that are evicted next are kept in the order of their use, so that recording a use changes one row.

CREATE TABLE eviction_queue (
    -- Copies of the row of the table access, which the triggers below keep equal.
    last_access_us INTEGER NOT NULL,
    file_id INTEGER NOT NULL,
    size_bytes INTEGER NOT NULL,
    PRIMARY KEY (last_access_us, file_id)
) STRICT, WITHOUT ROWID;

-- How far the queue reaches: one row, or none while the queue is empty.
CREATE TABLE eviction_queue_end (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The files of caches used before this time are in the queue, and no others. The program raises it when an eviction
    -- needs more files.
    queued_before_us INTEGER NOT NULL
) STRICT;

DROP INDEX access_by_time;

CREATE TRIGGER access_queue_insert AFTER INSERT ON access
WHEN NEW.storage_class = 0 AND NEW.last_access_us < (SELECT queued_before_us FROM eviction_queue_end) BEGIN
    INSERT OR REPLACE INTO eviction_queue (last_access_us, file_id, size_bytes)
    VALUES (NEW.last_access_us, NEW.file_id, NEW.size_bytes);
END;
CREATE TRIGGER access_queue_delete AFTER DELETE ON access
WHEN OLD.storage_class = 0 AND OLD.last_access_us < (SELECT queued_before_us FROM eviction_queue_end) BEGIN
    DELETE FROM eviction_queue WHERE last_access_us = OLD.last_access_us AND file_id = OLD.file_id;
END;
CREATE TRIGGER access_queue_update AFTER UPDATE ON access
WHEN min(OLD.last_access_us, NEW.last_access_us) < (SELECT queued_before_us FROM eviction_queue_end) BEGIN
    DELETE FROM eviction_queue WHERE last_access_us = OLD.last_access_us AND file_id = OLD.file_id;
    INSERT OR REPLACE INTO eviction_queue (last_access_us, file_id, size_bytes)
    SELECT NEW.last_access_us, NEW.file_id, NEW.size_bytes
    WHERE NEW.storage_class = 0 AND NEW.last_access_us < (SELECT queued_before_us FROM eviction_queue_end);
END;
