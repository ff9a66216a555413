// One exchange: an easy handle that is set up once and used for many requests.
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

// The number since 7.75, for headers that are older than the library.
#if LIBCURL_VERSION_NUM < 0x074b00
#define CURLOPT_AWS_SIGV4 10305
#endif

static void set_protocols(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

static void set_callbacks(avatar_exchange *exchange) {
    CURL *easy = exchange->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, exchange);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, avatar_on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, avatar_on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, exchange);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, avatar_on_open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, exchange);
    // Of the engine, because a connection outlives the exchange that opened it.
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, avatar_on_close_socket);
    curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, exchange->engine);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, avatar_on_resolve);
    curl_easy_setopt(easy, CURLOPT_RESOLVER_START_DATA, exchange);
    curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, avatar_on_request);
    curl_easy_setopt(easy, CURLOPT_PREREQDATA, exchange);
}

// A field of HTTP/1.0 days, which libcurl would send to proxies.
static struct curl_slist no_proxy_connection = {(char *)"Proxy-Connection:", NULL};

static void set_connection(CURL *easy, const avatar_engine *engine) {
    const avatar_settings *settings = &engine->settings;
    curl_easy_setopt(easy, CURLOPT_SHARE, engine->share);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, settings->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, settings->kept_seconds);
    // The addresses come from our own lookup, which decides how long they hold.
    curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, -1L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    // Both set, so that libcurl reads no environment variable.
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
    curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXYHEADER, &no_proxy_connection);
    curl_easy_setopt(easy, CURLOPT_PROXYAUTH, (long)CURLAUTH_BASIC);
    curl_easy_setopt(easy, CURLOPT_SOCKS5_AUTH, (long)CURLAUTH_BASIC);
}

static void set_trust(CURL *easy, const avatar_engine *engine) {
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(easy, CURLOPT_PROXY_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (!engine->settings.has_certificates) return;
    if (engine->certificates) {
        struct curl_blob blob = {engine->certificates, engine->settings.certificates_size, CURL_BLOB_NOCOPY};
        curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
        curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &blob);
    } else {
        curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, NULL);
    }
    curl_easy_setopt(easy, CURLOPT_CAPATH, engine->certificate_folder);
    curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, engine->certificate_folder);
}

avatar_exchange *avatar_exchange_new(avatar_engine *engine) {
    avatar_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) return NULL;
    exchange->engine = engine;
    exchange->easy = curl_easy_init();
    if (!exchange->easy) {
        free(exchange);
        return NULL;
    }
    CURL *easy = exchange->easy;
    set_protocols(easy);
    set_callbacks(exchange);
    set_connection(easy, engine);
    set_trust(easy, engine);
    // Redirects are followed by Swift, which judges each hop.
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    return exchange;
}

void avatar_exchange_free(avatar_exchange *exchange) {
    avatar_exchange_stop(exchange);
    curl_easy_cleanup(exchange->easy);
    curl_slist_free_all(exchange->pins);
    free(exchange->nodes);
    free(exchange->fields);
    free(exchange->head);
    free(exchange->body);
    free(exchange);
}

avatar_exchange_state *avatar_exchange_state_of(avatar_exchange *exchange) { return &exchange->state; }

bool avatar_exchange_set_origin(avatar_exchange *exchange, const char *url) {
    // Requests that start together wait for the first connection, and share it over HTTP/2. Without TLS there is no HTTP/2, and
    // they would wait for the first response.
    bool may_share = strncmp(url, "https:", 6) == 0;
    return curl_easy_setopt(exchange->easy, CURLOPT_PIPEWAIT, may_share ? 1L : 0L) == CURLE_OK
        && curl_easy_setopt(exchange->easy, CURLOPT_URL, url) == CURLE_OK;
}

bool avatar_exchange_set_proxy(
    avatar_exchange *exchange, int scheme, const char *proxy, bool tunnels, const char *user, const char *password
) {
    static const long types[] = {CURLPROXY_HTTP, CURLPROXY_HTTPS, CURLPROXY_SOCKS5, CURLPROXY_SOCKS5_HOSTNAME};
    CURL *easy = exchange->easy;
    return curl_easy_setopt(easy, CURLOPT_PROXY, proxy ? proxy : "") == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PROXYTYPE, types[scheme]) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_HTTPPROXYTUNNEL, tunnels ? 1L : 0L) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PROXYUSERNAME, user) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PROXYPASSWORD, password) == CURLE_OK;
}

