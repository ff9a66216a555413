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
