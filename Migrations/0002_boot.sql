-- Whether the files have to be compared with the index after a power loss.

-- The system's boot id since the first change that was not followed by a clean close; NULL: what the index says of the
-- files is on stable storage.
ALTER TABLE store ADD COLUMN boot_id TEXT;
