-- Of the images that the last sync wanted, those for which the budget had no room. 0 for a sync of an earlier version, which did not
-- keep the count.
ALTER TABLE last_sync ADD COLUMN over_budget INTEGER NOT NULL DEFAULT 0 CHECK (over_budget >= 0);
