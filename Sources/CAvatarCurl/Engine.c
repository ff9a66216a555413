// The engine: libcurl's multi handle, and what belongs to all exchanges.
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "Internal.h"

static int initialisation;

static void initialise(void) {
    if (!avatar_curl_load()) {
        initialisation = AVATAR_NO_LIBCURL;
    } else {
        initialisation = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : ENOMEM;
    }
}

int avatar_curl_initialise(void) {
    // Two modules use libcurl, and before 7.84 two threads must not initialise it at once.
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    return initialisation;
}

unsigned avatar_curl_version(void) {
    return avatar_curl_load() ? curl_version_info(CURLVERSION_NOW)->version_num : 0;
}

bool avatar_curl_has_negotiate(void) {
    return avatar_curl_load() && curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_GSSAPI;
}

const char *avatar_curl_tls(void) {
    if (!avatar_curl_load()) return "";
    const char *name = curl_version_info(CURLVERSION_NOW)->ssl_version;
    return name ? name : "";
}

#if LIBCURL_VERSION_NUM >= 0x075400
static const char *default_place(CURLINFO info) {
    if (!avatar_curl_load()) return NULL;
    CURL *easy = curl_easy_init();
    if (!easy) return NULL;
    char *place = NULL;
    // The string is part of the library.
    curl_easy_getinfo(easy, info, &place);
    curl_easy_cleanup(easy);
    return place;
}

const char *avatar_curl_certificate_file(void) { return default_place(CURLINFO_CAINFO); }
const char *avatar_curl_certificate_folder(void) { return default_place(CURLINFO_CAPATH); }
#else
const char *avatar_curl_certificate_file(void) { return NULL; }
const char *avatar_curl_certificate_folder(void) { return NULL; }
#endif

static char *copied(const char *bytes, size_t size) {
    char *copy = malloc(size + 1);
    if (!copy) return NULL;
    memcpy(copy, bytes, size);
    copy[size] = 0;
    return copy;
}

avatar_engine *avatar_engine_new(const avatar_settings *settings, avatar_callbacks callbacks) {
    avatar_engine *engine = calloc(1, sizeof *engine);
    if (!engine) return NULL;
    engine->settings = *settings;
    engine->callbacks = callbacks;
    if (settings->certificates) engine->certificates = copied(settings->certificates, settings->certificates_size);
    if (settings->certificate_folder) {
        engine->certificate_folder = copied(settings->certificate_folder, strlen(settings->certificate_folder));
    }
    engine->by_port = calloc(65536, sizeof *engine->by_port);
    errno = 0;
    engine->multi = curl_multi_init();
    engine->share = curl_share_init();
    bool has_memory = engine->by_port && engine->multi && engine->share
        && (!settings->certificates || engine->certificates)
        && (!settings->certificate_folder || engine->certificate_folder);
    // Without descriptors the multi handle comes without the pair of sockets that ends a wait.
    if (!has_memory || curl_multi_wakeup(engine->multi) != CURLM_OK) {
        int error = errno;
        avatar_engine_free(engine);
        errno = error ? error : EMFILE;
        return NULL;
    }
    // One thread uses it, so it needs no locks.
    curl_share_setopt(engine->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    curl_multi_setopt(engine->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    curl_multi_setopt(engine->multi, CURLMOPT_MAX_HOST_CONNECTIONS, settings->connections_per_host);
    curl_multi_setopt(engine->multi, CURLMOPT_MAXCONNECTS, settings->most_connections);
    avatar_engine_tick(engine);
    return engine;
}

void avatar_engine_free(avatar_engine *engine) {
    if (engine->multi) curl_multi_cleanup(engine->multi);
    if (engine->share) curl_share_cleanup(engine->share);
    free(engine->connections);
    free(engine->by_port);
    free(engine->certificates);
    free(engine->certificate_folder);
    free(engine);
}

bool avatar_engine_perform(avatar_engine *engine) {
    int running = 0;
    return curl_multi_perform(engine->multi, &running) == CURLM_OK;
}

void avatar_engine_wait(avatar_engine *engine, int milliseconds) {
    if (curl_multi_poll(engine->multi, NULL, 0, milliseconds, NULL) == CURLM_OK) return;
    // Memory is missing. Trying again at once would only take processor time.
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
}

bool avatar_engine_wake(avatar_engine *engine) { return curl_multi_wakeup(engine->multi) == CURLM_OK; }

int64_t avatar_engine_now(const avatar_engine *engine) { return engine->now; }

void avatar_engine_tick(avatar_engine *engine) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    // Never 0, which stands for no time.
    engine->now = (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000 + 1;
}

avatar_exchange *avatar_engine_next_ended(avatar_engine *engine, int *code) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(engine->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        avatar_exchange *exchange = NULL;
        *code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
        // `message` is invalid after this.
        avatar_exchange_stop(exchange);
        return exchange;
    }
    return NULL;
}

void avatar_make_ready(avatar_exchange *exchange) {
    if (exchange->is_ready) return;
    exchange->is_ready = true;
    exchange->next_ready = exchange->engine->ready;
    exchange->engine->ready = exchange;
}

avatar_exchange *avatar_engine_next_ready(avatar_engine *engine) {
    avatar_exchange *exchange = engine->ready;
    if (!exchange) return NULL;
    engine->ready = exchange->next_ready;
    exchange->is_ready = false;
    return exchange;
}

int avatar_end_kind(int code) {
    switch (code) {
    case CURLE_OK: return AVATAR_END_OK;
    case CURLE_COULDNT_CONNECT: return AVATAR_END_NO_CONNECTION;
    case CURLE_OPERATION_TIMEDOUT: return AVATAR_END_TIMEOUT;
    case CURLE_COULDNT_RESOLVE_HOST: return AVATAR_END_NAME;
    case CURLE_COULDNT_RESOLVE_PROXY: return AVATAR_END_PROXY_NAME;
    case CURLE_PROXY: return AVATAR_END_PROXY;
    case CURLE_PEER_FAILED_VERIFICATION: return AVATAR_END_CERTIFICATE;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CERTPROBLEM: return AVATAR_END_TLS;
    case CURLE_SSL_CACERT_BADFILE: return AVATAR_END_TRUST_FILE;
    case CURLE_GOT_NOTHING: return AVATAR_END_NO_RESPONSE;
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return AVATAR_END_BROKEN;
    case CURLE_PARTIAL_FILE: return AVATAR_END_PARTIAL;
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return AVATAR_END_STREAM;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING: return AVATAR_END_GRAMMAR;
    // Also a line of a head that is longer than libcurl takes.
    case CURLE_OUT_OF_MEMORY: return AVATAR_END_MEMORY;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK: return AVATAR_END_STOPPED;
    case CURLE_URL_MALFORMAT: return AVATAR_END_URL;
    // CURLE_TOO_LARGE of later versions.
    case 100: return AVATAR_END_MEMORY;
    default: return AVATAR_END_OTHER;
    }
}
