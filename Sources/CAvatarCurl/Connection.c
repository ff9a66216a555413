// The callbacks around a connection: which addresses it may go to, and when a request is sent.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Internal.h"

static bool allows(const avatar_exchange *exchange, const struct sockaddr *address) {
    const avatar_callbacks *callbacks = &exchange->engine->callbacks;
    bool is_named = exchange->state.is_named;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return callbacks->allows(callbacks->context, (const uint8_t *)&v4->sin_addr, 4, is_named);
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
        return callbacks->allows(callbacks->context, (const uint8_t *)&v6->sin6_addr, 16, is_named);
    }
    return false;
}

// Returns false if memory is missing.
static bool add_connection(avatar_engine *engine, curl_socket_t descriptor) {
    if (engine->connection_count == engine->connection_capacity) {
        size_t capacity = engine->connection_capacity ? engine->connection_capacity * 2 : 64;
        avatar_connection *larger = realloc(engine->connections, capacity * sizeof *larger);
        if (!larger) return false;
        engine->connections = larger;
        engine->connection_capacity = capacity;
    }
    engine->connections[engine->connection_count++] = (avatar_connection){.descriptor = descriptor};
    return true;
}

int avatar_on_close_socket(void *context, curl_socket_t descriptor) {
    avatar_engine *engine = context;
    for (size_t index = 0; index < engine->connection_count; index++) {
        if (engine->connections[index].descriptor != descriptor) continue;
        engine->connections[index] = engine->connections[--engine->connection_count];
        break;
    }
    return close(descriptor);
}

void avatar_keep_connection(avatar_exchange *exchange) {
    avatar_engine *engine = exchange->engine;
    if (exchange->new_socket == CURL_SOCKET_BAD) return;
    for (size_t index = 0; index < engine->connection_count; index++) {
        avatar_connection *connection = &engine->connections[index];
        if (connection->descriptor == exchange->new_socket) connection->is_kept = exchange->state.version < 2;
    }
    exchange->new_socket = CURL_SOCKET_BAD;
}

static int port_of(const struct sockaddr_storage *address) {
    if (address->ss_family == AF_INET) return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
}

// Two sockets may have one local port, if their peers differ.
static bool is_between(avatar_connection *connection, const char *peer, int peer_port, int local_port) {
    if (connection->local_port == 0) {
        struct sockaddr_storage local, remote;
        socklen_t size = sizeof local;
        if (getsockname(connection->descriptor, (struct sockaddr *)&local, &size) != 0) return false;
        size = sizeof remote;
        // One that is still connecting has no peer.
        if (getpeername(connection->descriptor, (struct sockaddr *)&remote, &size) != 0) return false;
        const void *address = remote.ss_family == AF_INET
            ? (const void *)&((struct sockaddr_in *)(void *)&remote)->sin_addr
            : (const void *)&((struct sockaddr_in6 *)(void *)&remote)->sin6_addr;
        if (!inet_ntop(remote.ss_family, address, connection->peer, sizeof connection->peer)) return false;
        connection->peer_port = port_of(&remote);
        connection->local_port = port_of(&local);
    }
    return connection->local_port == local_port && connection->peer_port == peer_port
        && strcmp(connection->peer, peer) == 0;
}

