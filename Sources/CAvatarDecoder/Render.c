// Makes a rendition from the bytes of an image: detect the format, plan, decode, convert, rotate, encode.
#ifdef AVATAR_RENDITIONS
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

bool avatar_fail(avatar_work *work, int status) {
    if (work->answer->status == AVATAR_MADE) work->answer->status = (uint32_t)status;
    return false;
}

bool avatar_plan(avatar_work *work, uint32_t width, uint32_t height) {
    if (width == 0 || height == 0) return avatar_fail(work, AVATAR_DAMAGED);
    if (width > AVATAR_LONGEST_SIDE || height > AVATAR_LONGEST_SIDE ||
        (uint64_t)width * height > AVATAR_MOST_PIXELS) {
        work->answer->width = width;
        work->answer->height = height;
        return avatar_fail(work, AVATAR_TOO_MANY_PIXELS);
    }
    double size = work->request->size;
    work->width = width;
    work->height = height;
    if (work->request->fit == AVATAR_SQUARE) {
        double side = width < height ? width : height;
        work->target_width = work->target_height = (int)fmin(side, size);
        work->crop_width = work->crop_height = side;
        work->crop_x = (width - side) / 2;
        work->crop_y = (height - side) / 2;
        if (side <= size) {
            // Nothing is scaled, so the square must lie on whole pixels to stay sharp.
            work->crop_x = floor(work->crop_x);
            work->crop_y = floor(work->crop_y);
        }
    } else {
        double scale = fmin(1, size / (width > height ? width : height));
        work->target_width = (int)fmax(1, round(width * scale));
        work->target_height = (int)fmax(1, round(height * scale));
        work->crop_width = width;
        work->crop_height = height;
    }
    return true;
}

static bool decode(avatar_work *work) {
    const uint8_t *bytes = work->bytes;
    size_t size = work->size;
    if (size >= 3 && memcmp(bytes, "\xFF\xD8\xFF", 3) == 0) return avatar_decode_jpeg(work);
    if (size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1A\n", 8) == 0) return avatar_decode_png(work);
    if (size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0) return avatar_decode_webp(work);
    if (size >= 6 && (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0)) return avatar_decode_gif(work);
    return avatar_fail(work, size < 12 ? AVATAR_TRUNCATED : AVATAR_UNKNOWN_FORMAT);
}

static uint8_t *encode(const avatar_bitmap *bitmap, uint32_t format, int quality, size_t *size) {
    switch (format) {
        case AVATAR_JPEG: return avatar_encode_jpeg(bitmap, quality, size);
        case AVATAR_WEBP: return avatar_encode_webp(bitmap, quality, size);
        default: return avatar_encode_png(bitmap, size);
    }
}

/// Encodes at the best quality that fits the limit on bytes. Returns false if none fits, or without memory.
static bool encode_within(avatar_work *work, const avatar_bitmap *bitmap) {
    static const int qualities[] = {92, 90, 85, 75, 65, 55, 45, 35, 25};
    int longer = bitmap->width > bitmap->height ? bitmap->width : bitmap->height;
    // Compression blocks blur the details of small images most, and a higher quality costs them few bytes.
    int first = longer <= 64 ? 0 : longer <= 128 ? 1 : 2;
    avatar_answer *answer = work->answer;
    uint64_t most = work->request->most_bytes;
    // PNG has no quality to lower.
    bool is_fixed = work->request->format == AVATAR_PNG || most == 0;
    int end = is_fixed ? first + 1 : (int)(sizeof qualities / sizeof *qualities);
    for (int i = first; i < end; i++) {
        size_t size = 0;
        uint8_t *bytes = encode(bitmap, work->request->format, qualities[i], &size);
        if (!bytes) return avatar_fail(work, AVATAR_NO_MEMORY);
        if (most == 0 || size <= most) {
            answer->bytes = bytes;
            answer->size = size;
            answer->width = (uint32_t)bitmap->width;
            answer->height = (uint32_t)bitmap->height;
            return true;
        }
        if (answer->size == 0 || size < answer->size) answer->size = size;
        free(bytes);
    }
    return false;
}

/// Encodes the image, and scales it down until it fits the limit on bytes.
static bool encode_smaller(avatar_work *work, const avatar_bitmap *bitmap) {
    static const int sizes[] = {384, 256, 192, 128, 96, 64, 48, 32};
    if (encode_within(work, bitmap)) return true;
    int longer = bitmap->width > bitmap->height ? bitmap->width : bitmap->height;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (work->answer->status != AVATAR_MADE) return false;
        if (sizes[i] >= longer) continue;
        double scale = (double)sizes[i] / longer;
        avatar_bitmap smaller = {0};
        bool fits = avatar_shrink(
            bitmap, (int)fmax(1, round(bitmap->width * scale)), (int)fmax(1, round(bitmap->height * scale)), &smaller
        );
        if (fits) fits = encode_within(work, &smaller);
        else avatar_fail(work, AVATAR_NO_MEMORY);
        free(smaller.pixels);
        if (fits) return true;
    }
    return avatar_fail(work, AVATAR_TOO_MANY_BYTES);
}

/// Converts a decoded image to sRGB, rotates it upright, and drops channels that it does not need.
static bool finish(avatar_work *work, avatar_bitmap *bitmap) {
    if (!avatar_convert_colours(work, bitmap)) return avatar_fail(work, AVATAR_NO_MEMORY);
    avatar_drop_opaque_alpha(bitmap);
    return avatar_orient(bitmap, work->orientation) || avatar_fail(work, AVATAR_NO_MEMORY);
}

static bool render(avatar_work *work) {
    if (!decode(work)) return false;
    avatar_bitmap thumb = {0};
    bool has_thumb = avatar_take_thumb(&work->sink, &thumb) || avatar_fail(work, AVATAR_NO_MEMORY);
    if (has_thumb && finish(work, &thumb)) work->answer->hash_size = avatar_thumb_hash(&thumb, work->answer->hash);
    free(thumb.pixels);
    if (work->answer->status != AVATAR_MADE || !finish(work, &work->sink.bitmap)) return false;
    if (work->request->format == AVATAR_JPEG) avatar_flatten(&work->sink.bitmap);
    return encode_smaller(work, &work->sink.bitmap);
}

void avatar_render(const avatar_request *request, const uint8_t *bytes, size_t size, avatar_answer *answer) {
    memset(answer, 0, sizeof *answer);
    avatar_work work = {.request = request, .bytes = bytes, .size = size, .answer = answer, .orientation = 1};
    bool is_valid = request->size >= 1 && request->size <= 512 && request->format >= AVATAR_JPEG &&
        request->format <= AVATAR_WEBP && request->fit <= AVATAR_SQUARE;
    if (!is_valid) avatar_fail(&work, AVATAR_BAD_REQUEST);
    else if (!render(&work)) avatar_fail(&work, AVATAR_DAMAGED);
    avatar_free_sink(&work.sink);
    free(work.profile);
}
#endif
