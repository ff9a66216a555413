// One signed request: an easy handle that is set up once and used for many requests.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "RequestInternal.h"

// The number since 7.75, for headers that are older than the library.
#if LIBCURL_VERSION_NUM < 0x074b00
#define CURLOPT_AWS_SIGV4 10305
#endif

static const size_t head_limit = 65536;
static const size_t error_body_limit = 65536;

// MARK: Response

// Stores the value of the field if the line is one of `name`.
static void keep(char *place, size_t capacity, const char *name, const char *line, size_t size) {
    size_t length = strlen(name);
    if (size <= length || line[length] != ':' || strncasecmp(line, name, length) != 0) return;
    const char *start = line + length + 1, *end = line + size;
    while (start < end && (*start == ' ' || *start == '\t')) start++;
    while (start < end && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t')) end--;
    if ((size_t)(end - start) >= capacity) return;
    memcpy(place, start, (size_t)(end - start));
    place[end - start] = 0;
}

static size_t on_header(char *line, size_t size, size_t count, void *context) {
    avatar_request *request = context;
    avatar_request_response *response = &request->response;
    size_t bytes = size * count;
    request->head_size += bytes;
    if (request->head_size > head_limit) return 0;
    if (bytes > 5 && memcmp(line, "HTTP/", 5) == 0) {
        // A new head, perhaps after an interim one.
        long status = 0;
        curl_easy_getinfo(request->easy, CURLINFO_RESPONSE_CODE, &status);
        response->status = (int)status;
        response->region[0] = response->date[0] = response->retry_after[0] = 0;
        return bytes;
    }
    keep(response->region, sizeof response->region, "x-amz-bucket-region", line, bytes);
    keep(response->date, sizeof response->date, "date", line, bytes);
    keep(response->retry_after, sizeof response->retry_after, "retry-after", line, bytes);
    return bytes;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *context) {
    avatar_request *request = context;
    avatar_request_response *response = &request->response;
    size_t received = size * count, needed = response->body_size + received;
    size_t limit = response->status < 300 ? request->body_limit : error_body_limit;
    if (needed > limit) {
        response->is_too_large = true;
        return 0;
    }
    if (needed > request->body_capacity) {
        size_t capacity = request->body_capacity ? request->body_capacity : 16384;
        while (capacity < needed) capacity *= 2;
        uint8_t *body = realloc(request->body, capacity);
        if (!body) return 0;
        request->body = body;
        request->body_capacity = capacity;
        response->body = body;
    }
    memcpy(request->body + response->body_size, bytes, received);
    response->body_size += received;
    return received;
}

static void forget_response(avatar_request *request) {
    // One large body must not hold memory for the small ones after it.
    if (request->body_capacity > 65536) {
        free(request->body);
        request->body = NULL;
        request->body_capacity = 0;
    }
    memset(&request->response, 0, sizeof request->response);
    request->response.body = request->body;
    request->head_size = 0;
}

const avatar_request_response *avatar_request_response_of(const avatar_request *request) { return &request->response; }

// MARK: Handle

static bool set_protocols(CURL *easy) {
#if LIBCURL_VERSION_NUM >= 0x075500
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
#else
    return curl_easy_setopt(easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS)) == CURLE_OK;
#endif
}

static void set_callbacks(avatar_request *request) {
    CURL *easy = request->easy;
    curl_easy_setopt(easy, CURLOPT_PRIVATE, request);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, request);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, request);
}

static bool set_up(CURL *easy, const avatar_client_settings *settings) {
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    // One connection for each request: HTTP/2 would put all of them on one, and few engines have it.
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    // The signature covers the path as it is.
    curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, settings->kept_seconds);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, settings->connect_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, settings->stall_seconds);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, settings->total_timeout_ms);
    curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    bool is_complete = set_protocols(easy);
    if (settings->certificate_file) {
        is_complete &= curl_easy_setopt(easy, CURLOPT_CAINFO, settings->certificate_file) == CURLE_OK;
        curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    // Both set, so that libcurl reads no environment variable.
    return is_complete && curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_USERAGENT, "AvatarStore") == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_USERNAME, settings->user) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_PASSWORD, settings->secret) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_AWS_SIGV4, settings->signature) == CURLE_OK;
}

avatar_request *avatar_request_new(avatar_client *client, int place) {
    avatar_request *request = calloc(1, sizeof *request);
    if (!request) return NULL;
    request->client = client;
    request->place = place;
    request->easy = curl_easy_init();
    if (!request->easy || !set_up(request->easy, &client->settings)) {
        avatar_request_free(request);
        return NULL;
    }
    set_callbacks(request);
    return request;
}

void avatar_request_free(avatar_request *request) {
    avatar_request_stop(request);
    if (request->easy) curl_easy_cleanup(request->easy);
    curl_slist_free_all(request->fields);
    free(request->body);
    free(request);
}

int avatar_request_place(const avatar_request *request) { return request->place; }

// MARK: Start and stop

static bool set_fields(avatar_request *request, const uint8_t *fields, size_t size) {
    curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(request->fields);
    request->fields = NULL;
    for (size_t index = 0; index < size; index += strlen((const char *)fields + index) + 1) {
        struct curl_slist *longer = curl_slist_append(request->fields, (const char *)fields + index);
        if (!longer) return false;
        request->fields = longer;
    }
    return curl_easy_setopt(request->easy, CURLOPT_HTTPHEADER, request->fields) == CURLE_OK;
}

// A PUT is sent as a POST by another name. As an upload, libcurl would wait for "100 Continue" before each body.
static bool set_method(CURL *easy, const avatar_request_content *content) {
    if (strcmp(content->method, "PUT") == 0) {
        const char *body = content->body_size ? (const char *)content->body : "";
        return curl_easy_setopt(easy, CURLOPT_POST, 1L) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)content->body_size) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, body) == CURLE_OK
            && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PUT") == CURLE_OK;
    }
    bool is_get = strcmp(content->method, "GET") == 0;
    return curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L) == CURLE_OK
        && curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, is_get ? NULL : content->method) == CURLE_OK;
}

bool avatar_request_start(avatar_request *request, const avatar_request_content *content) {
    forget_response(request);
    request->body_limit = content->body_limit;
    if (!set_method(request->easy, content) || !set_fields(request, content->fields, content->fields_size)) return false;
    if (curl_easy_setopt(request->easy, CURLOPT_URL, content->url) != CURLE_OK) return false;
    curl_easy_setopt(request->easy, CURLOPT_FRESH_CONNECT, content->needs_connection ? 1L : 0L);
    if (curl_multi_add_handle(request->client->multi, request->easy) != CURLM_OK) return false;
    request->is_running = true;
    return true;
}

void avatar_request_stop(avatar_request *request) {
    if (!request->is_running) return;
    curl_multi_remove_handle(request->client->multi, request->easy);
    request->is_running = false;
    // libcurl keeps its copy of a body until it gets another one.
    curl_easy_setopt(request->easy, CURLOPT_POSTFIELDS, NULL);
}
