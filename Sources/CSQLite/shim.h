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

// Makes SQLite leave the write-ahead log as it is when the connection is closed, even the last one.
static inline void avatar_sqlite_keep_log_on_close(sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (void *)0);
}

// Makes SQLite count no memory, which takes a lock per allocation. Must precede the first connection of the process.
static inline void avatar_sqlite_count_no_memory(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

#endif
