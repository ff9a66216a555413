// The callbacks of CAvatarCurl without a connection. libcurl hands over one line of a head at a time, and a body in pieces.
#include <stdlib.h>
#include <string.h>

#include "../CAvatarCurl/Internal.h"
#include "CAnswer.h"

static bool allows(void *context, const uint8_t *address, int count, bool is_named) { return true; }

static void will_send(void *owner) {}

static avatar_exchange *new_exchange(answer_limits limits) {
    static avatar_engine *engine;
    if (!engine) {
        avatar_settings settings = {0};
        settings.connect_timeout_ms = 1000;
        settings.connections_per_host = 1;
        settings.most_connections = 1;
        settings.attempts = 1;
        settings.head_bytes = limits.head_bytes;
        settings.field_count = limits.field_count;
        settings.interim_count = limits.interim_count;
        settings.body_bytes = limits.body_bytes;
        settings.drained_bytes = limits.drained_bytes;
        avatar_curl_initialise();
        engine = avatar_engine_new(&settings, (avatar_callbacks){allows, will_send, NULL});
        if (!engine) return NULL;
    }
    return avatar_exchange_new(engine);
}

// Returns the place after the head, or `count` if the head is incomplete or refused.
static size_t read_head(avatar_exchange *exchange, char *bytes, size_t count) {
    size_t place = 0;
    while (place < count && !exchange->state.is_head_complete) {
        char *end = memchr(bytes + place, '\n', count - place);
        if (!end) return count;
        size_t length = (size_t)(end - (bytes + place)) + 1;
        if (avatar_on_header(bytes + place, 1, length, exchange) != length) return count;
        place += length;
    }
    return place;
}

static void read_body(avatar_exchange *exchange, char *bytes, size_t count, size_t piece, bool reads) {
    avatar_exchange_state *state = &exchange->state;
    if (reads && state->body_mode == AVATAR_COLLECTS) state->body_mode = AVATAR_STREAMS;
    for (size_t place = 0; place < count;) {
        size_t size = count - place < piece ? count - place : piece;
        size_t taken = avatar_on_body(bytes + place, 1, size, exchange);
        if (taken == CURL_WRITEFUNC_PAUSE) {
            // The reader takes all of it. An empty buffer takes any piece, so this ends.
            avatar_exchange_take_body(exchange);
            state->is_paused = false;
            continue;
        }
        if (taken != size) return;
        place += size;
    }
}

bool answer_read(const uint8_t *bytes, size_t count, size_t piece, bool reads, answer_limits limits, answer *result) {
    static avatar_exchange *exchange;
    if (exchange) avatar_exchange_free(exchange);
    exchange = new_exchange(limits);
    // The callbacks may write to the bytes that they get.
    char *copy = malloc(count + 1);
    if (!exchange || !copy) {
        free(copy);
        return false;
    }
    memcpy(copy, bytes, count);
    size_t place = read_head(exchange, copy, count);
    if (exchange->state.is_head_complete && !exchange->state.refusal) {
        read_body(exchange, copy + place, count - place, piece, reads);
    }
    free(copy);
    const avatar_exchange_state *state = &exchange->state;
    *result = (answer){
        .refusal = state->refusal,
        .status = state->status,
        .is_head_complete = state->is_head_complete,
        .is_redirect = state->is_redirect,
        .head = state->head,
        .head_size = state->head_size,
        .field_count = exchange->field_count,
        .has_length = exchange->has_length,
        .length = exchange->length,
        .body = state->body,
        .body_size = state->body_size,
        .body_received = exchange->body_received,
    };
    return true;
}