// A peer that takes the body is not silent, even if it answers only at the end.
static int on_progress(
    void *context, curl_off_t expected, curl_off_t received, curl_off_t to_send, curl_off_t sent
) {
    avatar_exchange *exchange = context;
    (void)expected;
    (void)received;
    (void)to_send;
    if (sent > exchange->request_sent) exchange->state.last_activity = exchange->engine->now;
    exchange->request_sent = sent;
    return 0;
}

// A body is sent as that of a POST by another name. As an upload, libcurl would wait for "100 Continue" before each.
static bool set_method(avatar_exchange *exchange, const avatar_request *request) {
    CURL *easy = exchange->easy;
    exchange->has_request_body = request && request->body;
    exchange->request_sent = 0;
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, exchange);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, exchange->has_request_body ? 0L : 1L);
    if (exchange->has_request_body) {
        return curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, (const char *)request->body) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method) == CURLE_OK;
    }
    bool is_get = !request || strcmp(request->method, "GET") == 0;
    return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, is_get ? NULL : request->method) == CURLE_OK;
}

static bool set_login(CURL *easy, const avatar_request *request) {
    const char *signature = request ? request->signature : NULL;
    CURLcode code = curl_easy_setopt(easy, (CURLoption)CURLOPT_AWS_SIGV4, signature);
    if (signature && code != CURLE_OK) return false;
    // The signature has set another way.
    static const unsigned long proofs[] = {CURLAUTH_BASIC, CURLAUTH_DIGEST, CURLAUTH_NEGOTIATE};
    if (!signature) curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)proofs[request ? request->proof : AVATAR_PROOF_NONE]);
    return curl_easy_setopt(easy, CURLOPT_USERNAME, request ? request->user : NULL) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PASSWORD, request ? request->secret : NULL) == CURLE_OK;
}

bool avatar_exchange_set_request(avatar_exchange *exchange, const avatar_request *request) {
    CURL *easy = exchange->easy;
    exchange->is_whole_request = request != NULL;
    int proof = request ? request->proof : AVATAR_PROOF_NONE;
    exchange->awaits_challenge = proof != AVATAR_PROOF_NONE;
    // Signed requests have a connection each: HTTP/2 would put all of them on one, and few services have it. Negotiate proves the
    // user of a connection, which HTTP/2 does not allow for.
    bool is_alone = (request && request->signature) || proof == AVATAR_PROOF_NEGOTIATE;
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)(is_alone ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS));
    // A signature covers the path as it is.
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, request ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, request ? request->timeout_ms : 0L);
    return set_method(exchange, request) && set_login(easy, request)
        && (!request || curl_easy_setopt(easy, CURLOPT_URL, request->url) == CURLE_OK);
}

// Makes the list that libcurl reads. Its memory is used again by the next request.
static bool set_fields(avatar_exchange *exchange, const uint8_t *fields, size_t size) {
    if (size > exchange->fields_capacity) {
        char *larger = realloc(exchange->fields, size * 2);
        if (!larger) return false;
        exchange->fields = larger;
        exchange->fields_capacity = size * 2;
    }
    if (size) memcpy(exchange->fields, fields, size);
    size_t count = 0;
    for (size_t index = 0; index < size; index++) count += fields[index] == 0;
    if (count > exchange->node_capacity) {
        struct curl_slist *larger = realloc(exchange->nodes, count * 2 * sizeof *larger);
        if (!larger) return false;
        exchange->nodes = larger;
        exchange->node_capacity = count * 2;
    }
    char *line = exchange->fields;
    for (size_t index = 0; index < count; index++) {
        exchange->nodes[index].data = line;
        exchange->nodes[index].next = index + 1 < count ? &exchange->nodes[index + 1] : NULL;
        line += strlen(line) + 1;
    }
    return curl_easy_setopt(exchange->easy, CURLOPT_HTTPHEADER, count ? exchange->nodes : NULL) == CURLE_OK;
}

