#include <sqlite3.h>

// Runs before `main`, and so before the first connection of a test.
//
// SQLite counts its memory under one lock for the whole process. The tests of a machine with two processors use hundreds of connections at
// once, and spent a fifth of their time in waiting for it. The program and the workers of the tests are processes of their own.
__attribute__((constructor)) static void start(void) {
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}
