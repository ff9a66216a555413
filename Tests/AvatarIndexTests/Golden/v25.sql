PRAGMA auto_vacuum = INCREMENTAL;
PRAGMA journal_mode = WAL;
BEGIN;
-- The first schema: images, their files, their owners, and what is needed to keep the two places in agreement.
-- Times end in _ms (milliseconds since 1970-01-01T00:00:00Z) or _us (microseconds). storage_class: 0 caches, 1 documents.

-- The store itself: one row.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- 32 hex digits, drawn once; each root carries it, so that two stores never mix.
    store_id TEXT NOT NULL CHECK (length(store_id) = 32),
    -- The holder whose sync is running.
    sync_holder TEXT
) STRICT;

-- Settings that the operator changed; what has no row has its default.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- An origin, as host name and port.
CREATE TABLE host (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    -- No request before this time: the origin said so.
    blocked_until_ms INTEGER NOT NULL DEFAULT 0,
    -- No entry of the host is due before this time. A lower bound: a trigger lowers it, picking due entries raises it.
    next_check_ms INTEGER NOT NULL DEFAULT 9223372036854775807
) STRICT;
CREATE INDEX host_by_next_check ON host (next_check_ms);

-- A published file. Neither its id nor its name is ever used again, and its content never changes.
CREATE TABLE file (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    -- Relative to the root of the class.
    path TEXT NOT NULL CHECK (path <> ''),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    media_type TEXT NOT NULL,
    width INTEGER NOT NULL CHECK (width >= 0),
    height INTEGER NOT NULL CHECK (height >= 0),
    last_access_us INTEGER NOT NULL,
    UNIQUE (storage_class, sha256)
) STRICT;
CREATE INDEX file_by_last_access ON file (storage_class, last_access_us);

