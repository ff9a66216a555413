#include "CAvatarMigrations.h"

// `#embed` (C23) takes a file as it is. As a resource of Swift, each byte would be an expression for the compiler: 4 seconds of a build.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const struct avatar_migration migrations[] = {
    {"0001_index", (const char[]){
#embed "../../Migrations/0001_index.sql" suffix(, 0)
    }},
    {"0002_boot", (const char[]){
#embed "../../Migrations/0002_boot.sql" suffix(, 0)
    }},
    {"0003_sync", (const char[]){
#embed "../../Migrations/0003_sync.sql" suffix(, 0)
    }},
    {"0004_changes", (const char[]){
#embed "../../Migrations/0004_changes.sql" suffix(, 0)
    }},
    {"0005_replacing", (const char[]){
#embed "../../Migrations/0005_replacing.sql" suffix(, 0)
    }},
    {"0006_durable_files", (const char[]){
#embed "../../Migrations/0006_durable_files.sql" suffix(, 0)
    }},
    {"0007_last_sync", (const char[]){
#embed "../../Migrations/0007_last_sync.sql" suffix(, 0)
    }},
    {"0008_pending_batch", (const char[]){
#embed "../../Migrations/0008_pending_batch.sql" suffix(, 0)
    }},
    {"0009_access", (const char[]){
#embed "../../Migrations/0009_access.sql" suffix(, 0)
    }},
    {"0010_eviction_queue", (const char[]){
#embed "../../Migrations/0010_eviction_queue.sql" suffix(, 0)
    }},
    {"0011_contact", (const char[]){
#embed "../../Migrations/0011_contact.sql" suffix(, 0)
    }},
    {"0012_contact_address", (const char[]){
#embed "../../Migrations/0012_contact_address.sql" suffix(, 0)
    }},
    {"0013_rendition", (const char[]){
#embed "../../Migrations/0013_rendition.sql" suffix(, 0)
    }},
    {"0014_ignored_picture", (const char[]){
#embed "../../Migrations/0014_ignored_picture.sql" suffix(, 0)
    }},
    {"0015_text_setting", (const char[]){
#embed "../../Migrations/0015_text_setting.sql" suffix(, 0)
    }},
    {"0016_shared_tier", (const char[]){
#embed "../../Migrations/0016_shared_tier.sql" suffix(, 0)
    }},
    {"0017_over_budget", (const char[]){
#embed "../../Migrations/0017_over_budget.sql" suffix(, 0)
    }},
    {"0018_failure_message", (const char[]){
#embed "../../Migrations/0018_failure_message.sql" suffix(, 0)
    }},
    {"0019_host_window", (const char[]){
#embed "../../Migrations/0019_host_window.sql" suffix(, 0)
    }},
    {"0020_source", (const char[]){
#embed "../../Migrations/0020_source.sql" suffix(, 0)
    }},
    {"0021_address_book", (const char[]){
#embed "../../Migrations/0021_address_book.sql" suffix(, 0)
    }},
    {"0022_metadata", (const char[]){
#embed "../../Migrations/0022_metadata.sql" suffix(, 0)
    }},
    {"0023_contact_word", (const char[]){
#embed "../../Migrations/0023_contact_word.sql" suffix(, 0)
    }},
    {"0024_due_time_of_host", (const char[]){
#embed "../../Migrations/0024_due_time_of_host.sql" suffix(, 0)
    }},
    {"0025_fewer_writes", (const char[]){
#embed "../../Migrations/0025_fewer_writes.sql" suffix(, 0)
    }},
};

const struct avatar_migration *avatar_migration(size_t index) {
    return index < sizeof migrations / sizeof *migrations ? &migrations[index] : NULL;
}
