// The steps of the schema: the numbered SQL files of the folder `Migrations`.
#ifndef C_AVATAR_MIGRATIONS_H
#define C_AVATAR_MIGRATIONS_H

#include <stddef.h>

struct avatar_migration {
    /// The file's name without its ending.
    const char *name;
    /// The file's text, in UTF-8.
    const char *sql;
};

/// The step `index`, from 0 for the one that leads to version 1; NULL behind the last. None is left out.
const struct avatar_migration *avatar_migration(size_t index);

#endif