-- Every file that may exist without being published: on its way in, or on its way out.
CREATE TABLE pending_file (
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    path TEXT NOT NULL CHECK (path <> ''),
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    -- The process that will finish it; whoever finds it dead does so in its place.
    holder TEXT NOT NULL CHECK (holder <> ''),
    PRIMARY KEY (storage_class, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX pending_file_by_holder ON pending_file (holder);

-- One image that somebody asked for, under its whole key.
CREATE TABLE avatar (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE CHECK (key <> ''),
    -- What is fetched, where that is not the key itself.
    source_url TEXT,
    -- NULL: an own image, which has no origin.
    host_id INTEGER REFERENCES host (id),
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    file_id INTEGER REFERENCES file (id),
    -- Why there is no file although there was one: 'evicted' or 'missing'.
    absence TEXT,
    -- Validators, verbatim.
    etag TEXT,
    last_modified TEXT,
    -- The header fields of the stored response that freshness depends on, one "name: value" a line.
    response_fields TEXT,
    response_ms INTEGER,
    -- From the request to that response.
    response_delay_ms INTEGER,
    -- When the bytes last came from the origin.
    fetched_ms INTEGER,
    -- The last answer of the origin, or the last attempt to get one.
    checked_ms INTEGER,
    fresh_until_ms INTEGER,
    -- When the entry is due; NULL: never.
    next_check_ms INTEGER,
    -- The kind of the last failure; NULL after a success.
    failure TEXT,
    failure_count INTEGER NOT NULL DEFAULT 0 CHECK (failure_count >= 0),
    CHECK (file_id IS NULL OR absence IS NULL),
    CHECK (host_id IS NOT NULL OR next_check_ms IS NULL)
) STRICT;
CREATE INDEX avatar_by_file ON avatar (file_id) WHERE file_id IS NOT NULL;
-- What was evicted waits to be asked for; it is not due.
CREATE INDEX avatar_due ON avatar (host_id, next_check_ms) WHERE next_check_ms IS NOT NULL AND absence IS NOT 'evicted';

CREATE TRIGGER avatar_due_insert AFTER INSERT ON avatar WHEN NEW.next_check_ms IS NOT NULL BEGIN
    UPDATE host SET next_check_ms = NEW.next_check_ms WHERE id = NEW.host_id AND next_check_ms > NEW.next_check_ms;
END;
CREATE TRIGGER avatar_due_update AFTER UPDATE OF next_check_ms, host_id ON avatar WHEN NEW.next_check_ms IS NOT NULL BEGIN
    UPDATE host SET next_check_ms = NEW.next_check_ms WHERE id = NEW.host_id AND next_check_ms > NEW.next_check_ms;
END;

-- Which contact uses which image. The contact is the host program's own, opaque id.
CREATE TABLE owner (
    contact TEXT NOT NULL CHECK (contact <> ''),
    avatar_id INTEGER NOT NULL REFERENCES avatar (id) ON DELETE CASCADE,
    PRIMARY KEY (contact, avatar_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX owner_by_avatar ON owner (avatar_id);

-- Bytes and files of each class, kept by the triggers below: the budget must not cost a walk.
CREATE TABLE total (
    storage_class INTEGER PRIMARY KEY CHECK (storage_class IN (0, 1)),
    files INTEGER NOT NULL CHECK (files >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    pending_files INTEGER NOT NULL CHECK (pending_files >= 0),
    pending_bytes INTEGER NOT NULL CHECK (pending_bytes >= 0)
) STRICT;
INSERT INTO total VALUES (0, 0, 0, 0, 0), (1, 0, 0, 0, 0);

CREATE TRIGGER file_total_insert AFTER INSERT ON file BEGIN
    UPDATE total SET files = files + 1, bytes = bytes + NEW.size_bytes WHERE storage_class = NEW.storage_class;
END;
CREATE TRIGGER file_total_delete AFTER DELETE ON file BEGIN
    UPDATE total SET files = files - 1, bytes = bytes - OLD.size_bytes WHERE storage_class = OLD.storage_class;
END;
CREATE TRIGGER file_is_immutable BEFORE UPDATE OF storage_class, sha256, path, size_bytes ON file BEGIN
    SELECT RAISE(ABORT, 'a published file does not change');
END;
CREATE TRIGGER pending_file_total_insert AFTER INSERT ON pending_file BEGIN
    UPDATE total SET pending_files = pending_files + 1, pending_bytes = pending_bytes + NEW.size_bytes
    WHERE storage_class = NEW.storage_class;
END;
CREATE TRIGGER pending_file_total_delete AFTER DELETE ON pending_file BEGIN
    UPDATE total SET pending_files = pending_files - 1, pending_bytes = pending_bytes - OLD.size_bytes
    WHERE storage_class = OLD.storage_class;
END;
CREATE TRIGGER pending_file_is_immutable BEFORE UPDATE OF storage_class, path, size_bytes ON pending_file BEGIN
    SELECT RAISE(ABORT, 'a pending file does not change');
END;

-- Stable for people with a sqlite3 shell, whatever becomes of the tables above.
CREATE VIEW avatar_overview AS
SELECT
    avatar.key AS key,
    CASE WHEN avatar.host_id IS NOT NULL THEN coalesce(avatar.source_url, avatar.key) END AS source_url,
    CASE file.storage_class WHEN 0 THEN 'caches/' WHEN 1 THEN 'documents/' END || file.path AS local_file,
    CASE avatar.storage_class WHEN 0 THEN 'caches' ELSE 'documents' END AS storage_class,
    file.size_bytes AS size_bytes,
    avatar.etag AS etag,
    strftime('%Y-%m-%dT%H:%M:%fZ', file.last_access_us / 1000 / 1000.0, 'unixepoch') AS last_access,
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
-- Whether the files have to be compared with the index after a power loss.

-- The system's boot id since the first change that was not followed by a clean close; NULL: what the index says of the
-- files is on stable storage.
ALTER TABLE store ADD COLUMN boot_id TEXT;
-- What a sync keeps of hosts that fail, of downloads that broke off, and of small images for slow networks.

-- Failures of the host in a row, whichever of its images was asked for; the kind of the last of them; and until when the
-- host is left alone because of them. What the host itself asked for is blocked_until_ms.
ALTER TABLE host ADD COLUMN failure_count INTEGER NOT NULL DEFAULT 0 CHECK (failure_count >= 0);
ALTER TABLE host ADD COLUMN failure TEXT;
ALTER TABLE host ADD COLUMN rests_until_ms INTEGER;

-- The latest time of the system's clock that was seen: if it is later than now, the clock was set back, and what was
-- written ahead of time is not waited for.
ALTER TABLE store ADD COLUMN clock_ms INTEGER;

-- The smaller image that stands in for this one while the network is constrained, and whether that one is stored now.
ALTER TABLE avatar ADD COLUMN low_data_url TEXT;
ALTER TABLE avatar ADD COLUMN is_low_data INTEGER NOT NULL DEFAULT 0 CHECK (is_low_data IN (0, 1));

-- The first bytes of an image whose download was interrupted, to be continued by whoever asks for the image next.
CREATE TABLE partial_download (
    key TEXT PRIMARY KEY CHECK (key <> ''),
    storage_class INTEGER NOT NULL CHECK (storage_class IN (0, 1)),
    -- In the folder 'partial' of the class's staging folder. A name is never used again.
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    -- What the bytes came from.
    url TEXT NOT NULL,
    -- A strong tag, verbatim: only bytes with the same one belong together.
    etag TEXT NOT NULL,
    -- The bytes that had come when the row was written; there may be more.
    size_bytes INTEGER NOT NULL CHECK (size_bytes > 0),
    -- The length of the whole, if the origin said.
    total_bytes INTEGER CHECK (total_bytes > 0),
    updated_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX partial_download_by_age ON partial_download (updated_ms);
-- What changed, for whoever mirrors the pictures: one row for each change of an entry's content or of its owners.

-- The bytes that an entry had when it lost its file to an eviction or a purge: if they come again, nothing changed.
ALTER TABLE avatar ADD COLUMN absent_sha256 BLOB CHECK (length(absent_sha256) = 32);

-- The feed: one row.
CREATE TABLE change_feed (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The number of the last change. A change takes as many numbers as it has owners, at least one, and bears the last
    -- of them: so the distance of two numbers bounds the rows between them.
    sequence INTEGER NOT NULL CHECK (sequence >= 0),
    -- Changes up to this number are no longer told.
    floor INTEGER NOT NULL CHECK (floor BETWEEN 0 AND sequence)
) STRICT;
-- What an older index holds was never told: whoever begins at 0 there has to look at all of it.
INSERT INTO change_feed (id, sequence, floor) SELECT 1, found, found FROM (SELECT EXISTS (SELECT 1 FROM avatar) AS found);

CREATE TABLE content_change (
    sequence INTEGER PRIMARY KEY,
    key TEXT NOT NULL CHECK (key <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('added', 'changed', 'removed')),
    -- Of the new bytes; with 'removed', of the last ones.
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    time_ms INTEGER NOT NULL
) STRICT;

-- The contacts that a change concerns.
CREATE TABLE content_change_owner (
    sequence INTEGER NOT NULL REFERENCES content_change (sequence) ON DELETE CASCADE,
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (sequence, contact)
) STRICT, WITHOUT ROWID;
-- Which image is to take the place of a contact's others, and has not come yet.

-- 1: the contact's URL changed to that of this image, and until it is there the contact keeps what it had.
ALTER TABLE owner ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0 CHECK (replaces IN (0, 1));
CREATE INDEX owner_replacing ON owner (avatar_id) WHERE replaces;
-- Which files are on stable storage.

-- Files with an id up to this one were on stable storage when it was written. After a power loss the digests of later files
-- in caches are compared: the file system may have kept a file's length without its bytes.
ALTER TABLE store ADD COLUMN durable_file_id INTEGER NOT NULL DEFAULT 0 CHECK (durable_file_id >= 0);
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
-- Contacts with their names, so that a page of contacts needs no list.

CREATE TABLE contact (
    -- The host program's own, opaque id.
    contact TEXT PRIMARY KEY CHECK (contact <> ''),
    -- The display name; NULL if the list has none, or the store keeps no names.
    name TEXT CHECK (name <> ''),
    -- Pages are in this order, and a search finds its beginning: the name without case and accents, else the id in lower case.
    sort_name TEXT NOT NULL,
    -- 1: a list named the contact, so the row stays without an image. 0: the row exists as long as an image is linked.
    is_listed INTEGER NOT NULL CHECK (is_listed IN (0, 1))
) STRICT, WITHOUT ROWID;
-- In the order of the index, so that each page is written once. An older index does not say which contacts a list named.
INSERT INTO contact (contact, sort_name, is_listed)
SELECT DISTINCT contact, lower(contact), 0 FROM owner ORDER BY contact;
CREATE INDEX contact_by_name ON contact (sort_name, contact);

-- Each contact of the table owner has a row, also if a shell changes that table.
CREATE TRIGGER owner_contact_insert AFTER INSERT ON owner
WHEN NOT EXISTS (SELECT 1 FROM contact WHERE contact = NEW.contact) BEGIN
    INSERT INTO contact (contact, sort_name, is_listed) VALUES (NEW.contact, lower(NEW.contact), 0);
END;
CREATE TRIGGER owner_contact_delete AFTER DELETE ON owner BEGIN
    DELETE FROM contact WHERE contact = OLD.contact AND NOT is_listed
        AND NOT EXISTS (SELECT 1 FROM owner WHERE contact = OLD.contact);
END;
-- Digests of the e-mail addresses of contacts, by which a server finds a contact as Gravatar and Libravatar do. Syncs record
-- them while the setting keep-addresses is 1. The addresses themselves are not kept.

CREATE TABLE contact_address (
    -- The MD5 (16 bytes) or the SHA-256 (32 bytes) of the address in lower case, without white space at its ends.
    digest BLOB NOT NULL CHECK (length(digest) IN (16, 32)),
    -- Several contacts may share an address.
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (digest, contact)
) STRICT, WITHOUT ROWID;
CREATE INDEX contact_address_by_contact ON contact_address (contact);

-- The digests go with the contact, also if a shell changes that table.
CREATE TRIGGER contact_address_delete AFTER DELETE ON contact BEGIN
    DELETE FROM contact_address WHERE contact = OLD.contact;
END;
-- Smaller copies of pictures, and the pictures that cannot be decoded to make them.

-- A rendition. Its file is one of caches like any other: it counts against the budget and is evicted alone. Before the row of
-- an original is deleted, the program names the files of its renditions as pending.
CREATE TABLE rendition (
    -- The file that it was made from.
    original_id INTEGER NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    -- Format, size, fit and limit, such as "jpeg 96 square 48000".
    spec TEXT NOT NULL CHECK (spec <> ''),
    -- Several renditions, or a rendition and an entry, may have equal bytes.
    file_id INTEGER NOT NULL REFERENCES file (id) ON DELETE CASCADE,
    PRIMARY KEY (original_id, spec)
) STRICT, WITHOUT ROWID;
CREATE INDEX rendition_by_file ON rendition (file_id);

-- A file of which no rendition can be made.
CREATE TABLE undecodable (
    file_id INTEGER PRIMARY KEY REFERENCES file (id) ON DELETE CASCADE,
    -- The version of the decoder; a newer one tries again.
    decoder_version INTEGER NOT NULL,
    -- How often the decoder ended while it had the file. It is given up after a few times.
    deaths INTEGER NOT NULL CHECK (deaths >= 0),
    -- A sentence for people.
    reason TEXT NOT NULL
) STRICT;

-- The ThumbHash of the picture, a blurred stand-in. It is known once a rendition was made, and stays while the file is evicted.
ALTER TABLE avatar ADD COLUMN thumb_hash BLOB CHECK (length(thumb_hash) BETWEEN 5 AND 25);
-- Another picture has another one.
CREATE TRIGGER avatar_thumb_hash AFTER UPDATE OF file_id ON avatar
WHEN OLD.thumb_hash IS NOT NULL AND NEW.file_id IS NOT NULL AND NEW.file_id IS NOT OLD.file_id BEGIN
    UPDATE avatar SET thumb_hash = NULL WHERE id = NEW.id;
END;
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
-- Settings that are texts, such as the User-Agent of requests; a setting without a row has its default.
CREATE TABLE text_setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (value <> '')
) STRICT, WITHOUT ROWID;
-- The shared tier: an object store that the stores of several machines share.

-- Answers of origins that still have to be put into the tier, in their order. An entry that gets another answer meanwhile takes a
-- new place at the end. An answer is put only while its entry still has it.
CREATE TABLE tier_upload (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    avatar_id INTEGER NOT NULL UNIQUE REFERENCES avatar (id) ON DELETE CASCADE,
    -- The SHA-256 of the URL that was requested, and the time of its answer.
    url_sha256 BLOB NOT NULL CHECK (length(url_sha256) = 32),
    answered_ms INTEGER NOT NULL
) STRICT;

-- Erased images whose objects have to be deleted from the tier.
CREATE TABLE tier_erasure (
    -- Of the URL, because the URL itself is erased.
    url_sha256 BLOB PRIMARY KEY CHECK (length(url_sha256) = 32),
    -- Of the picture, if one was stored.
    sha256 BLOB CHECK (length(sha256) = 32),
    -- The name of this erasure in the tier: 16 hex digits. A later erasure of the same URL has another one.
    erasure TEXT NOT NULL CHECK (length(erasure) = 16),
    -- When the image was erased, and when its objects were first deleted. They are looked for once more some minutes later,
    -- because another machine may have been about to put one.
    erased_ms INTEGER NOT NULL,
    deleted_ms INTEGER
) STRICT, WITHOUT ROWID;

-- One row once the store has used a tier.
CREATE TABLE tier (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The name of this store among those that share the tier: 32 hex digits, drawn once.
    machine TEXT NOT NULL CHECK (length(machine) = 32),
    -- The day of its object in the tier, counted from 1970; NULL before the first one.
    registered_day INTEGER,
    -- Since the store first used a tier: images taken, images confirmed, answers put, answers dropped because too many waited.
    taken INTEGER NOT NULL DEFAULT 0,
    confirmed INTEGER NOT NULL DEFAULT 0,
    put INTEGER NOT NULL DEFAULT 0,
    dropped INTEGER NOT NULL DEFAULT 0,
    -- The last failure; NULL after a success.
    failure TEXT,
    failed_ms INTEGER
) STRICT;
-- Of the images that the last sync wanted, those for which the budget had no room. 0 for a sync of an earlier version, which did not
-- keep the count.
ALTER TABLE last_sync ADD COLUMN over_budget INTEGER NOT NULL DEFAULT 0 CHECK (over_budget >= 0);
-- The sentence about the last failure; NULL after a success, and after a failure that an earlier version recorded.

-- URLs in it have no user info, query or fragment.
ALTER TABLE avatar ADD COLUMN failure_message TEXT CHECK (failure_message <> '');

-- URLs in it are reduced to the host: a path would outlive the erasure of its image.
ALTER TABLE host ADD COLUMN failure_message TEXT CHECK (failure_message <> '');
-- The requests at once that the host bore in the last sync, and whether it answered over HTTP/2; NULL for one that gets as many
-- as any host at first.
ALTER TABLE host ADD COLUMN window INTEGER CHECK (window BETWEEN 1 AND 4096);
ALTER TABLE host ADD COLUMN is_multiplexed INTEGER NOT NULL DEFAULT 0 CHECK (is_multiplexed IN (0, 1));
CREATE INDEX host_by_window ON host (id) WHERE window IS NOT NULL;
-- The lists that name contacts, by their paths or the names that the operator gives them. A contact stays as long as one of them
-- names it, so that pruning by one list does not unlink the contacts of another.
CREATE TABLE source (
    -- named_by of the contacts that it names has the bit 1 << id.
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 0 AND 61),
    name TEXT NOT NULL UNIQUE CHECK (name <> '')
) STRICT;

-- 0: no list with a name named the contact.
ALTER TABLE contact ADD COLUMN named_by INTEGER NOT NULL DEFAULT 0 CHECK (named_by >= 0);
-- Address books: sources that tell what changed since the last sync. A list has no row in the tables below.

-- 0: a list, 1: CardDAV, 2: a folder of vCards.
ALTER TABLE source ADD COLUMN kind INTEGER NOT NULL DEFAULT 0 CHECK (kind BETWEEN 0 AND 2);
-- Milliseconds since 1970; NULL before the first sync.
ALTER TABLE source ADD COLUMN synced_at INTEGER;
-- The reason why the last sync could not read the source; NULL if it could.
ALTER TABLE source ADD COLUMN failure TEXT;
-- Where the books of the source were found; NULL unless they were looked for.
ALTER TABLE source ADD COLUMN home TEXT;
-- A digest of the user whose books they are; NULL if it is not known.
ALTER TABLE source ADD COLUMN account TEXT;
-- 1: all contacts that are gone from the source have been unlinked.
ALTER TABLE source ADD COLUMN is_settled INTEGER NOT NULL DEFAULT 1 CHECK (is_settled IN (0, 1));

-- The parts of contacts that its cards keep: 1 for names, 2 for digests of e-mail addresses.
ALTER TABLE source ADD COLUMN keeps INTEGER NOT NULL DEFAULT 0 CHECK (keeps BETWEEN 0 AND 3);

CREATE TABLE source_book (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES source (id) ON DELETE CASCADE,
    -- The path of the book at the source.
    path TEXT NOT NULL,
    -- The state that the cards below are in (RFC 6578); NULL if they have to be compared.
    token TEXT,
    UNIQUE (source, path)
) STRICT;

CREATE TABLE source_card (
    book INTEGER NOT NULL REFERENCES source_book (id) ON DELETE CASCADE,
    path TEXT NOT NULL,
    -- The ETag, or length and time of a file; NULL if the card has to be read again.
    validator TEXT,
    -- 1: the photos of the card are not in the store yet, so it has to be read again.
    is_pending INTEGER NOT NULL DEFAULT 0 CHECK (is_pending IN (0, 1)),
    -- The contacts of the card, without the bytes of their photos. Empty if it has never been readable.
    records BLOB NOT NULL,
    -- The reason why the card as it is now cannot be read, and the contacts are those of an earlier one; NULL if it can.
    fault TEXT,
    PRIMARY KEY (book, path)
) STRICT, WITHOUT ROWID;

-- Cards of erased contacts, which are not read again until they change.
CREATE TABLE source_erased (
    book INTEGER NOT NULL REFERENCES source_book (id) ON DELETE CASCADE,
    -- The SHA-256 of the path, which often has the id of the contact.
    path_sha256 BLOB NOT NULL,
    validator TEXT,
    PRIMARY KEY (book, path_sha256)
) STRICT, WITHOUT ROWID;
-- Whether images hold metadata, such as EXIF, XMP, IPTC, comments, thumbnails and bytes behind their end.

-- NULL: the file was stored by an earlier version, and no program has looked at it since.
ALTER TABLE file ADD COLUMN has_metadata INTEGER CHECK (has_metadata IN (0, 1));
-- Words of names, so that a search finds contacts by any of them.

CREATE TABLE contact_word (
    -- The sort name in another order: it begins with one of its words, and those before that one follow at the end. A space is
    -- between two words. At most 64 characters. The word that the sort name begins with has no row: contact_by_name finds it.
    words TEXT NOT NULL CHECK (words <> ''),
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (words, contact)
) STRICT, WITHOUT ROWID;

-- The rows for the names that the index has. The program makes them as Sources/AvatarCore/Model/NameWords.swift does.
INSERT OR IGNORE INTO contact_word (words, contact)
WITH RECURSIVE
    -- Most names have no other separators than spaces.
    plain (contact, sort_name, words) AS (
        SELECT contact, sort_name, sort_name FROM contact WHERE name IS NOT NULL AND sort_name NOT GLOB '*[^a-z0-9 ]*'
    ),
    other (contact, sort_name, words) AS (
        SELECT contact, sort_name, sort_name FROM contact WHERE name IS NOT NULL AND sort_name GLOB '*[^a-z0-9 ]*'
    ),
    -- Each separator of ASCII becomes a space, so that no < and > is left. SQLite reads no more calls within each other.
    spaced_1 (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name,
            replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(replace(replace(replace(replace(replace(
            words
            , char(9), ' '), char(10), ' '), char(11), ' '), char(12), ' '), char(13), ' '), char(33), ' ')
            , char(34), ' '), char(35), ' '), char(36), ' '), char(37), ' '), char(38), ' '), char(39), ' ')
            , char(40), ' '), char(41), ' '), char(42), ' '), char(43), ' '), char(44), ' '), char(45), ' ')
            , char(46), ' ')
        FROM other
    ),
    spaced_2 (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name,
            replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(replace(replace(replace(replace(
            words
            , char(47), ' '), char(58), ' '), char(59), ' '), char(60), ' '), char(61), ' '), char(62), ' ')
            , char(63), ' '), char(64), ' '), char(91), ' '), char(92), ' '), char(93), ' '), char(94), ' ')
            , char(95), ' '), char(96), ' '), char(123), ' '), char(124), ' '), char(125), ' '), char(126), ' ')
        FROM spaced_1
    ),
    -- So does each other one. Few names have one.
    further_1 (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name,
            CASE WHEN length(words) = length(CAST(words AS BLOB)) THEN words ELSE
            replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(replace(replace(replace(replace(replace(
            words
            , char(160), ' '), char(161), ' '), char(171), ' '), char(183), ' '), char(187), ' ')
            , char(191), ' '), char(8192), ' '), char(8193), ' '), char(8194), ' '), char(8195), ' ')
            , char(8196), ' '), char(8197), ' '), char(8198), ' '), char(8199), ' '), char(8200), ' ')
            , char(8201), ' '), char(8202), ' '), char(8203), ' '), char(8208), ' ')
            END
        FROM spaced_2
    ),
    further_2 (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name,
            CASE WHEN length(words) = length(CAST(words AS BLOB)) THEN words ELSE
            replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
            replace(replace(replace(replace(replace(replace(
            words
            , char(8209), ' '), char(8210), ' '), char(8211), ' '), char(8212), ' '), char(8213), ' ')
            , char(8216), ' '), char(8217), ' '), char(8218), ' '), char(8220), ' '), char(8221), ' ')
            , char(8222), ' '), char(8226), ' '), char(8230), ' '), char(8232), ' '), char(8233), ' ')
            , char(8239), ' '), char(8249), ' '), char(8250), ' '), char(12288), ' ')
            END
        FROM further_1
    ),
    further_3 (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name,
            CASE WHEN length(words) = length(CAST(words AS BLOB)) THEN words ELSE
            replace(replace(replace(replace(replace(
            words
            , char(12289), ' '), char(12290), ' '), char(12300), ' '), char(12301), ' '), char(12539), ' ')
            END
        FROM further_2
    ),
    -- One space is between two words. < and > stand for it meanwhile, so that any number of spaces becomes one.
    listed (contact, sort_name, words) AS MATERIALIZED (
        SELECT contact, sort_name, trim(replace(replace(replace(words, ' ', '<>'), '><', ''), '<>', ' '))
        FROM (SELECT * FROM plain UNION ALL SELECT * FROM further_3) WHERE trim(words) <> ''
    ),
    -- The place of each word; 0 behind the last one.
    word (contact, sort_name, words, place) AS (
        SELECT contact, sort_name, words, 1 FROM listed
        UNION ALL
        SELECT contact, sort_name, words,
            CASE instr(substr(words, place), ' ') WHEN 0 THEN 0 ELSE place + instr(substr(words, place), ' ') END
        FROM word WHERE place > 0
    ),
    turned (contact, sort_name, words) AS (
        SELECT contact, sort_name,
            substr(
                CASE place WHEN 1 THEN words ELSE substr(words, place) || ' ' || substr(words, 1, place - 2) END,
                1, 64
            )
        FROM word
        WHERE place > 1 OR place = 1 AND substr(words, 1, 1) <> substr(sort_name, 1, 1)
    )
