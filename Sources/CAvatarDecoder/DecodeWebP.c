// WebP, with libwebp: the first frame on its canvas.
#ifdef AVATAR_RENDITIONS
#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>
#include <webp/demux.h>

#include "Internal.h"

static void take_metadata(avatar_work *work, const WebPDemuxer *demuxer) {
    WebPChunkIterator chunk;
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
        // Some programs keep the prefix of the EXIF block in JPEG.
        const uint8_t *exif = chunk.chunk.bytes;
        size_t size = chunk.chunk.size, skip = size > 6 && memcmp(exif, "Exif\0", 6) == 0 ? 6 : 0;
        work->orientation = avatar_exif_orientation(exif + skip, size - skip);
        WebPDemuxReleaseChunkIterator(&chunk);
    }
    if (WebPDemuxGetChunk(demuxer, "ICCP", 1, &chunk)) {
        work->profile = chunk.chunk.size > 0 ? malloc(chunk.chunk.size) : NULL;
        if (work->profile) {
            memcpy(work->profile, chunk.chunk.bytes, chunk.chunk.size);
            work->profile_size = chunk.chunk.size;
        }
        WebPDemuxReleaseChunkIterator(&chunk);
    }
}

/// Lets the library scale a large image while it decodes, to at least twice the rendition. Not with transparency, because
/// the library would mix in the colours of transparent pixels.
static void choose_scale(const avatar_work *work, WebPDecoderConfig *config) {
    double across = work->crop_width / work->target_width, down = work->crop_height / work->target_height;
    int factor = (int)((across < down ? across : down) / 2);
    if (factor < 2) return;
    config->options.use_scaling = 1;
    config->options.scaled_width = (config->input.width + factor - 1) / factor;
    config->options.scaled_height = (config->input.height + factor - 1) / factor;
}

/// Passes on the rows of the canvas, which is transparent around the frame.
static bool take_rows(avatar_work *work, const WebPIterator *frame, const WebPDecBuffer *output, int width, int height) {
    const uint8_t *pixels = output->u.RGBA.rgba;
    size_t stride = (size_t)output->u.RGBA.stride;
    bool has_alpha = output->colorspace == MODE_RGBA;
    if (!has_alpha) {
        if (!avatar_begin_rows(work, output->width, output->height, output->width, output->height, 3, false)) return false;
        for (int y = 0; y < output->height; y++) avatar_take_row(&work->sink, pixels + (size_t)y * stride);
        return true;
    }
    uint8_t *row = calloc((size_t)width, 4);
    if (!row) return avatar_fail(work, AVATAR_NO_MEMORY);
    bool can_begin = avatar_begin_rows(work, width, height, width, height, 4, true);
    for (int y = 0; can_begin && y < height; y++) {
        int line = y - frame->y_offset;
        memset(row, 0, (size_t)width * 4);
        if (line >= 0 && line < frame->height) {
            memcpy(row + (size_t)frame->x_offset * 4, pixels + (size_t)line * stride, (size_t)frame->width * 4);
        }
        avatar_take_row(&work->sink, row);
    }
    free(row);
    return can_begin;
}

static bool decode_frame(avatar_work *work, const WebPIterator *frame, int width, int height) {
    WebPDecoderConfig config;
    if (!WebPInitDecoderConfig(&config)) return false;
    const uint8_t *bytes = frame->fragment.bytes;
    VP8StatusCode code = WebPGetFeatures(bytes, frame->fragment.size, &config.input);
    if (code != VP8_STATUS_OK) return avatar_fail(work, AVATAR_DAMAGED);
    // The library refuses other sizes, but copying the rows relies on it.
    if (config.input.width != frame->width || config.input.height != frame->height || frame->x_offset < 0 ||
        frame->y_offset < 0 || frame->x_offset + frame->width > width || frame->y_offset + frame->height > height) {
        return avatar_fail(work, AVATAR_DAMAGED);
    }
    bool covers = frame->width == width && frame->height == height;
    config.output.colorspace = config.input.has_alpha || !covers ? MODE_RGBA : MODE_RGB;
    if (config.output.colorspace == MODE_RGB) choose_scale(work, &config);
    code = WebPDecode(bytes, frame->fragment.size, &config);
    bool is_decoded = code == VP8_STATUS_OK && take_rows(work, frame, &config.output, width, height);
    WebPFreeDecBuffer(&config.output);
    if (is_decoded) return true;
    switch (code) {
        case VP8_STATUS_OUT_OF_MEMORY: return avatar_fail(work, AVATAR_NO_MEMORY);
        case VP8_STATUS_SUSPENDED:
        case VP8_STATUS_NOT_ENOUGH_DATA: return avatar_fail(work, AVATAR_TRUNCATED);
        default: return avatar_fail(work, AVATAR_DAMAGED);
    }
}

bool avatar_decode_webp(avatar_work *work) {
    WebPData data = {work->bytes, work->size};
    WebPDemuxState state;
    WebPDemuxer *demuxer = WebPDemuxPartial(&data, &state);
    if (!demuxer) return avatar_fail(work, state == WEBP_DEMUX_PARSE_ERROR ? AVATAR_DAMAGED : AVATAR_TRUNCATED);
    bool is_decoded = false;
    uint32_t width = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH), height = WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT);
    if (state != WEBP_DEMUX_DONE) {
        avatar_fail(work, state == WEBP_DEMUX_PARSE_ERROR ? AVATAR_DAMAGED : AVATAR_TRUNCATED);
    } else if (avatar_plan(work, width, height)) {
        take_metadata(work, demuxer);
        WebPIterator frame;
        if (WebPDemuxGetFrame(demuxer, 1, &frame)) {
            is_decoded = decode_frame(work, &frame, (int)width, (int)height);
            WebPDemuxReleaseIterator(&frame);
        }
    }
    WebPDemuxDelete(demuxer);
    return is_decoded || avatar_fail(work, AVATAR_DAMAGED);
}
#endif
