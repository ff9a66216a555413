-- Settings that are texts, such as the User-Agent of requests; a setting without a row has its default.
CREATE TABLE text_setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL CHECK (value <> '')
) STRICT, WITHOUT ROWID;