static bool set_pins(avatar_exchange *exchange, const uint8_t *pins, size_t size) {
    if (!pins && !exchange->pins) return true;
    curl_slist_free_all(exchange->pins);
    exchange->pins = NULL;
    for (size_t index = 0; pins && index < size; index += strlen((const char *)pins + index) + 1) {
        struct curl_slist *longer = curl_slist_append(exchange->pins, (const char *)pins + index);
        if (!longer) return false;
        exchange->pins = longer;
    }
    return curl_easy_setopt(exchange->easy, CURLOPT_RESOLVE, exchange->pins) == CURLE_OK;
}

static void forget_response(avatar_exchange *exchange) {
    avatar_exchange_state *state = &exchange->state;
    state->attempts = state->status = state->version = state->refusal = state->socket_error = 0;
    state->is_head_complete = state->is_redirect = state->is_paused = false;
    state->body_mode = AVATAR_COLLECTS;
    state->last_activity = 0;
    state->head_size = state->body_size = 0;
    exchange->new_socket = CURL_SOCKET_BAD;
    exchange->head_received = 0;
    exchange->field_count = exchange->interim_count = 0;
    exchange->has_location = exchange->has_length = exchange->has_coding = exchange->frames_itself = false;
    exchange->has_empty_value = false;
    exchange->body_received = 0;
    // One large body must not hold memory for the small ones after it.
    if (exchange->body_capacity > 32768) {
        free(exchange->body);
        exchange->body = NULL;
        exchange->body_capacity = 0;
    }
}

bool avatar_exchange_start(
    avatar_exchange *exchange, const char *target, const uint8_t *fields, size_t fields_size, const uint8_t *pins,
    size_t pins_size, bool needs_connection
) {
    forget_response(exchange);
    if (curl_easy_setopt(exchange->easy, CURLOPT_REQUEST_TARGET, target) != CURLE_OK) return false;
    if (!set_fields(exchange, fields, fields_size) || !set_pins(exchange, pins, pins_size)) return false;
    curl_easy_setopt(exchange->easy, CURLOPT_FRESH_CONNECT, needs_connection ? 1L : 0L);
    if (curl_multi_add_handle(exchange->engine->multi, exchange->easy) != CURLM_OK) return false;
    exchange->is_running = true;
    return true;
}

void avatar_exchange_stop(avatar_exchange *exchange) {
    if (exchange->is_running) curl_multi_remove_handle(exchange->engine->multi, exchange->easy);
    exchange->is_running = false;
    // libcurl keeps its copy of a body until it gets another one.
    if (exchange->has_request_body) curl_easy_setopt(exchange->easy, CURLOPT_POSTFIELDS, NULL);
    exchange->has_request_body = false;
    if (!exchange->is_ready) return;
    avatar_exchange **place = &exchange->engine->ready;
    while (*place != exchange) place = &(*place)->next_ready;
    *place = exchange->next_ready;
    exchange->is_ready = false;
}

void avatar_exchange_take_body(avatar_exchange *exchange) { exchange->state.body_size = 0; }

void avatar_exchange_resume(avatar_exchange *exchange) {
    if (!exchange->state.is_paused) return;
    exchange->state.is_paused = false;
    exchange->state.last_activity = exchange->engine->now;
    curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
}

long avatar_exchange_connections_of(avatar_exchange *exchange) {
    long made = 0;
    return curl_easy_getinfo(exchange->easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK ? made : 0;
}

avatar_exchange_end avatar_exchange_end_of(avatar_exchange *exchange) {
    avatar_exchange_end end = {0};
    CURL *easy = exchange->easy;
    long number = 0;
    if (curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &number) == CURLE_OK) end.os_error = (int)number;
    curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &end.connect_status);
    curl_easy_getinfo(easy, CURLINFO_SSL_VERIFYRESULT, &end.verify_result);
    curl_easy_getinfo(easy, CURLINFO_PROXY_SSL_VERIFYRESULT, &end.proxy_verify_result);
    long refusal = 0;
    if (curl_easy_getinfo(easy, CURLINFO_PROXY_ERROR, &refusal) == CURLE_OK) {
        end.has_refused_credentials = refusal == CURLPX_USER_REJECTED || refusal == CURLPX_NO_AUTH;
    }
    long made = 0;
    end.has_reused = curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made) == CURLE_OK && made == 0;
    curl_off_t connected = 0;
    end.has_connected = curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connected) == CURLE_OK && connected > 0;
    return end;
}