-- In the order of the table, so that each page is written once.
SELECT words, contact FROM turned WHERE words <> sort_name ORDER BY words, contact;
-- The writer lowers the due time of a host itself when it adds an entry. With a trigger, SQLite keeps a journal of its own for each
-- insertion, so that it could undo the insertion alone.
DROP TRIGGER avatar_due_insert;
-- A new image costs fewer writes. The bytes of pending files are added up when they are asked for, because few rows name such
-- files; the id of a batch is a random number, so that no row counts the ids; and SQLite makes a table for each list of more than
-- two values in a check, so the kind of a change is compared with each of its values.
--
-- An index may come from elsewhere: a row that another program left behind without the row that it refers to, or with a value
-- that no check allows, is not copied, and does not stop the upgrade.

-- Bytes and published files of each class, written once for each transaction: the budget must not cost a walk.
CREATE TABLE new_total (
    storage_class INTEGER PRIMARY KEY CHECK (storage_class IN (0, 1)),
    files INTEGER NOT NULL CHECK (files >= 0),
    bytes INTEGER NOT NULL CHECK (bytes >= 0)
) STRICT;
INSERT OR IGNORE INTO new_total SELECT storage_class, files, bytes FROM total;
DROP TABLE total;
ALTER TABLE new_total RENAME TO total;

