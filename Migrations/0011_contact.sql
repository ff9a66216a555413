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
