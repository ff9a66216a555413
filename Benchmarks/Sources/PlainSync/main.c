// The floor of a sync: the same work as `avatars sync` of a list of new images, with plain calls and nothing else.
//
//     PlainSync URLS STORE [CA-FILE]
//
// One thread runs libcurl with 64 connections and computes the SHA-256 of each image. A second thread commits batches of 256
// to the index, in the two transactions that a kill between them needs: the names of the files, then, once the files are
// written, their rows. The tables are those of the store, and the statements and rows are nearly so: some values are constants.
// Over HTTP/2 there is one connection.
//
// It checks no image, judges no address, follows no redirect, keeps no budget, and knows no other process: an error ends it.
// STORE must be a new store, made by `avatars migrate`.
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS = 64, BATCH = 256, MOST_WAITING = 4 * BATCH };

/// The response fields that the index keeps.
enum field { ETAG, LAST_MODIFIED, DATE, CACHE_CONTROL, FIELDS };
static const char *const field_names[FIELDS] = {"etag:", "last-modified:", "date:", "cache-control:"};

/// A new image, from its request to its rows.
struct image {
    char *url;
    unsigned char *bytes;
    size_t size;
    char fields[FIELDS][64];
    unsigned char digest[SHA256_DIGEST_LENGTH];
    char path[32];
    int number;
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "PlainSync: %s: %s\n", what, why);
    exit(1);
}

// MARK: From the network to the index

/// The images that have arrived, in their order; those before `committed` are in the index.
static struct {
    struct image **images;
    int arrived, committed;
    int is_complete;
    pthread_mutex_t lock;
    pthread_cond_t has_more, has_room;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_more = PTHREAD_COND_INITIALIZER, .has_room = PTHREAD_COND_INITIALIZER};

static void put(struct image *image) {
    pthread_mutex_lock(&queue.lock);
    queue.images[queue.arrived++] = image;
    if (queue.arrived - queue.committed >= BATCH) pthread_cond_signal(&queue.has_more);
    pthread_mutex_unlock(&queue.lock);
}

/// Waits for a full batch, or for the last one. The number of its images; 0 at the end.
static int next_batch(void) {
    pthread_mutex_lock(&queue.lock);
    while (queue.arrived - queue.committed < BATCH && !queue.is_complete) pthread_cond_wait(&queue.has_more, &queue.lock);
    int count = queue.arrived - queue.committed;
    pthread_mutex_unlock(&queue.lock);
    return count < BATCH ? count : BATCH;
}

static void finish_batch(int count) {
    pthread_mutex_lock(&queue.lock);
    queue.committed += count;
    pthread_cond_signal(&queue.has_room);
    pthread_mutex_unlock(&queue.lock);
}

// MARK: The index and the files

static sqlite3 *database;
static int root;

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) {
        fail(sql, sqlite3_errmsg(database));
    }
    return statement;
}

/// Binds `values` by the letters of `types` and runs the statement: `i` an int64, `t` a text, `d` a digest.
static sqlite3_int64 run(sqlite3_stmt *statement, const char *types, ...) {
    va_list values;
    va_start(values, types);
    for (int place = 1; types[place - 1]; place++) {
        switch (types[place - 1]) {
        case 'i': sqlite3_bind_int64(statement, place, va_arg(values, sqlite3_int64)); break;
        case 't': sqlite3_bind_text(statement, place, va_arg(values, const char *), -1, SQLITE_STATIC); break;
        default:
            sqlite3_bind_blob(statement, place, va_arg(values, const void *), SHA256_DIGEST_LENGTH, SQLITE_STATIC);
        }
    }
    va_end(values);
    int code = sqlite3_step(statement);
    if (code != SQLITE_DONE && code != SQLITE_ROW) fail(sqlite3_sql(statement), sqlite3_errmsg(database));
    sqlite3_reset(statement);
    return sqlite3_last_insert_rowid(database);
}

static void name_file(struct image *image) {
    const unsigned char *digest = image->digest;
    snprintf(
        image->path, sizeof image->path, "%02x/%02x%02x%02x-%08lx%08x.png", digest[0], digest[1], digest[2], digest[3],
        random() & 0xFFFFFFFF, (unsigned)image->number);
}

