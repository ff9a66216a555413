-- How the last sync ended, for statistics and alerts.

-- At most one row; none before the first sync.
CREATE TABLE last_sync (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    ended_ms INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL CHECK (duration_ms >= 0),
    -- A word of the program, such as 'complete' or 'unreached'.
    outcome TEXT NOT NULL CHECK (outcome <> ''),
    -- Images that the sync wanted; of these, images that failed, and images that were not asked for.
    wanted INTEGER NOT NULL CHECK (wanted >= 0),
    failed INTEGER NOT NULL CHECK (failed >= 0),
    skipped INTEGER NOT NULL CHECK (skipped >= 0)
) STRICT;
