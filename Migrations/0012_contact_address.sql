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