static void write_file(const struct image *image) {
    int file = openat(root, image->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (file < 0 && errno == ENOENT) {
        char folder[3] = {image->path[0], image->path[1], 0};
        mkdirat(root, folder, 0700);
        file = openat(root, image->path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    }
    if (file < 0 || write(file, image->bytes, image->size) != (ssize_t)image->size) fail(image->path, strerror(errno));
    close(file);
}

static sqlite3_int64 milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void *commit_batches(void *unused) {
    (void)unused;
    sqlite3_stmt *begin = prepare("BEGIN IMMEDIATE"), *commit = prepare("COMMIT");
    sqlite3_stmt *known_image = prepare("SELECT id, file_id FROM avatar WHERE key = ?");
    sqlite3_stmt *known_file = prepare("SELECT id FROM file WHERE storage_class = 0 AND sha256 = ?");
    sqlite3_stmt *add_pending =
        prepare("INSERT INTO pending_batch (id, holder, files, caches_bytes) "
                "VALUES (random() & 0x3FFFFFFFFFFFFFFF, 'plain', ?, ?)");
    sqlite3_stmt *drop_pending = prepare("DELETE FROM pending_batch WHERE id = ?");
    sqlite3_stmt *add_to_totals = prepare("UPDATE total SET files = files + ?, bytes = bytes + ? WHERE storage_class = 0");
    sqlite3_stmt *add_host = prepare("INSERT INTO host (id, name) VALUES (1, 'plain')");
    sqlite3_stmt *add_file = prepare(
        "INSERT INTO file (storage_class, sha256, path, size_bytes, media_type, width, height, last_access_us) "
        "VALUES (0, ?, ?, ?, 'image/png', 64, 64, ?)");
    sqlite3_stmt *add_image = prepare(
        "INSERT INTO avatar (key, storage_class, file_id, host_id, is_low_data, etag, last_modified, response_fields, "
        "response_ms, response_delay_ms, fetched_ms, checked_ms, fresh_until_ms, next_check_ms, failure_count) "
        "VALUES (?1, 0, ?2, 1, 0, ?3, ?4, ?5, ?6, 9, ?6, ?6, ?7, ?8, 0)");
    sqlite3_stmt *add_contact = prepare("INSERT INTO contact (contact, sort_name, is_listed) VALUES (?1, ?1, 1)");
    sqlite3_stmt *add_owner = prepare("INSERT INTO owner (contact, avatar_id) VALUES (?, ?)");
    sqlite3_stmt *add_change =
        prepare("INSERT INTO content_change (sequence, key, kind, sha256, time_ms) VALUES (?, ?, 'added', ?, ?)");
    sqlite3_stmt *add_change_owner = prepare("INSERT INTO content_change_owner (sequence, contact) VALUES (?, ?)");
    sqlite3_stmt *set_sequence = prepare("UPDATE change_feed SET sequence = ?");
    char *names = malloc(BATCH * 64 + 2);
    sqlite3_int64 sequence = 0;
    run(add_host, "");
    for (int count; (count = next_batch()) > 0; finish_batch(count)) {
        struct image **images = queue.images + queue.committed;
        sqlite3_int64 bytes = 0;
        size_t length = 0;
        run(begin, "");
        for (int i = 0; i < count; i++) {
            run(known_image, "t", images[i]->url);
            run(known_file, "d", images[i]->digest);
            name_file(images[i]);
            bytes += images[i]->size;
            length += sprintf(names + length, "%c[0,\"%s\",%zu]", i ? ',' : '[', images[i]->path, images[i]->size);
        }
        strcpy(names + length, "]");
        sqlite3_int64 pending = run(add_pending, "ti", names, bytes), files = count, none = 0;
        run(commit, "");
        for (int i = 0; i < count; i++) write_file(images[i]);
        sqlite3_int64 now = milliseconds();
        run(begin, "");
        for (int i = 0; i < count; i++) {
            struct image *image = images[i];
            char contact[16], kept[160];
            snprintf(contact, sizeof contact, "p%d", image->number);
            snprintf(kept, sizeof kept, "date: %s\ncache-control: %s", image->fields[DATE], image->fields[CACHE_CONTROL]);
            sqlite3_int64 size = image->size, used = now * 1000 + i;
            sqlite3_int64 file = run(add_file, "dtii", image->digest, image->path, size, used);
            sqlite3_int64 fresh = now + 86400000, due = fresh + random() % 8640000;
            sqlite3_int64 row = run(
                add_image, "titttiii", image->url, file, image->fields[ETAG], image->fields[LAST_MODIFIED], kept, now,
                fresh, due);
            run(add_contact, "t", contact);
            run(add_owner, "ti", contact, row);
            sequence++;
            run(add_change, "itdi", sequence, image->url, image->digest, now);
            run(add_change_owner, "it", sequence, contact);
        }
        run(drop_pending, "i", pending);
        run(set_sequence, "i", sequence);
        run(add_to_totals, "ii", files, bytes);
        run(commit, "");
        for (int i = 0; i < count; i++) {
            free(images[i]->bytes);
            free(images[i]);
        }
    }
    return NULL;
}

// MARK: The network

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
    struct image *image = context;
    image->bytes = realloc(image->bytes, image->size + size * count);
    memcpy(image->bytes + image->size, bytes, size * count);
    image->size += size * count;
    return size * count;
}

static size_t take_field(char *line, size_t size, size_t count, void *context) {
    struct image *image = context;
    size_t length = size * count;
    for (int field = 0; field < FIELDS; field++) {
        size_t name = strlen(field_names[field]);
        if (length <= name || strncasecmp(line, field_names[field], name) != 0) continue;
        size_t start = name + strspn(line + name, " "), end = length;
        while (end > start && (line[end - 1] == '\r' || line[end - 1] == '\n')) end--;
        snprintf(image->fields[field], sizeof image->fields[field], "%.*s", (int)(end - start), line + start);
    }
    return length;
}

static void begin(CURLM *multi, CURL *easy, char *url, int number) {
    struct image *image = calloc(1, sizeof *image);
    image->url = url;
    image->number = number;
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, image);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, image);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, image);
    curl_multi_add_handle(multi, easy);
}

