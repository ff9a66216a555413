// The structures behind the opaque types of `CAvatarRequest.h`.
#ifndef AVATAR_REQUEST_INTERNAL_H
#define AVATAR_REQUEST_INTERNAL_H

#include "CAvatarCurl.h"
#include "Library.h"

struct avatar_client {
    CURLM *multi;
    avatar_client_settings settings;
};

struct avatar_request {
    CURL *easy;
    avatar_client *client;
    int place;
    bool is_running;
    struct curl_slist *fields;
    size_t body_limit;
    // The size of all heads of the response, interim ones and trailers too.
    size_t head_size;
    uint8_t *body;
    size_t body_capacity;
    avatar_request_response response;
};

#endif
