// Decodes pictures and makes smaller ones, in a process that can do nothing else.
//
// `avatar_decoder_run` is the whole program. `avatar_render` is its work on one picture, for measuring and fuzzing.
#ifndef C_AVATAR_DECODER_H
#define C_AVATAR_DECODER_H

#include <stddef.h>
#include <stdint.h>

/// The version of the protocol and of the decoders: greater than before whenever either changes.
#define AVATAR_DECODER_VERSION 1

/// The largest number of pixels of an original.
#ifndef AVATAR_MOST_PIXELS
#define AVATAR_MOST_PIXELS 50000000
#endif
/// The longest side of an original in pixels.
#define AVATAR_LONGEST_SIDE 65500
/// The most bytes of an original.
#define AVATAR_MOST_BYTES (64 << 20)

/// The formats of renditions.
enum avatar_format { AVATAR_JPEG = 1, AVATAR_PNG = 2, AVATAR_WEBP = 3 };

/// How a rendition fits its size.
enum avatar_fit { AVATAR_INSIDE = 0, AVATAR_SQUARE = 1 };

/// The result of a request.
enum avatar_status {
    AVATAR_MADE = 0,
    /// The first bytes are of no format that is decoded.
    AVATAR_UNKNOWN_FORMAT = 1,
    /// The picture ends too early.
    AVATAR_TRUNCATED = 2,
    /// The bytes break the rules of their format.
    AVATAR_DAMAGED = 3,
    /// More than `AVATAR_MOST_PIXELS` or `AVATAR_LONGEST_SIDE`; width and height are set.
    AVATAR_TOO_MANY_PIXELS = 4,
    /// A rare variant of the format: JPEG with arithmetic coding or 12 bits, or too many scans.
    AVATAR_UNSUPPORTED = 5,
    /// More than `AVATAR_MOST_BYTES`.
    AVATAR_FILE_TOO_LARGE = 6,
    /// The picture needs more memory than the process may have.
    AVATAR_NO_MEMORY = 7,
    /// The descriptor cannot be read.
    AVATAR_UNREADABLE = 8,
    /// The smallest rendition has more bytes than asked for; `size` has their number.
    AVATAR_TOO_MANY_BYTES = 9,
    /// The fields of the request are not valid.
    AVATAR_BAD_REQUEST = 10,
};

/// A rendition to make.
typedef struct {
    /// The length of the longer side in pixels, from 1 to 512.
    uint32_t size;
    /// One of `avatar_format`.
    uint32_t format;
    /// One of `avatar_fit`.
    uint32_t fit;
    /// The largest number of bytes; 0 for any.
    uint64_t most_bytes;
} avatar_request;

/// A rendition, or the reason why it was not made.
typedef struct {
    /// One of `avatar_status`.
    uint32_t status;
    uint32_t width;
    uint32_t height;
    /// The number of bytes of the ThumbHash.
    uint32_t hash_size;
    uint8_t hash[25];
    /// The file, from malloc; NULL unless the status is `AVATAR_MADE`.
    uint8_t *bytes;
    size_t size;
} avatar_answer;

/// Runs the program: enters the sandbox, says hello on descriptor 0, and serves requests until its end. The exit code.
int avatar_decoder_run(int count, char **values);

/// Makes a rendition of the picture in `bytes`. The caller frees `answer->bytes`.
void avatar_render(const avatar_request *request, const uint8_t *bytes, size_t size, avatar_answer *answer);

#endif
