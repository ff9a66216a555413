// The response body: collected while it is small, handed over piece by piece once it is not.
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

static bool append(avatar_exchange *exchange, const char *bytes, size_t count) {
    avatar_exchange_state *state = &exchange->state;
    size_t needed = state->body_size + count;
    if (needed > exchange->body_capacity) {
        size_t capacity = exchange->body_capacity ? exchange->body_capacity : 16384;
        while (capacity < needed) capacity *= 2;
        uint8_t *body = realloc(exchange->body, capacity);
        if (!body) return false;
        exchange->body = body;
        exchange->body_capacity = capacity;
        state->body = body;
    }
    memcpy(exchange->body + state->body_size, bytes, count);
    state->body_size += count;
    return true;
}

size_t avatar_on_body(char *bytes, size_t size, size_t count, void *context) {
    avatar_exchange *exchange = context;
    avatar_exchange_state *state = &exchange->state;
    const avatar_settings *settings = &exchange->engine->settings;
    size_t received = size * count, taken = received;
    state->last_activity = exchange->engine->now;
    if (state->refusal) return 0;
    if (exchange->frames_itself && taken > exchange->length - exchange->body_received) {
        taken = (size_t)(exchange->length - exchange->body_received);
    }
    if (state->body_mode == AVATAR_COLLECTS && state->body_size + taken > settings->body_bytes) {
        state->body_mode = AVATAR_STREAMS;
        avatar_make_ready(exchange);
    }
    if (state->body_mode == AVATAR_STREAMS) {
        avatar_make_ready(exchange);
        if (state->body_size > 0 && state->body_size + taken > settings->body_bytes) {
            state->is_paused = true;
            return CURL_WRITEFUNC_PAUSE;
        }
    }
    if (state->body_mode == AVATAR_DRAINS) {
        if (exchange->body_received + taken > exchange->drain_end) {
            state->refusal = AVATAR_DONE;
            return 0;
        }
    } else if (!append(exchange, bytes, taken)) {
        return 0;
    }
    exchange->body_received += taken;
    if (exchange->frames_itself && exchange->body_received == exchange->length) {
        state->refusal = AVATAR_DONE;
        return 0;
    }
    return received;
}

bool avatar_exchange_drain(avatar_exchange *exchange) {
    avatar_exchange_state *state = &exchange->state;
    exchange->drain_end = exchange->body_received + exchange->engine->settings.drained_bytes;
    state->body_mode = AVATAR_DRAINS;
    state->body_size = 0;
    if (exchange->has_length && exchange->length > exchange->drain_end) return false;
    avatar_exchange_resume(exchange);
    return true;
}
