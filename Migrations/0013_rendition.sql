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