-- Files on their way in or out together. A file has a name here, in pending_file or in file, and never in two of them.
CREATE TABLE new_pending_batch (
    -- Random: a process that knows a dropped row by its id does not drop a later one.
    id INTEGER PRIMARY KEY,
    -- The process that will finish them; whoever finds it dead does so in its place.
    holder TEXT NOT NULL CHECK (holder <> ''),
    -- JSON: an array for each file, of its class, its path relative to the root, and its size in bytes.
    files TEXT NOT NULL CHECK (json_valid(files)),
    -- The sums of these sizes, so that the budget does not cost a walk over the files.
    caches_bytes INTEGER NOT NULL DEFAULT 0 CHECK (caches_bytes >= 0),
    documents_bytes INTEGER NOT NULL DEFAULT 0 CHECK (documents_bytes >= 0)
) STRICT;
INSERT INTO new_pending_batch
SELECT
    id, holder, files,
    (SELECT coalesce(sum(size_bytes), 0) FROM pending WHERE batch_id = pending_batch.id AND storage_class = 0
        AND size_bytes BETWEEN 0 AND 1 << 40),
    (SELECT coalesce(sum(size_bytes), 0) FROM pending WHERE batch_id = pending_batch.id AND storage_class = 1
        AND size_bytes BETWEEN 0 AND 1 << 40)
