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
