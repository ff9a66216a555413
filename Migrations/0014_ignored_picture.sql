-- Pictures that count as none, such as the silhouette that a service gives everybody who has no picture there.

CREATE TABLE ignored_picture (
    -- Of the bytes. No entry needs to have them.
    sha256 BLOB PRIMARY KEY CHECK (length(sha256) = 32),
    since_ms INTEGER NOT NULL,
    -- 0: a process may have been killed before all entries with these bytes had lost them. The next sync goes on.
    is_complete INTEGER NOT NULL DEFAULT 0 CHECK (is_complete IN (0, 1))
) STRICT, WITHOUT ROWID;

-- An entry whose origin gives such a picture has no file, the absence 'ignored', and the digest in absent_sha256. It keeps
-- its validators, so that an unchanged picture costs a request without a body.
CREATE INDEX avatar_ignored ON avatar (absent_sha256) WHERE absence = 'ignored';

-- With the host, so that pictures of many contacts are found without the rows of the entries.
DROP INDEX avatar_by_file;
CREATE INDEX avatar_by_file ON avatar (file_id, host_id) WHERE file_id IS NOT NULL;
