// Decodes images and makes smaller ones, in a sandboxed process.
//
// `avatar_decoder_run` is the whole program. `avatar_render` is its work on one image, for measuring and fuzzing.
#ifndef C_AVATAR_DECODER_H
#define C_AVATAR_DECODER_H

#include <stddef.h>
#include <stdint.h>

/// The version of the protocol and of the decoders. Increase it whenever either changes.
#define AVATAR_DECODER_VERSION 1

/// The limit on the pixels of an original.
#ifndef AVATAR_MOST_PIXELS
#define AVATAR_MOST_PIXELS 50000000
#endif
/// The limit on each side of an original, in pixels.
#define AVATAR_LONGEST_SIDE 65500
/// The limit on the bytes of an original, 64 MiB.
#define AVATAR_MOST_BYTES (64 << 20)

/// The formats of renditions.
enum avatar_format { AVATAR_JPEG = 1, AVATAR_PNG = 2, AVATAR_WEBP = 3 };

/// How a rendition fits into its size.
enum avatar_fit { AVATAR_INSIDE = 0, AVATAR_SQUARE = 1 };

/// The status of a response.
enum avatar_status {
    AVATAR_MADE = 0,
    /// The format is not supported, by the first bytes.
    AVATAR_UNKNOWN_FORMAT = 1,
    /// The image ends too early.
    AVATAR_TRUNCATED = 2,
    /// The bytes break the rules of their format.
    AVATAR_DAMAGED = 3,
    /// The size exceeds `AVATAR_MOST_PIXELS` or `AVATAR_LONGEST_SIDE`; width and height are set.
    AVATAR_TOO_MANY_PIXELS = 4,
    /// The variant of the format is not supported: JPEG with arithmetic coding, 12 bits or too many scans.
    AVATAR_UNSUPPORTED = 5,
    /// The file exceeds `AVATAR_MOST_BYTES`.
    AVATAR_FILE_TOO_LARGE = 6,
    /// The image needs more memory than the process may have.
    AVATAR_NO_MEMORY = 7,
    /// The descriptor cannot be read.
    AVATAR_UNREADABLE = 8,
    /// Even the smallest file exceeds `most_bytes`; `size` has its length.
    AVATAR_TOO_MANY_BYTES = 9,
    /// The fields of the request are invalid.
    AVATAR_BAD_REQUEST = 10,
};

/// A rendition to make.
typedef struct {
    /// The limit on the longer side in pixels, from 1 to 512.
    uint32_t size;
    /// One of `avatar_format`.
    uint32_t format;
    /// One of `avatar_fit`.
    uint32_t fit;
    /// The limit on the length of the file in bytes; 0 for no limit.
    uint64_t most_bytes;
} avatar_request;

/// A rendition, or the reason why it was not made.
typedef struct {
    /// One of `avatar_status`.
    uint32_t status;
    uint32_t width;
    uint32_t height;
    /// The length of the ThumbHash in bytes.
    uint32_t hash_size;
    uint8_t hash[25];
    /// The file, from malloc; NULL unless the status is `AVATAR_MADE`.
    uint8_t *bytes;
    size_t size;
} avatar_answer;

/// Runs the program: enters the sandbox, sends hello on descriptor 0, and serves requests until the socket closes. Returns the
/// exit code.
int avatar_decoder_run(int count, char **values);

/// Makes a rendition of the image in `bytes`. The caller frees `answer->bytes`.
void avatar_render(const avatar_request *request, const uint8_t *bytes, size_t size, avatar_answer *answer);

#endif
