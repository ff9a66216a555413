// Encodes renditions as JPEG, PNG and WebP, without metadata.
#ifdef AVATAR_RENDITIONS
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include "Internal.h"

/// The number of bytes from which a progressive JPEG is usually smaller than a baseline JPEG, so it is tried.
#define WORTH_PROGRESSION 4096

/// The quality from which a small image has no chroma subsampling.
#define WORTH_COLOURS 85
/// The limit on the longer side of a small image, in pixels.
#define SMALL_SIDE 128

/// The values that must survive a longjmp out of libjpeg.
typedef struct {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr error;
    jmp_buf escape;
    unsigned char *bytes;
    unsigned long size;
} jpeg_encoder;

static void on_jpeg_error(j_common_ptr info) { longjmp(((jpeg_encoder *)info)->escape, 1); }
static void on_jpeg_message(j_common_ptr info, int level) {
    (void)info;
    (void)level;
}

static bool write_jpeg(const avatar_bitmap *bitmap, int quality, bool is_progressive, jpeg_encoder *encoder) {
    struct jpeg_compress_struct *info = &encoder->info;
    if (setjmp(encoder->escape)) return false;
    jpeg_create_compress(info);
    jpeg_mem_dest(info, &encoder->bytes, &encoder->size);
    info->image_width = (JDIMENSION)bitmap->width;
    info->image_height = (JDIMENSION)bitmap->height;
    info->input_components = bitmap->channels;
    info->in_color_space = bitmap->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(info);
    jpeg_set_quality(info, quality, TRUE);
    bool is_small = bitmap->width <= SMALL_SIDE && bitmap->height <= SMALL_SIDE;
    if (is_small && quality >= WORTH_COLOURS) info->comp_info[0].h_samp_factor = info->comp_info[0].v_samp_factor = 1;
    info->optimize_coding = TRUE;
    if (is_progressive) jpeg_simple_progression(info);
    jpeg_start_compress(info, TRUE);
    size_t stride = (size_t)bitmap->width * (size_t)bitmap->channels;
    while (info->next_scanline < info->image_height) {
        JSAMPROW row = bitmap->pixels + info->next_scanline * stride;
        jpeg_write_scanlines(info, &row, 1);
    }
    jpeg_finish_compress(info);
    return true;
}

static uint8_t *jpeg(const avatar_bitmap *bitmap, int quality, bool is_progressive, size_t *size) {
    // Room for any output, because libjpeg loses its buffer if it cannot enlarge it.
    size_t room = (size_t)bitmap->width * (size_t)bitmap->height * 4 + 65536;
    unsigned char *own = malloc(room);
    if (!own) return NULL;
    jpeg_encoder encoder = {.bytes = own, .size = room};
    encoder.info.err = jpeg_std_error(&encoder.error);
    encoder.error.error_exit = on_jpeg_error;
    encoder.error.emit_message = on_jpeg_message;
    bool is_written = write_jpeg(bitmap, quality, is_progressive, &encoder);
    jpeg_destroy_compress(&encoder.info);
    *size = encoder.size;
    if (encoder.bytes != own || !is_written) free(own);
    return is_written ? encoder.bytes : NULL;
}

uint8_t *avatar_encode_jpeg(const avatar_bitmap *bitmap, int quality, size_t *size) {
    uint8_t *bytes = jpeg(bitmap, quality, false, size);
    if (!bytes || *size < WORTH_PROGRESSION) return bytes;
    size_t progressive_size = 0;
    uint8_t *progressive = jpeg(bitmap, quality, true, &progressive_size);
    if (!progressive || progressive_size >= *size) {
        free(progressive);
        return bytes;
    }
    free(bytes);
    *size = progressive_size;
    return progressive;
}

typedef struct {
    uint8_t *bytes;
    size_t size, capacity;
} buffer;

static void on_png_error(png_structp png, png_const_charp message) {
    (void)message;
    png_longjmp(png, 1);
}