FROM pending_batch WHERE holder <> '' AND json_valid(files);
DROP VIEW pending;
DROP TABLE pending_batch;
ALTER TABLE new_pending_batch RENAME TO pending_batch;
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

-- Changes of images, as the feed tells them.
CREATE TABLE new_content_change (
    sequence INTEGER PRIMARY KEY,
    key TEXT NOT NULL CHECK (key <> ''),
    kind TEXT NOT NULL CHECK (kind = 'added' OR kind = 'changed' OR kind = 'removed'),
    -- Of the new bytes; with 'removed', of the last ones.
    sha256 BLOB NOT NULL CHECK (length(sha256) = 32),
    time_ms INTEGER NOT NULL
) STRICT;
INSERT OR IGNORE INTO new_content_change SELECT sequence, key, kind, sha256, time_ms FROM content_change;
-- The contacts that a change concerns. The renaming below renames the table that it refers to.
CREATE TABLE new_content_change_owner (
    sequence INTEGER NOT NULL REFERENCES new_content_change (sequence) ON DELETE CASCADE,
    contact TEXT NOT NULL CHECK (contact <> ''),
    PRIMARY KEY (sequence, contact)
) STRICT, WITHOUT ROWID;
INSERT OR IGNORE INTO new_content_change_owner
SELECT sequence, contact FROM content_change_owner WHERE sequence IN (SELECT sequence FROM new_content_change);
DROP TABLE content_change_owner;
DROP TABLE content_change;
ALTER TABLE new_content_change RENAME TO content_change;
ALTER TABLE new_content_change_owner RENAME TO content_change_owner;