// Finds the connection on which the request of the exchange is about to be sent.
//
// Returns false if bytes have come on it since its last response, or if the peer has closed it. Those bytes, such as a late
// 408, would be taken for the response to this request, and an image for that of another person. libcurl closes the
// connection then; it is shut down in any case, so that it is not used again.
static bool is_clean(avatar_exchange *exchange, const char *peer, int peer_port, int local_port) {
    avatar_engine *engine = exchange->engine;
    exchange->new_socket = CURL_SOCKET_BAD;
    exchange->uses_kept = false;
    uint32_t *last = &engine->by_port[(uint16_t)local_port];
    for (size_t step = 0; step < engine->connection_count; step++) {
        // All of them in turn, beginning with the one that it was.
        size_t index = (step + *last) % engine->connection_count;
        avatar_connection *connection = &engine->connections[index];
        if (!is_between(connection, peer, peer_port, local_port)) continue;
        *last = (uint32_t)index;
        if (!connection->is_kept) {
            exchange->new_socket = connection->descriptor;
            return true;
        }
        exchange->uses_kept = true;
        char byte;
        if (recv(connection->descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0) return true;
        shutdown(connection->descriptor, SHUT_RDWR);
        return false;
    }
    return true;
}

curl_socket_t avatar_on_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    avatar_exchange *exchange = context;
    (void)purpose;
    if (exchange->state.is_direct && !allows(exchange, &address->addr)) {
        exchange->state.refusal = AVATAR_FORBIDDEN;
        return CURL_SOCKET_BAD;
    }
#ifdef SOCK_CLOEXEC
    int descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
#else
    int descriptor = socket(address->family, address->socktype, address->protocol);
    if (descriptor >= 0) fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#endif
    if (descriptor < 0) {
        exchange->state.socket_error = errno;
        return CURL_SOCKET_BAD;
    }
    if (!add_connection(exchange->engine, descriptor)) {
        close(descriptor);
        exchange->state.socket_error = ENOMEM;
        return CURL_SOCKET_BAD;
    }
    // An address that was refused before does not matter if this one is used.
    exchange->state.refusal = AVATAR_NOT_REFUSED;
    return descriptor;
}

int avatar_on_resolve(void *resolver, void *reserved, void *context) {
    avatar_exchange *exchange = context;
    (void)resolver;
    (void)reserved;
    return exchange->state.may_resolve ? 0 : 1;
}

static bool allows_peer(avatar_engine *engine, const char *peer, bool is_named) {
    if (strcmp(engine->allowed_peer, peer) == 0) return true;
    char text[sizeof engine->allowed_peer];
    size_t length = strcspn(peer, "%");
    if (length >= sizeof text) return false;
    memcpy(text, peer, length);
    text[length] = 0;
    uint8_t address[16];
    int count = inet_pton(AF_INET, text, address) == 1 ? 4 : inet_pton(AF_INET6, text, address) == 1 ? 16 : 0;
    if (count == 0 || !engine->callbacks.allows(engine->callbacks.context, address, count, is_named)) return false;
    // Other exchanges may be allowed less.
    if (is_named) return true;
    memcpy(engine->allowed_peer, text, length + 1);
    return true;
}

// Called for each request, on a new connection and on a reused one.
int avatar_on_request(void *context, char *peer, char *local, int peer_port, int local_port) {
    avatar_exchange *exchange = context;
    avatar_exchange_state *state = &exchange->state;
    (void)local;
    if (state->is_direct && !allows_peer(exchange->engine, peer, state->is_named)) {
        state->refusal = AVATAR_FORBIDDEN;
        return CURL_PREREQFUNC_ABORT;
    }
    if (!is_clean(exchange, peer, peer_port, local_port)) {
        state->refusal = AVATAR_UNSOLICITED;
        return CURL_PREREQFUNC_ABORT;
    }
    // libcurl repeats a request by itself that was lost on a kept connection. The others may be as old as that one.
    if (state->attempts > 0 && exchange->uses_kept) {
        state->refusal = AVATAR_REUSED_AGAIN;
        return CURL_PREREQFUNC_ABORT;
    }
    if (state->attempts >= exchange->engine->settings.attempts) {
        state->refusal = AVATAR_TOO_MANY_ATTEMPTS;
        return CURL_PREREQFUNC_ABORT;
    }
    // Another address of the host was refused.
    state->refusal = AVATAR_NOT_REFUSED;
    state->attempts++;
    state->last_activity = exchange->engine->now;
    exchange->engine->callbacks.will_send(state->owner);
    if (state->reports_connection) avatar_make_ready(exchange);
    return CURL_PREREQFUNC_OK;
}
