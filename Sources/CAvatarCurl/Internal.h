// The structures behind the opaque types.
#ifndef AVATAR_CURL_INTERNAL_H
#define AVATAR_CURL_INTERNAL_H

#include "CAvatarCurl.h"
#include "Library.h"

// A connection of libcurl's, known by its socket.
typedef struct {
    curl_socket_t descriptor;
    // Its two ends; 0 and "" until a request was about to be sent on it.
    int local_port;
    int peer_port;
    char peer[64];
    // Whether it has brought a response over HTTP/1. libcurl takes the next bytes for the response to the next request, even
    // if they came before it. Over HTTP/2 a response names its request.
    bool is_kept;
} avatar_connection;

struct avatar_engine {
    CURLM *multi;
    // Holds the TLS sessions of all exchanges, so that a connection that is opened again is resumed.
    CURLSH *share;
    avatar_connection *connections;
    size_t connection_count;
    size_t connection_capacity;
    // By local port: where in `connections` the one with this port was found last.
    uint32_t *by_port;
    avatar_callbacks callbacks;
    avatar_settings settings;
    char *certificates;
    char *certificate_folder;
    // The exchanges that are ready, last one first.
    avatar_exchange *ready;
    int64_t now;
    // The peer that was judged last, and is allowed.
    char allowed_peer[64];
};

struct avatar_exchange {
    // First, so that a pointer to it is a pointer to the exchange.
    avatar_exchange_state state;
    CURL *easy;
    avatar_engine *engine;
    avatar_exchange *next_ready;
    bool is_ready;
    bool is_running;
    // The socket of a connection that has brought no response yet; CURL_SOCKET_BAD for another one.
    curl_socket_t new_socket;
    // Whether the connection has brought a response over HTTP/1 to an earlier request.
    bool uses_kept;

    // Whether it is a request of `avatar_exchange_set_request`, and whether that has a body.
    bool is_whole_request;
    bool has_request_body;
    // Whether a 401 is the question to which libcurl has the answer.
    bool awaits_challenge;
    // How much of the body was sent.
    curl_off_t request_sent;

    // The request: a list for libcurl in `nodes`, its text in `fields`.
    struct curl_slist *nodes;
    size_t node_capacity;
    char *fields;
    size_t fields_capacity;
    struct curl_slist *pins;

    // The response.
    uint8_t *head;
    size_t head_capacity;
    // The size of the head as received.
    size_t head_received;
    int field_count;
    int interim_count;
    bool has_location;
    bool has_length;
    bool has_coding;
    // Whether the last field has no value so far.
    bool has_empty_value;
    // Whether libcurl does not know the length, because of a blank before the colon.
    bool frames_itself;
    uint64_t length;
    uint64_t body_received;
    // How much of a drained body is read at most, from its first byte.
    uint64_t drain_end;
    uint8_t *body;
    size_t body_capacity;
};

size_t avatar_on_header(char *line, size_t size, size_t count, void *exchange);
size_t avatar_on_body(char *bytes, size_t size, size_t count, void *exchange);
curl_socket_t avatar_on_open_socket(void *exchange, curlsocktype purpose, struct curl_sockaddr *address);
int avatar_on_close_socket(void *engine, curl_socket_t descriptor);
int avatar_on_resolve(void *resolver, void *reserved, void *exchange);
int avatar_on_request(void *exchange, char *peer, char *local, int peer_port, int local_port);

// Records that the connection of the exchange has brought a response.
void avatar_keep_connection(avatar_exchange *exchange);

// Puts the exchange on the list of those that are ready.
void avatar_make_ready(avatar_exchange *exchange);

#endif
