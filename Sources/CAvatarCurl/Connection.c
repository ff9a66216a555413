// The callbacks around a connection: which addresses it may go to, and when a request is sent.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "Internal.h"

static bool allows(avatar_engine *engine, const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return engine->callbacks.allows(engine->callbacks.context, (const uint8_t *)&v4->sin_addr, 4);
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
        return engine->callbacks.allows(engine->callbacks.context, (const uint8_t *)&v6->sin6_addr, 16);
    }
    return false;
}

curl_socket_t avatar_on_open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    avatar_exchange *exchange = context;
    (void)purpose;
    if (exchange->state.is_direct && !allows(exchange->engine, &address->addr)) {
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

static bool allows_peer(avatar_engine *engine, const char *peer) {
    if (strcmp(engine->allowed_peer, peer) == 0) return true;
    char text[sizeof engine->allowed_peer];
    size_t length = strcspn(peer, "%");
    if (length >= sizeof text) return false;
    memcpy(text, peer, length);
    text[length] = 0;
    uint8_t address[16];
    int count = inet_pton(AF_INET, text, address) == 1 ? 4 : inet_pton(AF_INET6, text, address) == 1 ? 16 : 0;
    if (count == 0 || !engine->callbacks.allows(engine->callbacks.context, address, count)) return false;
    memcpy(engine->allowed_peer, text, length + 1);
    return true;
}

// Called for each request, on a new connection and on a reused one.
int avatar_on_request(void *context, char *peer, char *local, int peer_port, int local_port) {
    avatar_exchange *exchange = context;
    avatar_exchange_state *state = &exchange->state;
    (void)local;
    (void)peer_port;
    (void)local_port;
    if (state->is_direct && !allows_peer(exchange->engine, peer)) {
        state->refusal = AVATAR_FORBIDDEN;
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