static void on_png_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

static void on_png_write(png_structp png, png_bytep bytes, size_t count) {
    buffer *buffer = png_get_io_ptr(png);
    if (buffer->size + count > buffer->capacity) {
        size_t capacity = (buffer->size + count) * 2;
        uint8_t *larger = realloc(buffer->bytes, capacity);
        if (!larger) png_error(png, "");
        buffer->bytes = larger;
        buffer->capacity = capacity;
    }
    memcpy(buffer->bytes + buffer->size, bytes, count);
    buffer->size += count;
}

static void on_png_flush(png_structp png) { (void)png; }

static bool write_png(const avatar_bitmap *bitmap, png_structp png, png_infop info, buffer *buffer) {
    static const int types[] = {
        PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA,
    };
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_write_fn(png, buffer, on_png_write, on_png_flush);
    png_set_IHDR(
        png, info, (png_uint_32)bitmap->width, (png_uint_32)bitmap->height, 8, types[bitmap->channels - 1],
        PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT
    );
    png_write_info(png, info);
    size_t stride = (size_t)bitmap->width * (size_t)bitmap->channels;
    for (int y = 0; y < bitmap->height; y++) png_write_row(png, bitmap->pixels + (size_t)y * stride);
    png_write_end(png, info);
    return true;
}

uint8_t *avatar_encode_png(const avatar_bitmap *bitmap, size_t *size) {
    buffer buffer = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_png_error, on_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    bool is_written = info && write_png(bitmap, png, info, &buffer);
    png_destroy_write_struct(&png, &info);
    if (is_written) {
        *size = buffer.size;
        return buffer.bytes;
    }
    free(buffer.bytes);
    return NULL;
}

/// The image with three or four channels, as libwebp requires.
static uint8_t *coloured(const avatar_bitmap *bitmap) {
    size_t pixels = (size_t)bitmap->width * (size_t)bitmap->height, from = (size_t)bitmap->channels, to = from + 2;
    uint8_t *result = malloc(pixels * to);
    for (size_t i = 0; result && i < pixels; i++) {
        memset(result + i * to, bitmap->pixels[i * from], 3);
        if (to == 4) result[i * 4 + 3] = bitmap->pixels[i * 2 + 1];
    }
    return result;
}

uint8_t *avatar_encode_webp(const avatar_bitmap *bitmap, int quality, size_t *size) {
    WebPConfig config;
    WebPPicture image;
    if (!WebPConfigPreset(&config, WEBP_PRESET_PICTURE, (float)quality) || !WebPPictureInit(&image)) return NULL;
    // WebP halves the resolution of colours. This option weights them by perception, and takes longer.
    bool is_small = bitmap->width <= SMALL_SIDE && bitmap->height <= SMALL_SIDE;
    config.use_sharp_yuv = is_small;
    uint8_t *colours = bitmap->channels < 3 ? coloured(bitmap) : bitmap->pixels;
    if (!colours) return NULL;
    int channels = bitmap->channels < 3 ? bitmap->channels + 2 : bitmap->channels;
    WebPMemoryWriter writer;
    WebPMemoryWriterInit(&writer);
    image.width = bitmap->width;
    image.height = bitmap->height;
    // Keeps RGB until the encoder converts it.
    image.use_argb = is_small;
    image.writer = WebPMemoryWrite;
    image.custom_ptr = &writer;
    int stride = bitmap->width * channels;
    bool is_written = channels == 4 ? WebPPictureImportRGBA(&image, colours, stride)
                                    : WebPPictureImportRGB(&image, colours, stride);
    is_written = is_written && WebPEncode(&config, &image);
    WebPPictureFree(&image);
    if (colours != bitmap->pixels) free(colours);
    if (is_written) {
        *size = writer.size;
        return writer.mem;
    }
    WebPMemoryWriterClear(&writer);
    return NULL;
}
#endif
