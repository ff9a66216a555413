// The parts of the decoder, and their common types. Each image has one `avatar_work`.
#ifndef C_AVATAR_DECODER_INTERNAL_H
#define C_AVATAR_DECODER_INTERNAL_H

#include <stdbool.h>

#include "include/CAvatarDecoder.h"

/// The flag that keeps a closed socket from killing the process.
#ifdef MSG_NOSIGNAL
#define NO_SIGNAL MSG_NOSIGNAL
#else
#define NO_SIGNAL 0
#endif

/// One more than the number of output rows that a source row contributes to.
#define AVATAR_RING 16

/// The longer side, in pixels, of the image from which the ThumbHash is made.
#define AVATAR_THUMB_SIDE 48

/// An image in memory, 8 bits a channel: 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA or CMYK.
typedef struct {
    int width, height, channels;
    bool has_alpha;
    uint8_t *pixels;
} avatar_bitmap;

/// The weights that make each sample of an output line from samples of an input line.
typedef struct {
    int *first, *count;
    float *weights;
    int stride;
} avatar_taps;

/// Takes the rows of a decoder, top to bottom, and makes two smaller images: the rendition with a Lanczos filter, and the
/// source of the ThumbHash by averaging. It never holds the whole original.
typedef struct {
    int width, height, channels;
    bool has_alpha;
    /// The number of columns, and of rows, of the original that are first averaged to one cell.
    int reduce;
    int cells_across, cells_down;
    float *cells;
    int rows_taken, rows_in_cells, cell_rows;
    avatar_taps columns, rows;
    float *ring[AVATAR_RING];
    int next_row;
    avatar_bitmap bitmap;
    int thumb_width, thumb_height;
    int *thumb_columns;
    float *thumb_sums, *thumb_counts;
} avatar_sink;

/// The colour model of the samples.
typedef enum { AVATAR_GRAY_OR_RGB, AVATAR_CMYK, AVATAR_INVERTED_CMYK } avatar_colour;

/// The work on one image.
typedef struct {
    const avatar_request *request;
    const uint8_t *bytes;
    size_t size;
    avatar_answer *answer;
    /// The size of the original, the part that the rendition shows, and the size of the rendition. `avatar_plan` sets them.
    double width, height;
    double crop_x, crop_y, crop_width, crop_height;
    int target_width, target_height;
    avatar_sink sink;
    /// The orientation, 1 to 8 as in EXIF.
    int orientation;
    avatar_colour colour;
    /// The embedded colour profile, in malloc; NULL without one.
    uint8_t *profile;
    size_t profile_size;
    /// From PNG's gAMA and cHRM: the exponent, and the white point and primaries as x and y. 0 if not stated.
    double gamma, chromaticities[8];
} avatar_work;

// Render.c
/// Checks the size of an original, and plans the rendition. Returns false if the image has no pixels or too many.
bool avatar_plan(avatar_work *work, uint32_t width, uint32_t height);
/// Records why the rendition cannot be made, unless a reason is recorded already. Always returns false.
bool avatar_fail(avatar_work *work, int status);

// Resample.c
/// Prepares for rows of `width` pixels. `exact_width` and `exact_height` are the size of the original in pixels of these
/// rows: the last row and column may be partly outside.
bool avatar_begin_rows(
    avatar_work *work, int width, int height, double exact_width, double exact_height, int channels, bool has_alpha
);
void avatar_take_row(avatar_sink *sink, const uint8_t *row);
/// Makes the source of the ThumbHash. Returns false without memory.
bool avatar_take_thumb(const avatar_sink *sink, avatar_bitmap *thumb);
void avatar_free_sink(avatar_sink *sink);
/// Scales an image down with a Lanczos filter. Returns false without memory.
bool avatar_shrink(const avatar_bitmap *from, int width, int height, avatar_bitmap *to);

// Decode*.c: return false after `avatar_fail`.
bool avatar_decode_jpeg(avatar_work *work);
bool avatar_decode_png(avatar_work *work);
bool avatar_decode_webp(avatar_work *work);
bool avatar_decode_gif(avatar_work *work);

// Encode.c: return the file, from malloc, or NULL without memory.
uint8_t *avatar_encode_jpeg(const avatar_bitmap *bitmap, int quality, size_t *size);
uint8_t *avatar_encode_png(const avatar_bitmap *bitmap, size_t *size);
uint8_t *avatar_encode_webp(const avatar_bitmap *bitmap, int quality, size_t *size);

// Colour.c
/// Makes the sRGB profile. Call it before the sandbox, because it reads the time zone.
void avatar_prepare_colours(void);
/// Converts to gray or RGB of sRGB.
bool avatar_convert_colours(avatar_work *work, avatar_bitmap *bitmap);

// Bitmap.c
/// The orientation in a block of EXIF that starts with the byte order; 1 if it states none.
int avatar_exif_orientation(const uint8_t *bytes, size_t size);
bool avatar_orient(avatar_bitmap *bitmap, int orientation);
/// Drops an alpha channel that is opaque everywhere.
void avatar_drop_opaque_alpha(avatar_bitmap *bitmap);
/// Composes the image on white.
void avatar_flatten(avatar_bitmap *bitmap);

// ThumbHash.c
uint32_t avatar_thumb_hash(const avatar_bitmap *bitmap, uint8_t hash[25]);

// Sandbox.c
/// Drops all rights that decoding does not need. Returns 1 in the sandbox, or 0 if the system has no filter; limits are set.
int avatar_enter_sandbox(void);
/// Tries a forbidden system call, to test the sandbox. Returns 1 if the call returned, 0 for "nothing", -1 for unknown names.
int avatar_attempt(const char *name);

#endif
