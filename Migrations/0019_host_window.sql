-- The requests at once that the host bore in the last sync, and whether it answered over HTTP/2; NULL for one that gets as many
-- as any host at first.
ALTER TABLE host ADD COLUMN window INTEGER CHECK (window BETWEEN 1 AND 4096);
ALTER TABLE host ADD COLUMN is_multiplexed INTEGER NOT NULL DEFAULT 0 CHECK (is_multiplexed IN (0, 1));
CREATE INDEX host_by_window ON host (id) WHERE window IS NOT NULL;
