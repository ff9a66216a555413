// PNG, with libpng, row by row. Only an interlaced image is held in memory as a whole.
#ifdef AVATAR_RENDITIONS
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "Internal.h"

/// The limit on the decompressed bytes of a chunk other than IDAT. The largest are colour profiles.
#define MOST_CHUNK_BYTES (4 << 20)

/// The values that must survive a longjmp out of the library.
typedef struct {
    png_structp png;
    png_infop info;
    const uint8_t *bytes;
    size_t left;
    int status;
    uint8_t *rows;
} decoder;

static void on_error(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_read(png_structp png, png_bytep to, size_t count) {
    decoder *decoder = png_get_io_ptr(png);
    if (count > decoder->left) {
        decoder->status = AVATAR_TRUNCATED;
        png_longjmp(png, 1);
    }
    memcpy(to, decoder->bytes, count);
    decoder->bytes += count;
    decoder->left -= count;
}

static void take_orientation(avatar_work *work, decoder *decoder) {
    png_bytep exif = NULL;
    png_uint_32 size = 0;
    if (png_get_eXIf_1(decoder->png, decoder->info, &size, &exif)) work->orientation = avatar_exif_orientation(exif, size);
}

static bool take_colours(avatar_work *work, decoder *decoder) {
    if (png_get_valid(decoder->png, decoder->info, PNG_INFO_sRGB)) return true;
    png_charp name;
    int compression;
    png_bytep profile = NULL;
    png_uint_32 size = 0;
    if (png_get_iCCP(decoder->png, decoder->info, &name, &compression, &profile, &size) && size > 0) {
        work->profile = malloc(size);
        if (!work->profile) return avatar_fail(work, AVATAR_NO_MEMORY);
        memcpy(work->profile, profile, size);
        work->profile_size = size;
        return true;
    }
    double gamma = 0, *c = work->chromaticities;
    if (png_get_gAMA(decoder->png, decoder->info, &gamma) && gamma > 0) work->gamma = 1 / gamma;
    png_get_cHRM(decoder->png, decoder->info, c, c + 1, c + 2, c + 3, c + 4, c + 5, c + 6, c + 7);
    return true;
}

/// Converts every image to gray or RGB with 8 bits, with alpha if it has any transparency.
static void choose_samples(decoder *decoder) {
    png_set_expand(decoder->png);
    png_set_scale_16(decoder->png);
}

static bool decode(avatar_work *work, decoder *decoder) {
    png_structp png = decoder->png;
    if (setjmp(png_jmpbuf(png))) return avatar_fail(work, decoder->status);
    png_set_read_fn(png, decoder, on_read);
    png_set_user_limits(png, AVATAR_LONGEST_SIDE, AVATAR_LONGEST_SIDE);
    png_set_chunk_malloc_max(png, MOST_CHUNK_BYTES);
    static const png_byte skipped[] = "tEXt\0zTXt\0iTXt\0tIME\0bKGD\0hIST\0sPLT\0pCAL\0sCAL\0oFFs\0pHYs\0sBIT";
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, skipped, sizeof skipped / 5);
    png_read_info(png, decoder->info);
    uint32_t width = png_get_image_width(png, decoder->info), height = png_get_image_height(png, decoder->info);
    if (!take_colours(work, decoder)) return false;
    choose_samples(decoder);
    bool is_interlaced = png_set_interlace_handling(png) > 1;
    png_read_update_info(png, decoder->info);
    int channels = png_get_channels(png, decoder->info);
    size_t stride = png_get_rowbytes(png, decoder->info);
    if (channels < 1 || channels > 4 || stride != (size_t)width * (size_t)channels) return false;
    decoder->rows = malloc(is_interlaced ? stride * height : stride);
    if (!decoder->rows) return avatar_fail(work, AVATAR_NO_MEMORY);
    if (!avatar_begin_rows(work, (int)width, (int)height, width, height, channels, channels % 2 == 0)) return false;
    if (is_interlaced) {
        for (int pass = 0; pass < 7; pass++) {
            for (uint32_t y = 0; y < height; y++) png_read_row(png, decoder->rows + y * stride, NULL);
        }
        for (uint32_t y = 0; y < height; y++) avatar_take_row(&work->sink, decoder->rows + y * stride);
    } else {
        for (uint32_t y = 0; y < height; y++) {
            png_read_row(png, decoder->rows, NULL);
            avatar_take_row(&work->sink, decoder->rows);
        }
    }
    png_read_end(png, decoder->info);
    take_orientation(work, decoder);
    return true;
}

/// Whether the file has all chunks up to the last. Otherwise the library would allocate whatever a chunk's length claims.
static bool has_all_chunks(const avatar_work *work) {
    for (size_t offset = 8; work->size - offset >= 12;) {
        size_t length = png_get_uint_32(work->bytes + offset);
        if (length > work->size - offset - 12) return false;
        if (memcmp(work->bytes + offset + 4, "IEND", 4) == 0) return true;
        offset += length + 12;
    }
    return false;
}

/// Plans from the first chunk, before the library allocates memory for the image.
static bool plan(avatar_work *work) {
    const uint8_t *bytes = work->bytes;
    if (work->size < 26) return avatar_fail(work, AVATAR_TRUNCATED);
    if (memcmp(bytes + 12, "IHDR", 4) != 0) return avatar_fail(work, AVATAR_DAMAGED);
    return avatar_plan(work, png_get_uint_32(bytes + 16), png_get_uint_32(bytes + 20)) &&
        (has_all_chunks(work) || avatar_fail(work, AVATAR_TRUNCATED));
}

bool avatar_decode_png(avatar_work *work) {
    if (!plan(work)) return false;
    decoder decoder = {.bytes = work->bytes, .left = work->size, .status = AVATAR_DAMAGED};
    decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    decoder.info = decoder.png ? png_create_info_struct(decoder.png) : NULL;
    bool is_decoded = decoder.info ? decode(work, &decoder) : avatar_fail(work, AVATAR_NO_MEMORY);
    png_destroy_read_struct(&decoder.png, &decoder.info, NULL);
    free(decoder.rows);
    return is_decoded;
}
#endif
