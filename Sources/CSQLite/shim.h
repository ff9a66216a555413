// The system's SQLite, and the calls of it that Swift cannot import.
#ifndef AVATAR_CSQLITE_H
#define AVATAR_CSQLITE_H

#include <sqlite3.h>

// Makes SQLite refuse a text in double quotes that is not the name of a column, instead of taking it for a string.
// `sqlite3_db_config` has a variable number of arguments.
static inline void avatar_sqlite_refuse_double_quoted_strings(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DDL, 0, (void *)0);
    sqlite3_db_config(connection, SQLITE_DBCONFIG_DQS_DML, 0, (void *)0);
}

#endif
