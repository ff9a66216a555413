// The response head, line by line.
//
// libcurl frames the body by its own reading of the head. Where it is laxer than we are, as with two different lengths, the
// response is refused. Where it is stricter, as with a blank before a colon, we frame the body ourselves.
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "Internal.h"

static bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

static bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Ends the exchange for `reason`. A callback returns it, because no call of libcurl handles that many bytes.
static size_t refuse(avatar_exchange *exchange, int reason) {
    exchange->state.refusal = reason;
    return 0;
}

static bool reserve_head(avatar_exchange *exchange, size_t more) {
    size_t needed = exchange->state.head_size + more;
    if (needed <= exchange->head_capacity) return true;
    size_t capacity = exchange->head_capacity ? exchange->head_capacity * 2 : 512;
    while (capacity < needed) capacity *= 2;
    uint8_t *head = realloc(exchange->head, capacity);
    if (!head) return false;
    exchange->head = head;
    exchange->head_capacity = capacity;
    exchange->state.head = head;
    return true;
}

static void put(avatar_exchange *exchange, const char *bytes, size_t count) {
    memcpy(exchange->head + exchange->state.head_size, bytes, count);
    exchange->state.head_size += count;
}

// Bytes beyond ASCII as percent-encoded bytes: they may be of any encoding, and a URL must not lose them.
static void put_location(avatar_exchange *exchange, const char *bytes, size_t count) {
    static const char digits[] = "0123456789ABCDEF";
    for (size_t index = 0; index < count; index++) {
        unsigned char byte = (unsigned char)bytes[index];
        if (byte < 0x80) {
            put(exchange, bytes + index, 1);
        } else {
            char encoded[] = {'%', digits[byte >> 4], digits[byte & 15]};
            put(exchange, encoded, sizeof encoded);
        }
    }
}

static bool is_named(const char *name, size_t count, const char *expected) {
    return strlen(expected) == count && strncasecmp(name, expected, count) == 0;
}

// Reads "5" and "5, 5" (RFC 9110 section 8.6). Returns false for anything else, and for another length than before.
static bool take_length(avatar_exchange *exchange, const char *value, size_t count) {
    size_t index = 0;
    for (;;) {
        while (index < count && is_blank(value[index])) index++;
        if (index == count || !is_digit(value[index])) return false;
        uint64_t length = 0;
        for (; index < count && is_digit(value[index]); index++) {
            if (length > (INT64_MAX - 9) / 10) return false;
            length = length * 10 + (uint64_t)(value[index] - '0');
        }
        if (exchange->has_length && exchange->length != length) return false;
        exchange->has_length = true;
        exchange->length = length;
        while (index < count && is_blank(value[index])) index++;
        if (index == count) return true;
        if (value[index++] != ',') return false;
    }
}

// Reads "HTTP/1.1 200 OK" or "HTTP/2 200".
static bool take_status_line(avatar_exchange *exchange, const char *line, size_t count) {
    if (count < 10 || memcmp(line, "HTTP/", 5) != 0 || !is_digit(line[5])) return false;
    size_t index = 6;
    if (line[index] == '.') {
        if (!is_digit(line[index + 1])) return false;
        index += 2;
    }
    if (index + 4 > count || line[index] != ' ') return false;
    const char *digits = line + index + 1;
    if (!is_digit(digits[0]) || !is_digit(digits[1]) || !is_digit(digits[2]) || digits[0] == '0') return false;
    if (index + 4 < count && digits[3] != ' ') return false;
    exchange->state.version = line[5] - '0';
    exchange->state.status = (digits[0] - '0') * 100 + (digits[1] - '0') * 10 + (digits[2] - '0');
    return exchange->state.version >= 1 && exchange->state.version <= 3;
}

static void forget_fields(avatar_exchange *exchange) {
    exchange->state.head_size = 0;
    exchange->head_received = 0;
    exchange->field_count = 0;
    exchange->has_location = exchange->has_length = exchange->has_coding = exchange->frames_itself = false;
}

