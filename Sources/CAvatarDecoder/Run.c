// The program: sends hello, then handles requests with a descriptor each, until the other end closes the socket.
//
// Integers are little-endian. Swift's side is in `DecoderProtocol.swift`.
//   hello    "AVDC", version, state                                          12 bytes
//   request  "AVRQ", size, format, fit, most bytes (8), and a descriptor     24 bytes
//   response "AVAN", status, width, height, format, size of the ThumbHash, size of the file, 0,
//            the ThumbHash in 32 bytes; then the file                        64 bytes
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "Internal.h"

enum { HELLO_SIZE = 12, REQUEST_SIZE = 24, ANSWER_SIZE = 64 };

/// The state of the sandbox, as sent in hello.
enum state { SANDBOXED = 1, NOT_SANDBOXED = 2, REFUSES_WITHOUT_SANDBOX = 3, WITHOUT_DECODERS = 4 };

static void put(uint8_t *to, uint32_t value) {
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (8 * i));
}

static bool send_all(const uint8_t *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = sendto(0, bytes, count, NO_SIGNAL, NULL, 0);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool say_hello(enum state state) {
    uint8_t hello[HELLO_SIZE];
    memcpy(hello, "AVDC", 4);
    put(hello + 4, AVATAR_DECODER_VERSION);
    put(hello + 8, state);
    return send_all(hello, sizeof hello);
}

#ifdef AVATAR_RENDITIONS
#ifdef __GLIBC__
#include <malloc.h>
#endif

static uint32_t get(const uint8_t *from) {
    return from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

/// Receives a request and its descriptor. Returns false at the end, or if the message is not a request.
static bool receive(avatar_request *request, int *descriptor) {
    uint8_t bytes[REQUEST_SIZE];
    size_t received = 0;
    *descriptor = -1;
    while (received < sizeof bytes) {
        union {
            struct cmsghdr head;
            char space[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec part = {bytes + received, sizeof bytes - received};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control,
        };
        ssize_t count = recvmsg(0, &message, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        received += (size_t)count;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && *descriptor < 0) {
            memcpy(descriptor, CMSG_DATA(head), sizeof *descriptor);
        }
    }
    request->size = get(bytes + 4);
    request->format = get(bytes + 8);
    request->fit = get(bytes + 12);
    request->most_bytes = get(bytes + 16) | (uint64_t)get(bytes + 20) << 32;
    return memcmp(bytes, "AVRQ", 4) == 0 && *descriptor >= 0;
}

/// Reads the whole file. Returns one of `avatar_status`.
static uint32_t read_all(int descriptor, uint8_t **bytes, size_t *size) {
    size_t capacity = 128 << 10;
    *size = 0;
    *bytes = malloc(capacity);
    while (*bytes) {
        ssize_t count = pread(descriptor, *bytes + *size, capacity - *size, (off_t)*size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return AVATAR_UNREADABLE;
        if (count == 0) return AVATAR_MADE;
        *size += (size_t)count;
        if (*size > AVATAR_MOST_BYTES) return AVATAR_FILE_TOO_LARGE;
        if (*size < capacity) continue;
        capacity *= 2;
        uint8_t *larger = realloc(*bytes, capacity);
        if (!larger) return AVATAR_NO_MEMORY;
        *bytes = larger;
    }
    return AVATAR_NO_MEMORY;
}

static bool send_answer(const avatar_request *request, const avatar_answer *answer) {
    uint8_t head[ANSWER_SIZE] = {0};
    memcpy(head, "AVAN", 4);
    const uint32_t fields[] = {
        answer->status, answer->width, answer->height, request->format, answer->hash_size, (uint32_t)answer->size, 0,
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put(head + 4 + 4 * i, fields[i]);
    memcpy(head + 32, answer->hash, sizeof answer->hash);
    return send_all(head, sizeof head) && (!answer->bytes || send_all(answer->bytes, answer->size));
}

static void serve(void) {
    avatar_request request;
    int descriptor;
    while (receive(&request, &descriptor)) {
        avatar_answer answer = {0};
        uint8_t *bytes = NULL;
        size_t size = 0;
        answer.status = read_all(descriptor, &bytes, &size);
        close(descriptor);
        if (answer.status == AVATAR_MADE) avatar_render(&request, bytes, size, &answer);
        free(bytes);
        bool is_sent = send_answer(&request, &answer);
        free(answer.bytes);
        if (!is_sent) return;
    }
}

static int by_value(const void *left, const void *right) {
    return *(const unsigned char *)left - *(const unsigned char *)right;
}

/// Runs each codec once before the sandbox, because some libraries initialise with system calls that it forbids.
static void prepare(void) {
    avatar_prepare_colours();
    // libwebp sorts more than a kilobyte. At the first such sort the C library reads the size of the memory.
    unsigned char values[4096] = {1};
    qsort(values, sizeof values, 1, by_value);
    uint8_t pixels[16 * 16 * 4] = {0};
    avatar_bitmap bitmap = {16, 16, 3, false, pixels};
    for (int format = AVATAR_JPEG; format <= AVATAR_WEBP; format++) {
        size_t size = 0;
        uint8_t *bytes = format == AVATAR_JPEG ? avatar_encode_jpeg(&bitmap, 85, &size)
            : format == AVATAR_PNG             ? avatar_encode_png(&bitmap, &size)
                                               : avatar_encode_webp(&bitmap, 85, &size);
        if (!bytes) continue;
        avatar_request request = {.size = 4, .format = (uint32_t)format};
        avatar_answer answer = {0};
        avatar_render(&request, bytes, size, &answer);
        free(answer.bytes);
        free(bytes);
    }
}

int avatar_decoder_run(int count, char **values) {
    bool may_lack_sandbox = false;
    const char *attempt = NULL;
    for (int i = 1; i < count; i++) {
        if (strcmp(values[i], "--allow-unsandboxed") == 0) may_lack_sandbox = true;
        else if (strcmp(values[i], "--attempt") == 0 && i + 1 < count) attempt = values[++i];
        else count = 0;
    }
    int type;
    socklen_t size = sizeof type;
    if (count == 0 || (!attempt && getsockopt(0, SOL_SOCKET, SO_TYPE, &type, &size) != 0)) {
        fputs("avatars-decoder makes smaller images for programs that use AvatarStore. Do not start it yourself.\n", stderr);
        return 64;
    }
#ifdef __GLIBC__
    // Return large blocks to the system as soon as they are freed.
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 2 << 20);
#endif
    prepare();
    bool is_sandboxed = avatar_enter_sandbox() == 1;
    if (attempt) {
        int result = is_sandboxed ? avatar_attempt(attempt) : 69;
        return result < 0 ? 64 : result;
    }
    bool is_ready = is_sandboxed || may_lack_sandbox;
    enum state state = is_sandboxed ? SANDBOXED : may_lack_sandbox ? NOT_SANDBOXED : REFUSES_WITHOUT_SANDBOX;
    if (!say_hello(state)) return 1;
    if (is_ready) serve();
    return 0;
}
#else
int avatar_decoder_run(int count, char **values) {
    (void)count;
    (void)values;
    if (say_hello(WITHOUT_DECODERS)) return 0;
    fputs("avatars-decoder was built without the package trait \"Renditions\". Build it with the trait.\n", stderr);
    return 69;
}
#endif