-- A row of every kind, as the newest schema has them. Frozen into a golden file when a migration lands.

INSERT INTO store (id, store_id, sync_holder) VALUES (1, '0123456789abcdef0123456789abcdef', '00112233aabbccdd');

INSERT INTO setting (name, value) VALUES ('budget', 500000), ('low-watermark', 450000), ('keep-unowned', 0);

INSERT INTO host (id, name, blocked_until_ms) VALUES
    (1, 'img.example.com:443', 0),
    (2, 'slow.example.org:8080', 1767225600000),
    (3, 'xn--bcher-kva.example:443', 0);

INSERT INTO file (id, storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us) VALUES
    (1, 0, CAST('0123456789abcdef0123456789abcd01' AS BLOB), '30/313233-00000000000000a1.png', 1000, 'image/png', 96, 96, 1767225600000001),
    (2, 0, CAST('0123456789abcdef0123456789abcd02' AS BLOB), '30/313233-00000000000000a2.jpg', 2000, 'image/jpeg', 40, 30, 1767225601000000),
    (3, 0, CAST('0123456789abcdef0123456789abcd03' AS BLOB), '30/313233-00000000000000a3.svg', 300, 'image/svg+xml', 0, 0, 1767225602999999),
    (4, 1, CAST('0123456789abcdef0123456789abcd01' AS BLOB), '30/313233-00000000000000a4.png', 1000, 'image/png', 96, 96, 1767225603000000),
    (5, 1, CAST('0123456789abcdef0123456789abcd05' AS BLOB), '30/313233-00000000000000a5.webp', 50, 'image/webp', 1, 1, 0),
    (6, 0, CAST('0123456789abcdef0123456789abcd06' AS BLOB), '30/313233-00000000000000a6.jpg', 400, 'image/jpeg', 32, 32, 1767225604000000);

-- A rendition of a picture, and a picture that cannot be decoded.
UPDATE file SET has_metadata = CASE id WHEN 1 THEN 0 WHEN 2 THEN 1 END;
INSERT INTO rendition (original_id, spec, file_id) VALUES (1, 'jpeg 32 square', 6);
INSERT INTO undecodable (file_id, decoder_version, deaths, reason) VALUES (3, 1, 0, 'SVG is not decoded.');

-- A file that was used after it was published.
UPDATE access SET last_access_us = 1767225703000000 WHERE file_id = 4;

-- The two files that are evicted next are in the queue.
INSERT INTO eviction_queue_end (id, queued_before_us) VALUES (1, 1767225601000001);
INSERT INTO eviction_queue (last_access_us, file_id, size_bytes) VALUES
    (1767225600000001, 1, 1000), (1767225601000000, 2, 2000);

