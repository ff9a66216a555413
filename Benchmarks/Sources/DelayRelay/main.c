// A TCP relay that delays, so that a benchmark on loopback sees the round trips of a network.
//
// Each chunk waits half a round trip in each direction. The first bytes of a client wait one round trip more, for the handshake
// that the kernel completed at once. The bandwidth is not limited. A connection goes to the address that the client named, at
// another port, so that one relay serves all hosts of 127.0.0.0/8.
//
// Usage: DelayRelay ROUND-TRIP-MILLISECONDS TARGET-PORT
// Prints the port that it listens on, and a line `CONNECTIONS BYTES` for each line of standard input, whose end ends it. The
// counts are those since the last such line.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The most bytes that one direction of a connection holds. Beyond it, the sender is no longer read.
enum { MOST_HELD = 4 << 20, CHUNK = 64 << 10, EVENTS = 256 };

// Bytes that arrived together, and the time at which they go on.
typedef struct chunk {
    struct chunk *next;
    int64_t due;
    size_t size, sent;
    uint8_t bytes[];
} chunk;

// One end of a connection, with the bytes that wait to be written to it.
typedef struct side {
    struct connection *connection;
    struct side *other;
    int socket;
    bool is_connecting, has_ended, is_closed;
    uint32_t events;
    chunk *first, *last;
    size_t held;
    // The time at which the end of the other side's stream arrives here; 0 while it is open.
    int64_t end;
    // The place in the heap of sides by the time of their next chunk; -1 outside.
    int place;
} side;

typedef struct connection {
    side sides[2];
    // The client's bytes count as sent at this time at the earliest.
    int64_t established;
    struct connection *next_dead;
    bool is_dead;
} connection;

static int poller;
static int64_t round_trip, now;
static uint16_t target_port;
static int64_t connection_count, byte_count;
static connection *dead;

