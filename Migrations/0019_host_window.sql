-- The requests at once that the host bore in the last sync; NULL for one that was asked for no more than at first.
ALTER TABLE host ADD COLUMN window INTEGER CHECK (window BETWEEN 1 AND 4096);
CREATE INDEX host_by_window ON host (id) WHERE window IS NOT NULL;