INSERT INTO pending_file (storage_class, path, size_bytes, holder) VALUES
    (0, '41/424344-00000000000000b1.png', 700, '00112233aabbccdd'),
    (0, '41/424344-00000000000000b2.gif', 70, 'ddccbbaa33221100'),
    (1, '41/424344-00000000000000b3.png', 7, 'ddccbbaa33221100');

INSERT INTO pending_batch (holder, files, caches_bytes, documents_bytes) VALUES
    ('ddccbbaa33221100', '[[0,"41/424344-00000000000000b4.png",40],[1,"41/424344-00000000000000b5.webp",5]]', 40, 5);

-- The program writes the totals at the end of each transaction.
UPDATE total SET (files, bytes) = (
    SELECT count(*), sum(size_bytes) FROM file WHERE file.storage_class = total.storage_class);

INSERT INTO avatar
    (id, key, source_url, host_id, storage_class, file_id, absence, etag, last_modified, response_fields, response_ms,
        response_delay_ms, fetched_ms, checked_ms, fresh_until_ms, next_check_ms, failure, failure_count)
VALUES
    -- fresh until the year 9999, and a second entry that shares its file
    (1, 'https://img.example.com/anna.png', NULL, 1, 0, 1, NULL, '"a1"', 'Thu, 01 Jan 2026 00:00:00 GMT',
        'cache-control: max-age=60' || char(10) || 'date: Thu, 01 Jan 2026 00:00:00 GMT', 1767225600000, 12,
        1767225600000, 1767225600000, 253402300799000, 253402300799000, NULL, 0),
    (2, 'https://img.example.com/logo.png?size=96', NULL, 1, 0, 1, NULL, 'W/"a2"', NULL, NULL, NULL, NULL,
        1767225600000, 1767225600000, 253402300799000, 253402300799000, NULL, 0),
    -- stale; under a caller's own key
    (3, 'crm/42 "Zoë" 🦊', 'https://img.example.com/zoe.jpg?signature=1', 1, 0, 2, NULL, NULL, NULL, NULL, NULL, NULL,
        1767225601000, 1767225601000, 1767225602000, 1767225602000, NULL, 0),
    -- failing, with and without a file
    (4, 'http://slow.example.org:8080/ben.svg', NULL, 2, 0, 3, NULL, '"b"', NULL, NULL, NULL, NULL,
        1767225602000, 1767225702000, 1767225602000, 1767229302000, 'serverError', 3),
    (5, 'http://slow.example.org:8080/never.png', NULL, 2, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
        NULL, 1767225702000, NULL, 1767229302000, 'notImage', 1),
    -- gone at the origin, the last good image kept as a document
    (6, 'https://xn--bcher-kva.example/shop.png', NULL, 3, 1, 4, NULL, '"c"', NULL, NULL, NULL, NULL,
        1767225603000, 1767225703000, 1767225604000, 1767312003000, 'gone', 2),
    -- evicted, and missing
    (7, 'https://img.example.com/evicted.png', NULL, 1, 0, NULL, 'evicted', NULL, NULL, NULL, NULL, NULL,
        1767225600000, 1767225600000, 1767225600000, 1767225600000, NULL, 0),
    (8, 'https://img.example.com/missing.png', NULL, 1, 0, NULL, 'missing', NULL, NULL, NULL, NULL, NULL,
        1767225600000, 1767225600000, 253402300799000, 1767225600000, NULL, 0),
    -- ignored
    (11, 'https://img.example.com/silhouette.png', NULL, 1, 0, NULL, 'ignored', '"s"', NULL, NULL, NULL, NULL,
        1767225600000, 1767225600000, 253402300799000, 1767225600000, NULL, 0),
    -- own images
    (9, 'name:logo', NULL, NULL, 1, 5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0),
    (10, 'contact:dora#2', NULL, NULL, 0, 2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);

INSERT INTO owner (contact, avatar_id) VALUES
    ('anna', 1), ('anna', 9), ('ben', 4), ('ben', 2), ('zoë''s "id"', 3), ('dora', 10), ('dora', 2);

-- The store was not closed before the machine lost its power.
UPDATE store SET boot_id = '0b7c3a52-4d11-4f0e-9c55-9a1f6d2e8b34';
-- Of the files, the first three were on stable storage.
UPDATE store SET durable_file_id = 3;

-- A host that keeps failing, an image of which the smaller one is stored, and a download that broke off.
UPDATE host SET failure_count = 6, failure = 'timeout', rests_until_ms = 1767225900000 WHERE id = 2;
UPDATE avatar SET low_data_url = 'https://img.example.com/anna-small.png', is_low_data = 1 WHERE id = 1;
INSERT INTO partial_download (key, storage_class, name, url, etag, size_bytes, total_bytes, updated_ms) VALUES
    ('https://img.example.com/large.png', 0, '00000000000000c1', 'https://img.example.com/large.png', '"l"', 65536, 200000,
        1767225600000);
UPDATE store SET clock_ms = 1767225703000;

-- What the last failures were.
UPDATE host SET failure_message = 'other.example.net:443 took longer than 30.0 seconds, the limit for one image.' WHERE id = 2;
UPDATE avatar SET failure_message = coalesce(source_url, key) || ' returned status 404.' WHERE failure = 'gone';

-- The program lowers the due time of a host when it adds an entry.
UPDATE host SET next_check_ms = min(next_check_ms, coalesce(
    (SELECT min(next_check_ms) FROM avatar WHERE host_id = host.id), next_check_ms));

-- A host that bears more requests at once than at first.
UPDATE host SET window = 80, is_multiplexed = 1 WHERE id = 1;

