// Feeds bytes of a response to the callbacks that libcurl calls.
#ifndef CANSWER_H
#define CANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What the callbacks have made of a response. The pointers are valid until the next call of `answer_read`.
typedef struct {
    // One of the reasons to refuse a response of CAvatarCurl.h; 0 for none.
    int refusal;
    int status;
    bool is_head_complete;
    bool is_redirect;
    // The fields as "name:value\n".
    const uint8_t *head;
    size_t head_size;
    int field_count;
    bool has_length;
    uint64_t length;
    // The bytes of the body that a reader would get, and how many were accepted in all.
    const uint8_t *body;
    size_t body_size;
    uint64_t body_received;
} answer;

// The limits of the client.
typedef struct {
    size_t head_bytes;
    int field_count;
    int interim_count;
    size_t body_bytes;
    size_t drained_bytes;
} answer_limits;

// Reads a response: its lines as libcurl delivers them, then its body in pieces of `piece` bytes. With `reads`, a reader takes
// the body as it comes. Returns false if memory is missing.
bool answer_read(const uint8_t *bytes, size_t count, size_t piece, bool reads, answer_limits limits, answer *result);

#endif