/// Hands on the images that have arrived, and takes their handles back into `unused`.
static int collect(CURLM *multi, CURL **unused) {
    int count = 0, left;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
        struct image *image;
        long status;
        CURL *easy = message->easy_handle;
        curl_easy_getinfo(easy, CURLINFO_PRIVATE, &image);
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (message->data.result != CURLE_OK) fail(image->url, curl_easy_strerror(message->data.result));
        if (status != 200) fail(image->url, "the status must be 200");
        curl_multi_remove_handle(multi, easy);
        SHA256(image->bytes, image->size, image->digest);
        put(image);
        unused[count++] = easy;
    }
    return count;
}

static void download(char **urls, int count, const char *certificate) {
    CURL *unused[CONNECTIONS];
    CURLM *multi = curl_multi_init();
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++) {
        unused[i] = curl_easy_init();
        curl_easy_setopt(unused[i], CURLOPT_WRITEFUNCTION, take_body);
        curl_easy_setopt(unused[i], CURLOPT_HEADERFUNCTION, take_field);
        curl_easy_setopt(unused[i], CURLOPT_NOSIGNAL, 1L);
        // Over HTTP/2, one connection for all.
        curl_easy_setopt(unused[i], CURLOPT_PIPEWAIT, 1L);
        if (certificate) curl_easy_setopt(unused[i], CURLOPT_CAINFO, certificate);
    }
    int next = 0, unused_count = CONNECTIONS;
    while (next < count || unused_count < CONNECTIONS) {
        pthread_mutex_lock(&queue.lock);
        while (unused_count == CONNECTIONS && next - queue.committed >= MOST_WAITING) {
            pthread_cond_wait(&queue.has_room, &queue.lock);
        }
        int limit = queue.committed + MOST_WAITING;
        pthread_mutex_unlock(&queue.lock);
        for (; unused_count > 0 && next < count && next < limit; next++) begin(multi, unused[--unused_count], urls[next], next);
        int running;
        curl_multi_perform(multi, &running);
        int ended = collect(multi, unused + unused_count);
        unused_count += ended;
        if (ended == 0 && running > 0) curl_multi_poll(multi, NULL, 0, 1000, NULL);
    }
}

/// The lines of the file at `path`.
static char **read_lines(const char *path, int *count) {
    FILE *file = fopen(path, "r");
    if (!file) fail(path, strerror(errno));
    char **lines = NULL, *line = NULL;
    size_t room = 0;
    *count = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0;) {
        if (line[length - 1] == '\n') line[length - 1] = 0;
        lines = realloc(lines, (*count + 1) * sizeof *lines);
        lines[(*count)++] = strdup(line);
    }
    free(line);
    fclose(file);
    return lines;
}

int main(int argc, char **argv) {
    if (argc < 3) fail("usage", "PlainSync URLS STORE [CA-FILE]");
    int count;
    char path[4096], **urls = read_lines(argv[1], &count);
    snprintf(path, sizeof path, "%s/index.sqlite", argv[2]);
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        fail(path, sqlite3_errmsg(database));
    }
    sqlite3_exec(database, "PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA cache_size = -8000", NULL, NULL, NULL);
    snprintf(path, sizeof path, "%s/caches", argv[2]);
    root = open(path, O_RDONLY | O_DIRECTORY);
    if (root < 0) fail(path, strerror(errno));
    queue.images = calloc((size_t)count, sizeof *queue.images);
    pthread_t writer;
    if (pthread_create(&writer, NULL, commit_batches, NULL) != 0) fail("the writer", "there is no thread for it");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    download(urls, count, argc > 3 ? argv[3] : NULL);
    pthread_mutex_lock(&queue.lock);
    queue.is_complete = 1;
    pthread_cond_signal(&queue.has_more);
    pthread_mutex_unlock(&queue.lock);
    pthread_join(writer, NULL);
    sqlite3_close(database);
    return 0;
}
