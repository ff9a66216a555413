// JPEG, with libjpeg-turbo. The library scales large images in the inverse transform, to at least twice the rendition.
#ifdef AVATAR_RENDITIONS
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

#include "Internal.h"

/// The limit on the scans of a progressive image. A scan costs time for all pixels, even if it has few bytes.
#define MOST_SCANS 100

typedef struct {
    struct jpeg_error_mgr base;
    jmp_buf escape;
    int status;
} error_manager;

/// The values that must survive a longjmp out of the library.
typedef struct {
    struct jpeg_decompress_struct info;
    error_manager error;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    JSAMPLE *row;
} decoder;

_Noreturn static void leave(j_common_ptr info, int status) {
    error_manager *error = (error_manager *)info->err;
    error->status = status;
    longjmp(error->escape, 1);
}

static void on_error(j_common_ptr info) {
    switch (info->err->msg_code) {
        case JERR_OUT_OF_MEMORY: leave(info, AVATAR_NO_MEMORY);
        case JERR_ARITH_NOTIMPL:
        case JERR_BAD_PRECISION:
        case JERR_SOF_UNSUPPORTED:
        case JERR_CONVERSION_NOTIMPL: leave(info, AVATAR_UNSUPPORTED);
        default: leave(info, AVATAR_DAMAGED);
    }
}

/// A warning is an error if it means that pixels are missing or wrong.
static void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;
    switch (info->err->msg_code) {
        case JWRN_HIT_MARKER:
        case JWRN_JPEG_EOF: leave(info, AVATAR_TRUNCATED);
        case JWRN_HUFF_BAD_CODE:
        case JWRN_ARITH_BAD_CODE:
        case JWRN_BOGUS_PROGRESSION:
        case JWRN_MUST_RESYNC: leave(info, AVATAR_DAMAGED);
        default: return;
    }
}

static void ignore_output(j_common_ptr info) { (void)info; }
static void ignore(j_decompress_ptr info) { (void)info; }

static boolean on_end(j_decompress_ptr info) { leave((j_common_ptr)info, AVATAR_TRUNCATED); }

static void skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    if ((size_t)count > info->src->bytes_in_buffer) leave((j_common_ptr)info, AVATAR_TRUNCATED);
    info->src->next_input_byte += count;
    info->src->bytes_in_buffer -= (size_t)count;
}

static void watch_scans(j_common_ptr info) {
    if (info->is_decompressor && ((j_decompress_ptr)info)->input_scan_number > MOST_SCANS) leave(info, AVATAR_UNSUPPORTED);
}

static void take_metadata(avatar_work *work, decoder *decoder) {
    for (jpeg_saved_marker_ptr marker = decoder->info.marker_list; marker; marker = marker->next) {
        bool is_exif = marker->marker == JPEG_APP0 + 1 && marker->data_length > 6 &&
            memcmp(marker->data, "Exif\0", 6) == 0;
        if (!is_exif) continue;
        work->orientation = avatar_exif_orientation(marker->data + 6, marker->data_length - 6);
        break;
    }
    JOCTET *profile = NULL;
    unsigned size = 0;
    if (jpeg_read_icc_profile(&decoder->info, &profile, &size)) {
        work->profile = profile;
        work->profile_size = size;
    }
}

static void choose_colours(avatar_work *work, decoder *decoder) {
    struct jpeg_decompress_struct *info = &decoder->info;
    switch (info->jpeg_color_space) {
        case JCS_GRAYSCALE: info->out_color_space = JCS_GRAYSCALE; break;
        case JCS_CMYK:
        case JCS_YCCK:
            info->out_color_space = JCS_CMYK;
            // Adobe programs store 255 for no ink, and mark the file as theirs.
            work->colour = info->saw_Adobe_marker ? AVATAR_INVERTED_CMYK : AVATAR_CMYK;
            break;
        case JCS_RGB:
        case JCS_YCbCr: info->out_color_space = JCS_RGB; break;
        default: leave((j_common_ptr)info, AVATAR_UNSUPPORTED);
    }
}

static void choose_scale(const avatar_work *work, decoder *decoder) {
    static const unsigned scales[] = {1, 2, 4};
    decoder->info.scale_num = decoder->info.scale_denom = 8;
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        if (work->crop_width * scales[i] < 16.0 * work->target_width) continue;
        if (work->crop_height * scales[i] < 16.0 * work->target_height) continue;
        decoder->info.scale_num = scales[i];
        return;
    }
}

static bool decode(avatar_work *work, decoder *decoder) {
    struct jpeg_decompress_struct *info = &decoder->info;
    if (setjmp(decoder->error.escape)) return avatar_fail(work, decoder->error.status);
    jpeg_create_decompress(info);
    info->src = &decoder->source;
    jpeg_save_markers(info, JPEG_APP0 + 1, 0xFFFF);
    jpeg_save_markers(info, JPEG_APP0 + 2, 0xFFFF);
    jpeg_read_header(info, TRUE);
    if (!avatar_plan(work, info->image_width, info->image_height)) return false;
    if (info->arith_code) return avatar_fail(work, AVATAR_UNSUPPORTED);
    take_metadata(work, decoder);
    choose_colours(work, decoder);
    choose_scale(work, decoder);
    info->progress = &decoder->progress;
    jpeg_start_decompress(info);
    // Newer libraries also decode lossless JPEG, but do not scale it.
    double scale = info->output_width == info->image_width ? 1 : (double)info->scale_num / info->scale_denom;
    int width = (int)info->output_width, height = (int)info->output_height;
    decoder->row = malloc((size_t)width * (size_t)info->output_components);
    if (!decoder->row) return avatar_fail(work, AVATAR_NO_MEMORY);
    if (!avatar_begin_rows(
            work, width, height, info->image_width * scale, info->image_height * scale, info->output_components, false
        )) {
        return false;
    }
    while (info->output_scanline < info->output_height) {
        jpeg_read_scanlines(info, &decoder->row, 1);
        avatar_take_row(&work->sink, decoder->row);
    }
    jpeg_finish_decompress(info);
    return true;
}

bool avatar_decode_jpeg(avatar_work *work) {
    decoder decoder = {0};
    decoder.info.err = jpeg_std_error(&decoder.error.base);
    decoder.error.base.error_exit = on_error;
    decoder.error.base.emit_message = on_message;
    decoder.error.base.output_message = ignore_output;
    decoder.source = (struct jpeg_source_mgr){
        .next_input_byte = work->bytes,
        .bytes_in_buffer = work->size,
        .init_source = ignore,
        .fill_input_buffer = on_end,
        .skip_input_data = skip,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = ignore,
    };
    decoder.progress.progress_monitor = watch_scans;
    bool is_decoded = decode(work, &decoder);
    jpeg_destroy_decompress(&decoder.info);
    free(decoder.row);
    return is_decoded;
}
#endif