static bool is_followed(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static size_t end_head(avatar_exchange *exchange, size_t received) {
    avatar_exchange_state *state = &exchange->state;
    if (state->status < 200) {
        if (++exchange->interim_count > exchange->engine->settings.interim_count) {
            return refuse(exchange, AVATAR_NOT_HTTP);
        }
        forget_fields(exchange);
        state->status = 0;
        return received;
    }
    bool has_body = state->status != 204 && state->status != 304;
    // libcurl drops its body, and sends the request again on the same connection if it has an answer.
    bool is_challenge = exchange->awaits_challenge && state->status == 401;
    if (is_challenge) state->attempts = 0;
    if (has_body && exchange->has_length && exchange->has_coding) return refuse(exchange, AVATAR_NOT_HTTP);
    avatar_keep_connection(exchange);
    state->is_head_complete = true;
    state->head_completed = exchange->engine->now;
    state->is_redirect = !exchange->is_whole_request && is_followed(state->status) && exchange->has_location;
    if (state->is_redirect) {
        state->body_mode = AVATAR_DRAINS;
        exchange->drain_end = exchange->engine->settings.drained_bytes;
        avatar_make_ready(exchange);
    } else if (has_body && !is_challenge && exchange->has_length && exchange->length > exchange->engine->settings.body_bytes) {
        state->body_mode = AVATAR_STREAMS;
        avatar_make_ready(exchange);
    }
    if (!has_body) exchange->frames_itself = false;
    if (exchange->frames_itself && exchange->length == 0) return refuse(exchange, AVATAR_DONE);
    return received;
}

// A line that goes on with the value of the one before (obs-fold, RFC 9112 section 5.2).
static bool take_folded(avatar_exchange *exchange, const char *line, size_t count) {
    avatar_exchange_state *state = &exchange->state;
    // The line before was skipped.
    if (state->head_size == 0) return true;
    while (count > 0 && is_blank(line[0])) line++, count--;
    while (count > 0 && is_blank(line[count - 1])) count--;
    if (count == 0) return true;
    if (!reserve_head(exchange, count + 2)) return false;
    state->head_size--;
    if (!exchange->has_empty_value) put(exchange, " ", 1);
    exchange->has_empty_value = false;
    put(exchange, line, count);
    put(exchange, "\n", 1);
    return true;
}

// Returns 0, or the reason to refuse the response.
static int take_field(avatar_exchange *exchange, const char *line, size_t count) {
    const char *colon = memchr(line, ':', count);
    if (!colon || colon == line) return AVATAR_NOT_REFUSED;
    size_t name = (size_t)(colon - line);
    bool has_blank = false;
    while (name > 0 && is_blank(line[name - 1])) name--, has_blank = true;
    for (size_t index = 0; index < name; index++) {
        if (is_blank(line[index])) return AVATAR_NOT_HTTP;
    }
    const char *value = colon + 1;
    size_t size = count - (size_t)(value - line);
    while (size > 0 && is_blank(value[0])) value++, size--;
    while (size > 0 && is_blank(value[size - 1])) size--;

    bool is_location = false;
    if (is_named(line, name, "content-length")) {
        if (!take_length(exchange, value, size)) return AVATAR_NOT_HTTP;
        exchange->frames_itself |= has_blank;
    } else if (is_named(line, name, "transfer-encoding")) {
        // libcurl would deliver the chunks as they are.
        if (has_blank) return AVATAR_NOT_HTTP;
        exchange->has_coding = true;
    } else if (is_named(line, name, "location")) {
        exchange->has_location = is_location = true;
    }
    if (!reserve_head(exchange, name + 2 + (is_location ? size * 3 : size))) return AVATAR_HEAD_TOO_LARGE;
    exchange->has_empty_value = size == 0;
    put(exchange, line, name);
    put(exchange, ":", 1);
    if (is_location) {
        put_location(exchange, value, size);
    } else {
        put(exchange, value, size);
    }
    put(exchange, "\n", 1);
    return AVATAR_NOT_REFUSED;
}

size_t avatar_on_header(char *line, size_t size, size_t count, void *context) {
    avatar_exchange *exchange = context;
    avatar_exchange_state *state = &exchange->state;
    size_t received = size * count;
    state->last_activity = exchange->engine->now;
    if (state->refusal) return 0;
    if (exchange->awaits_challenge && state->is_head_complete && state->status == 401 && received > 5
        && memcmp(line, "HTTP/", 5) == 0) {
        // The response to the request with the answer. A second 401 is final.
        exchange->awaits_challenge = state->is_head_complete = false;
        state->status = 0;
        state->body_size = 0;
        exchange->body_received = 0;
    }
    // Trailer fields, after the body.
    if (state->is_head_complete) return received;
    size_t length = received;
    if (length > 0 && line[length - 1] == '\n') length--;
    if (length > 0 && line[length - 1] == '\r') length--;
    if (state->status == 0) {
        forget_fields(exchange);
        return take_status_line(exchange, line, length) ? received : refuse(exchange, AVATAR_NOT_HTTP);
    }
    if (length == 0) return end_head(exchange, received);
    exchange->head_received += received;
    if (exchange->head_received > exchange->engine->settings.head_bytes) return refuse(exchange, AVATAR_HEAD_TOO_LARGE);
    if (is_blank(line[0])) {
        return take_folded(exchange, line, length) ? received : refuse(exchange, AVATAR_HEAD_TOO_LARGE);
    }
    if (++exchange->field_count > exchange->engine->settings.field_count) {
        return refuse(exchange, AVATAR_TOO_MANY_FIELDS);
    }
    int refusal = take_field(exchange, line, length);
    return refusal ? refuse(exchange, refusal) : received;
}