-- An evicted image whose bytes are remembered, and the last changes; earlier ones are no longer told.
UPDATE avatar SET absent_sha256 = CAST('0123456789abcdef0123456789abcd07' AS BLOB) WHERE id = 7;
UPDATE change_feed SET sequence = 9, floor = 4;
INSERT INTO content_change (sequence, key, kind, sha256, time_ms) VALUES
    (5, 'https://img.example.com/anna.png', 'added', CAST('0123456789abcdef0123456789abcd01' AS BLOB), 1767225600000),
    (7, 'https://img.example.com/logo.png?size=96', 'changed', CAST('0123456789abcdef0123456789abcd01' AS BLOB),
        1767225601000),
    (8, 'https://img.example.com/gone.png', 'removed', CAST('0123456789abcdef0123456789abcd08' AS BLOB), 1767225602000);
INSERT INTO content_change_owner (sequence, contact) VALUES (5, 'anna'), (7, 'ben'), (7, 'dora'), (8, 'zoë''s "id"');

-- A contact whose URL changed to one that never gave an image: until it does, the old one stays.
INSERT INTO owner (contact, avatar_id, replaces) VALUES ('anna', 5, 1);

-- The last sync met a host that is paused, and the budget had no room for three images.
INSERT INTO last_sync (id, ended_ms, duration_ms, outcome, wanted, failed, skipped, over_budget)
VALUES (1, 1767225703000, 1250, 'incomplete', 9, 2, 1, 3);

-- A contact with a name and images, one with a name and none, and one of a list without names.
INSERT INTO contact (contact, name, sort_name, is_listed) VALUES
    ('emil', 'Émile Durkheim', 'emile durkheim', 1), ('list-7', NULL, 'list-7', 1);
UPDATE contact SET name = 'Zoë "Z" O''Brien', sort_name = 'zoe "z" o''brien', is_listed = 1 WHERE contact = 'zoë''s "id"';

-- The words of these names after the first one.
INSERT INTO contact_word (words, contact) VALUES
    ('durkheim emile', 'emil'), ('z o brien zoe', 'zoë''s "id"'), ('o brien zoe z', 'zoë''s "id"'),
    ('brien zoe z o', 'zoë''s "id"');

-- Two lists, of which one names a contact and both name another one.
INSERT INTO source (id, name) VALUES (0, '/srv/team "1".json'), (3, 'team 2');
UPDATE contact SET named_by = 1 WHERE contact = 'list-7';
UPDATE contact SET named_by = 9 WHERE contact = 'emil';

-- An address book with two books: a card that is known, one to be read again, and one that cannot be read.
INSERT INTO source (id, name, kind, synced_at, failure, home, account, is_settled, keeps)
VALUES (4, 'https://dav.example.org/', 1, 1767225704000, 'The server refuses the user.', '/dav/ada/', '0123abcd', 0, 1);
INSERT INTO source_book (id, source, path, token) VALUES (1, 4, '/dav/ada/people/', 'http://sabre.io/ns/sync/7'),
    (2, 4, '/dav/ada/work/', NULL);
INSERT INTO source_card (book, path, validator, is_pending, records, fault) VALUES
    (1, '/dav/ada/people/a.vcf', '"1"', 1, CAST(x'010000000000000000010000000000000061'
        || x'00000000000000000000000000000000000000' AS BLOB), NULL),
    (1, '/dav/ada/people/b.vcf', NULL, 0, x'', NULL), (2, '/dav/ada/work/c.vcf', '"3"', 0, x'', 'it is cut short');
INSERT INTO source_erased (book, path_sha256, validator) VALUES
    (1, CAST('0123456789abcdef0123456789abcd21' AS BLOB), '"7"');

-- Two contacts share an address, and one has another besides; each is there as MD5 and as SHA-256.
INSERT INTO contact_address (digest, contact) VALUES
    (CAST('0123456789abcde1' AS BLOB), 'emil'), (CAST('0123456789abcdef0123456789abcde1' AS BLOB), 'emil'),
    (CAST('0123456789abcde1' AS BLOB), 'zoë''s "id"'), (CAST('0123456789abcdef0123456789abcde1' AS BLOB), 'zoë''s "id"'),
    (CAST('0123456789abcde2' AS BLOB), 'emil'), (CAST('0123456789abcdef0123456789abcde2' AS BLOB), 'emil');
INSERT INTO setting (name, value) VALUES ('keep-addresses', 1);
INSERT INTO text_setting (name, value) VALUES ('user-agent', 'contacts/1.0 (ops@example.org)');

-- A picture with a stand-in.
UPDATE avatar SET thumb_hash = x'1C08066A0689758F80877778788877' WHERE id = 1;

-- A picture that is ignored, and one that no entry has; the second one is to be looked for yet.
UPDATE avatar SET absent_sha256 = CAST('0123456789abcdef0123456789abcd0b' AS BLOB) WHERE id = 11;
INSERT INTO ignored_picture (sha256, since_ms, is_complete) VALUES
    (CAST('0123456789abcdef0123456789abcd0b' AS BLOB), 1767225600000, 1),
    (CAST('0123456789abcdef0123456789abcd0c' AS BLOB), 1767225601000, 0);
INSERT INTO owner (contact, avatar_id) VALUES ('ben', 11);

-- A store that shares a tier: one answer still to be put there, and one erasure.
INSERT INTO tier (id, machine, taken, confirmed, put, dropped, failure, failed_ms)
VALUES (1, '0123456789abcdef0123456789abcdef', 7, 3, 5, 1, 'The bucket is away.', 1767225704000);
INSERT INTO tier_upload (avatar_id, url_sha256, answered_ms)
VALUES (1, CAST('0123456789abcdef0123456789abcd0d' AS BLOB), 1767225600000);
INSERT INTO tier_erasure (url_sha256, sha256, erasure, erased_ms)
VALUES (CAST('0123456789abcdef0123456789abcd0e' AS BLOB), NULL, '0123456789abcdef', 1767225600000);

PRAGMA application_id = 0x41564154;
PRAGMA user_version = 25;
COMMIT;
