// GIF, with giflib: the first frame on its canvas, row by row. Only an interlaced frame is held in memory as a whole.
#ifdef AVATAR_RENDITIONS
#include <stdlib.h>
#include <string.h>

#include <gif_lib.h>

#include "Internal.h"

/// The unread rest of the file.
typedef struct {
    const uint8_t *bytes;
    size_t left;
    bool has_ended;
} source;

/// A frame and the canvas around it.
typedef struct {
    int width, height;
    int x, y, frame_width, frame_height;
    bool is_interlaced;
    const ColorMapObject *colours;
    int transparent;
} frame;

static int on_read(GifFileType *gif, GifByteType *to, int count) {
    source *source = gif->UserData;
    if (count < 0 || (size_t)count > source->left) {
        source->has_ended = true;
        count = (int)source->left;
    }
    memcpy(to, source->bytes, (size_t)count);
    source->bytes += count;
    source->left -= (size_t)count;
    return count;
}

static bool skip_extension(GifFileType *gif, int *transparent) {
    int code;
    GifByteType *block;
    if (DGifGetExtension(gif, &code, &block) != GIF_OK) return false;
    while (block) {
        GraphicsControlBlock control;
        if (code == GRAPHICS_EXT_FUNC_CODE && transparent && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
            *transparent = control.TransparentColor;
        }
        if (DGifGetExtensionNext(gif, &block) != GIF_OK) return false;
    }
    return true;
}

/// Finds the first frame.
static bool find_frame(GifFileType *gif, frame *frame) {
    frame->transparent = NO_TRANSPARENT_COLOR;
    GifRecordType type;
    do {
        if (DGifGetRecordType(gif, &type) != GIF_OK || type == TERMINATE_RECORD_TYPE) return false;
        if (type == EXTENSION_RECORD_TYPE && !skip_extension(gif, &frame->transparent)) return false;
    } while (type != IMAGE_DESC_RECORD_TYPE);
    if (DGifGetImageDesc(gif) != GIF_OK) return false;
    frame->x = gif->Image.Left;
    frame->y = gif->Image.Top;
    frame->frame_width = gif->Image.Width;
    frame->frame_height = gif->Image.Height;
    frame->is_interlaced = gif->Image.Interlace;
    frame->colours = gif->Image.ColorMap ? gif->Image.ColorMap : gif->SColorMap;
    // A frame that exceeds the canvas enlarges it, as in browsers.
    int right = frame->x + frame->frame_width, bottom = frame->y + frame->frame_height;
    frame->width = gif->SWidth > right ? gif->SWidth : right;
    frame->height = gif->SHeight > bottom ? gif->SHeight : bottom;
    return frame->frame_width > 0 && frame->frame_height > 0 && frame->x >= 0 && frame->y >= 0;
}

/// Converts indexes to colours. An index outside the palette is black, as in browsers.
static void put_pixels(const frame *frame, const GifByteType *indexes, uint8_t *row, int channels) {
    uint8_t *pixel = row + (size_t)frame->x * (size_t)channels;
    for (int x = 0; x < frame->frame_width; x++, pixel += channels) {
        int index = indexes[x];
        bool is_known = frame->colours && index < frame->colours->ColorCount;
        GifColorType colour = is_known ? frame->colours->Colors[index] : (GifColorType){0, 0, 0};
        pixel[0] = colour.Red;
        pixel[1] = colour.Green;
        pixel[2] = colour.Blue;
        if (channels == 4) pixel[3] = index == frame->transparent ? 0 : 255;
    }
}

/// The rows of an interlaced frame in their order.
static bool read_interlaced(GifFileType *gif, const frame *frame, GifByteType *indexes) {
    static const int starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    for (int pass = 0; pass < 4; pass++) {
        for (int y = starts[pass]; y < frame->frame_height; y += steps[pass]) {
            GifByteType *line = indexes + (size_t)y * (size_t)frame->frame_width;
            if (DGifGetLine(gif, line, frame->frame_width) != GIF_OK) return false;
        }
    }
    return true;
}

static bool take_rows(avatar_work *work, GifFileType *gif, const frame *frame) {
    bool covers = frame->width == frame->frame_width && frame->height == frame->frame_height;
    int channels = covers && frame->transparent == NO_TRANSPARENT_COLOR ? 3 : 4;
    size_t line_size = (size_t)frame->frame_width, row_size = (size_t)frame->width * (size_t)channels;
    GifByteType *indexes = malloc(frame->is_interlaced ? line_size * (size_t)frame->frame_height : line_size);
    uint8_t *row = malloc(row_size);
    bool is_fine = indexes && row && avatar_begin_rows(
        work, frame->width, frame->height, frame->width, frame->height, channels, channels == 4
    );
    if (!indexes || !row) avatar_fail(work, AVATAR_NO_MEMORY);
    if (is_fine && frame->is_interlaced) is_fine = read_interlaced(gif, frame, indexes);
    for (int y = 0; is_fine && y < frame->height; y++) {
        int line = y - frame->y;
        memset(row, 0, row_size);
        if (line >= 0 && line < frame->frame_height) {
            if (!frame->is_interlaced) is_fine = DGifGetLine(gif, indexes, frame->frame_width) == GIF_OK;
            put_pixels(frame, indexes + (frame->is_interlaced ? (size_t)line * line_size : 0), row, channels);
        }
        avatar_take_row(&work->sink, row);
    }
    free(indexes);
    free(row);
    return is_fine;
}

/// Skips the other frames to the end. A file without an end is truncated.
static bool skip_rest(GifFileType *gif) {
    for (;;) {
        GifRecordType type;
        if (DGifGetRecordType(gif, &type) != GIF_OK) return false;
        if (type == TERMINATE_RECORD_TYPE) return true;
        if (type == EXTENSION_RECORD_TYPE) {
            if (!skip_extension(gif, NULL)) return false;
        } else if (type == IMAGE_DESC_RECORD_TYPE) {
            int size;
            GifByteType *block;
            if (DGifGetImageDesc(gif) != GIF_OK || DGifGetCode(gif, &size, &block) != GIF_OK) return false;
            while (block) {
                if (DGifGetCodeNext(gif, &block) != GIF_OK) return false;
            }
        }
    }
}

bool avatar_decode_gif(avatar_work *work) {
    source source = {work->bytes, work->size, false};
    int error = 0;
    GifFileType *gif = DGifOpen(&source, on_read, &error);
    bool is_decoded = false;
    frame frame = {0};
    if (gif && find_frame(gif, &frame) && avatar_plan(work, (uint32_t)frame.width, (uint32_t)frame.height)) {
        is_decoded = take_rows(work, gif, &frame) && skip_rest(gif);
    }
    if (!is_decoded) {
        bool lacks_memory = gif ? gif->Error == D_GIF_ERR_NOT_ENOUGH_MEM : error == D_GIF_ERR_NOT_ENOUGH_MEM;
        avatar_fail(work, source.has_ended ? AVATAR_TRUNCATED : lacks_memory ? AVATAR_NO_MEMORY : AVATAR_DAMAGED);
    }
    if (gif) DGifCloseFile(gif, &error);
    return is_decoded;
}
#endif
