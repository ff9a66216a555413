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
