-- Which files are on stable storage.

-- Files with an id up to this one were on stable storage when it was written. After a power loss the digests of later files
-- in caches are compared: the file system may have kept a file's length without its bytes.
ALTER TABLE store ADD COLUMN durable_file_id INTEGER NOT NULL DEFAULT 0 CHECK (durable_file_id >= 0);