static void tick(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    now = (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

static void *require(void *memory) {
    if (memory) return memory;
    fputs("The relay has no memory left.\n", stderr);
    exit(1);
}

// MARK: The heap of sides by the time of their next chunk

static side **heap;
static int heap_count, heap_capacity;

static int64_t due(const side *side) { return side->first ? side->first->due : side->end; }

static void put(int place, side *side) {
    heap[place] = side;
    side->place = place;
}

static void sift(int place) {
    side *moved = heap[place];
    while (place > 0 && due(heap[(place - 1) / 2]) > due(moved)) {
        put(place, heap[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (int child; (child = 2 * place + 1) < heap_count; place = child) {
        if (child + 1 < heap_count && due(heap[child + 1]) < due(heap[child])) child++;
        if (due(heap[child]) >= due(moved)) break;
        put(place, heap[child]);
    }
    put(place, moved);
}

static void leave_heap(side *side) {
    if (side->place < 0) return;
    int place = side->place;
    side->place = -1;
    heap_count--;
    if (place == heap_count) return;
    put(place, heap[heap_count]);
    sift(place);
}

static void enter_heap(side *side) {
    if (side->place >= 0) return;
    if (heap_count == heap_capacity) {
        heap_capacity = heap_capacity ? 2 * heap_capacity : 256;
        heap = require(realloc(heap, heap_capacity * sizeof *heap));
    }
    put(heap_count, side);
    heap_count++;
    sift(side->place);
}

// MARK: Connections

static void bury(connection *connection) {
    if (connection->is_dead) return;
    connection->is_dead = true;
    connection->next_dead = dead;
    dead = connection;
    for (int index = 0; index < 2; index++) {
        side *side = &connection->sides[index];
        leave_heap(side);
        close(side->socket);
        for (chunk *chunk = side->first, *next; chunk; chunk = next) {
            next = chunk->next;
            free(chunk);
        }
    }
}

// What the side waits for: bytes, as long as the other one holds few, and room, if a chunk that is due did not go.
static void watch(side *side, bool wants_room) {
    uint32_t events = side->has_ended || side->other->held >= MOST_HELD ? 0 : EPOLLIN;
    if (wants_room || side->is_connecting) events |= EPOLLOUT;
    if (events == side->events) return;
    side->events = events;
    struct epoll_event event = {events, {.ptr = side}};
    epoll_ctl(poller, EPOLL_CTL_MOD, side->socket, &event);
}

// Writes the chunks that are due.
static void deliver(side *side) {
    if (side->connection->is_dead) return;
    leave_heap(side);
    if (side->is_connecting) return;
    bool is_full = false;
    while (side->first && side->first->due <= now && !is_full) {
        chunk *chunk = side->first;
        ssize_t sent = send(side->socket, chunk->bytes + chunk->sent, chunk->size - chunk->sent, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN) return bury(side->connection);
        if (sent > 0) {
            chunk->sent += sent;
            side->held -= sent;
        }
        is_full = chunk->sent < chunk->size;
        if (is_full) break;
        side->first = chunk->next;
        if (!side->first) side->last = NULL;
        free(chunk);
    }
    if (!side->first && side->end && side->end <= now && !side->is_closed) {
        side->is_closed = true;
        shutdown(side->socket, SHUT_WR);
        if (side->other->is_closed) return bury(side->connection);
    }
    if (!is_full && (side->first || (side->end && !side->is_closed))) enter_heap(side);
    watch(side, is_full);
    watch(side->other, side->other->events & EPOLLOUT);
}

// Reads what has arrived at `side`, for the other one.
static void collect(side *side) {
    connection *connection = side->connection;
    static uint8_t buffer[CHUNK];
    struct side *other = side->other;
    while (!connection->is_dead && !side->has_ended && other->held < MOST_HELD) {
        ssize_t size = recv(side->socket, buffer, sizeof buffer, 0);
        if (size < 0 && errno == EAGAIN) break;
        if (size < 0) return bury(connection);
        int64_t sent = now;
        if (side == &connection->sides[0] && connection->established > now) sent = connection->established;
        int64_t arrives = sent + round_trip / 2;
        if (size == 0) {
            side->has_ended = true;
            other->end = arrives;
            if (!other->first) enter_heap(other);
            break;
        }
        byte_count += size;
        chunk *chunk = require(malloc(sizeof *chunk + size));
        *chunk = (struct chunk){.due = arrives, .size = size};
        memcpy(chunk->bytes, buffer, size);
        other->held += size;
        if (other->last) other->last->next = chunk;
        else other->first = chunk;
        other->last = chunk;
        enter_heap(other);
        if ((size_t)size < sizeof buffer) break;
    }
    if (!connection->is_dead) watch(side, side->events & EPOLLOUT);
}

static void begin_side(connection *connection, int index, int socket, uint32_t events) {
    side *side = &connection->sides[index];
    *side = (struct side){.connection = connection, .other = &connection->sides[1 - index], .socket = socket, .place = -1};
    side->events = events;
    int one = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static void add_to_poller(side *side) {
    struct epoll_event event = {side->events, {.ptr = side}};
    epoll_ctl(poller, EPOLL_CTL_ADD, side->socket, &event);
}

static void accept_all(int listener) {
    for (int client; (client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
        struct sockaddr_in address;
        socklen_t size = sizeof address;
        getsockname(client, (struct sockaddr *)&address, &size);
        address.sin_port = htons(target_port);
        int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (server < 0 || (connect(server, (struct sockaddr *)&address, size) != 0 && errno != EINPROGRESS)) {
            if (server >= 0) close(server);
            close(client);
            continue;
        }
        connection_count++;
        connection *connection = require(calloc(1, sizeof *connection));
        connection->established = now + round_trip;
        begin_side(connection, 0, client, EPOLLIN);
        begin_side(connection, 1, server, EPOLLIN | EPOLLOUT);
        connection->sides[1].is_connecting = true;
        add_to_poller(&connection->sides[0]);
        add_to_poller(&connection->sides[1]);
    }
}

static void attend(side *side, uint32_t events) {
    if (side->connection->is_dead) return;
    if (side->is_connecting && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
        int error = 0;
        socklen_t size = sizeof error;
        getsockopt(side->socket, SOL_SOCKET, SO_ERROR, &error, &size);
        if (error) return bury(side->connection);
        side->is_connecting = false;
        deliver(side);
    } else if (events & EPOLLOUT) {
        deliver(side);
    }
    if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
    // The poller would tell of the end of a socket again and again.
    if (side->has_ended) epoll_ctl(poller, EPOLL_CTL_DEL, side->socket, NULL);
    else collect(side);
}

static bool answer(void) {
    char line[256];
    ssize_t size = read(0, line, sizeof line);
    if (size <= 0) return false;
    printf("%lld %lld\n", (long long)connection_count, (long long)byte_count);
    fflush(stdout);
    connection_count = byte_count = 0;
    return true;
}

int main(int count, char **words) {
    if (count != 3) {
        fputs("Usage: DelayRelay ROUND-TRIP-MILLISECONDS TARGET-PORT\n", stderr);
        return 64;
    }
    round_trip = atoll(words[1]) * 1000;
    target_port = (uint16_t)atoi(words[2]);
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 4096) != 0) {
        perror("The relay cannot listen");
        return 1;
    }
    getsockname(listener, (struct sockaddr *)&address, &size);
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    poller = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event of_listener = {EPOLLIN, {.ptr = &listener}}, of_input = {EPOLLIN, {.ptr = &poller}};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &of_listener);
    epoll_ctl(poller, EPOLL_CTL_ADD, 0, &of_input);
    for (;;) {
        tick();
        // In microseconds, because a delay that is a millisecond late is a tenth of a short round trip.
        int64_t pause = heap_count ? due(heap[0]) - now : 1000000;
        struct timespec timeout = {0, (pause < 0 ? 0 : pause > 900000 ? 900000 : pause) * 1000};
        struct epoll_event events[EVENTS];
        int ready = epoll_pwait2(poller, events, EVENTS, &timeout, NULL);
        tick();
        for (int index = 0; index < ready; index++) {
            void *of = events[index].data.ptr;
            if (of == &listener) accept_all(listener);
            else if (of == &poller) {
                if (!answer()) return 0;
            } else attend(of, events[index].events);
        }
        while (heap_count && due(heap[0]) <= now) deliver(heap[0]);
        for (connection *next; dead; dead = next) {
            next = dead->next_dead;
            free(dead);
        }
    }
}
