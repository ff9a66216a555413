// Scaling: averages whole blocks while the source is much larger, then applies a Lanczos filter, first vertically.
//
// It scales coded samples, not linear light, like most other programs.
#ifdef AVATAR_RENDITIONS
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

static const double pi = 3.14159265358979323846;

static double lanczos(double x) {
    if (x <= -3 || x >= 3) return 0;
    if (fabs(x) < 1e-9) return 1;
    return 3 * sin(pi * x) * sin(pi * x / 3) / (pi * pi * x * x);
}

/// The weights for `count` output samples from `start` to `end` of `available` input samples.
static bool make_taps(avatar_taps *taps, int available, double start, double end, int count) {
    double scale = (end - start) / count, stretch = fmax(scale, 1), support = 3 * stretch;
    taps->stride = (int)ceil(support) * 2 + 2;
    taps->first = calloc((size_t)count, sizeof *taps->first);
    taps->count = calloc((size_t)count, sizeof *taps->count);
    taps->weights = calloc((size_t)count * (size_t)taps->stride, sizeof *taps->weights);
    if (!taps->first || !taps->count || !taps->weights) return false;
    for (int i = 0; i < count; i++) {
        double centre = start + (i + 0.5) * scale, sum = 0;
        int first = (int)fmax(0, floor(centre - support + 0.5)), last = (int)fmin(available, floor(centre + support + 0.5));
        if (first > available - 1) first = available - 1;
        if (last <= first) last = first + 1;
        if (last - first > taps->stride) last = first + taps->stride;
        float *weights = taps->weights + (size_t)i * (size_t)taps->stride;
        for (int j = first; j < last; j++) sum += weights[j - first] = (float)lanczos((j - centre + 0.5) / stretch);
        // If all weights are zero, use the nearest sample.
        if (fabs(sum) < 1e-6) sum = weights[0] = 1;
        for (int j = first; j < last; j++) weights[j - first] = (float)(weights[j - first] / sum);
        taps->first[i] = first;
        taps->count[i] = last - first;
    }
    return true;
}

static void free_taps(avatar_taps *taps) {
    free(taps->first);
    free(taps->count);
    free(taps->weights);
}

static bool begin(
    avatar_sink *sink, int width, int height, int channels, bool has_alpha, const double box[4], int target_width,
    int target_height
) {
    sink->width = width;
    sink->height = height;
    sink->channels = channels;
    sink->has_alpha = has_alpha;
    double across = (box[2] - box[0]) / target_width, down = (box[3] - box[1]) / target_height;
    int reduce = (int)(fmin(across, down) / 3);
    sink->reduce = reduce < 2 ? 1 : reduce;
    sink->cells_across = (width + sink->reduce - 1) / sink->reduce;
    sink->cells_down = (height + sink->reduce - 1) / sink->reduce;
    sink->bitmap = (avatar_bitmap){target_width, target_height, channels, has_alpha, NULL};
    int longer = sink->cells_across > sink->cells_down ? sink->cells_across : sink->cells_down;
    double thumb = fmin(1, (double)AVATAR_THUMB_SIDE / longer);
    sink->thumb_width = (int)fmax(1, round(sink->cells_across * thumb));
    sink->thumb_height = (int)fmax(1, round(sink->cells_down * thumb));

    size_t samples = (size_t)sink->cells_across * (size_t)channels;
    size_t thumb_pixels = (size_t)sink->thumb_width * (size_t)sink->thumb_height;
    bool has_memory = true;
    for (int i = 0; i < AVATAR_RING; i++) has_memory = (sink->ring[i] = calloc(samples, sizeof(float))) && has_memory;
    sink->cells = calloc(samples, sizeof(float));
    sink->bitmap.pixels = malloc((size_t)target_width * (size_t)target_height * (size_t)channels);
    sink->thumb_columns = calloc((size_t)sink->cells_across, sizeof(int));
    sink->thumb_sums = calloc(thumb_pixels * (size_t)channels, sizeof(float));
    sink->thumb_counts = calloc(thumb_pixels, sizeof(float));
    if (!has_memory || !sink->cells || !sink->bitmap.pixels || !sink->thumb_columns || !sink->thumb_sums ||
        !sink->thumb_counts) {
        return false;
    }
    for (int x = 0; x < sink->cells_across; x++) {
        sink->thumb_columns[x] = (int)((int64_t)x * sink->thumb_width / sink->cells_across);
    }
    double reduction = sink->reduce;
    return make_taps(&sink->columns, sink->cells_across, box[0] / reduction, box[2] / reduction, target_width) &&
        make_taps(&sink->rows, sink->cells_down, box[1] / reduction, box[3] / reduction, target_height);
}

bool avatar_begin_rows(
    avatar_work *work, int width, int height, double exact_width, double exact_height, int channels, bool has_alpha
) {
    double x = exact_width / work->width, y = exact_height / work->height;
    double box[4] = {
        work->crop_x * x, work->crop_y * y, (work->crop_x + work->crop_width) * x, (work->crop_y + work->crop_height) * y,
    };
    return begin(&work->sink, width, height, channels, has_alpha, box, work->target_width, work->target_height) ||
        avatar_fail(work, AVATAR_NO_MEMORY);
}

static uint8_t to_byte(float value) { return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)(value + 0.5f); }

/// Writes a pixel from its samples, whose colours are multiplied by alpha, and whose alpha is multiplied by 255.
static void put_pixel(uint8_t *pixel, const float *samples, int channels, bool has_alpha) {
    if (!has_alpha) {
        for (int c = 0; c < channels; c++) pixel[c] = to_byte(samples[c]);
        return;
    }
    float alpha = samples[channels - 1];
    pixel[channels - 1] = to_byte(alpha / 255);
    for (int c = 0; c < channels - 1; c++) pixel[c] = pixel[channels - 1] ? to_byte(samples[c] * 255 / alpha) : 0;
}

/// Writes a row of the image. Its samples are scaled vertically but not yet horizontally.
static void finish_row(avatar_sink *sink, const float *row) {
    int channels = sink->channels;
    uint8_t *pixel = sink->bitmap.pixels + (size_t)sink->next_row * (size_t)(sink->bitmap.width * channels);
    for (int x = 0; x < sink->bitmap.width; x++, pixel += channels) {
        const float *weights = sink->columns.weights + (size_t)x * (size_t)sink->columns.stride;
        const float *from = row + (size_t)sink->columns.first[x] * (size_t)channels;
        float sums[4] = {0};
        int count = sink->columns.count[x];
        if (channels == 3) {
            for (int i = 0; i < count; i++, from += 3) {
                for (int c = 0; c < 3; c++) sums[c] += weights[i] * from[c];
            }
        } else {
            for (int i = 0; i < count; i++, from += channels) {
                for (int c = 0; c < channels; c++) sums[c] += weights[i] * from[c];
            }
        }
        put_pixel(pixel, sums, channels, sink->has_alpha);
    }
    sink->next_row++;
}

/// Adds the row of cells to each output row that it contributes to.
static void take_cells(avatar_sink *sink) {
    int y = sink->cell_rows++, channels = sink->channels;
    size_t samples = (size_t)sink->cells_across * (size_t)channels;
    const float *restrict cells = sink->cells;
    for (int i = sink->next_row; i < sink->bitmap.height && sink->rows.first[i] <= y; i++) {
        float weight = sink->rows.weights[(size_t)i * (size_t)sink->rows.stride + (size_t)(y - sink->rows.first[i])];
        float *restrict row = sink->ring[i % AVATAR_RING];
        if (y == sink->rows.first[i]) {
            for (size_t s = 0; s < samples; s++) row[s] = weight * cells[s];
        } else {
            for (size_t s = 0; s < samples; s++) row[s] += weight * cells[s];
        }
    }
    while (sink->next_row < sink->bitmap.height &&
           sink->rows.first[sink->next_row] + sink->rows.count[sink->next_row] == y + 1) {
        finish_row(sink, sink->ring[sink->next_row % AVATAR_RING]);
    }
    size_t line = (size_t)((int64_t)y * sink->thumb_height / sink->cells_down) * (size_t)sink->thumb_width;
    for (int x = 0; x < sink->cells_across; x++) {
        size_t pixel = line + (size_t)sink->thumb_columns[x];
        sink->thumb_counts[pixel] += 1;
        for (int c = 0; c < channels; c++) {
            sink->thumb_sums[pixel * (size_t)channels + (size_t)c] += cells[x * channels + c];
        }
    }
}

/// Adds a row of the source to the cells, with colours multiplied by alpha, and alpha multiplied by 255.
static void add_row(avatar_sink *sink, const uint8_t *row) {
    int channels = sink->channels, x = 0;
    for (int cell = 0; cell < sink->cells_across; cell++) {
        int end = x + sink->reduce < sink->width ? x + sink->reduce : sink->width, count = end - x;
        uint32_t sums[4] = {0};
        for (; x < end; x++, row += channels) {
            uint32_t alpha = sink->has_alpha ? row[channels - 1] : 1;
            for (int c = 0; c < channels - 1; c++) sums[c] += row[c] * alpha;
            sums[channels - 1] += sink->has_alpha ? alpha * 255 : row[channels - 1];
        }
        for (int c = 0; c < channels; c++) sink->cells[cell * channels + c] += (float)sums[c] / (float)count;
    }
}

void avatar_take_row(avatar_sink *sink, const uint8_t *row) {
    size_t samples = (size_t)sink->cells_across * (size_t)sink->channels;
    if (sink->rows_taken == sink->height) return;
    sink->rows_taken++;
    if (sink->reduce == 1 && !sink->has_alpha) {
        for (size_t s = 0; s < samples; s++) sink->cells[s] = row[s];
        take_cells(sink);
        return;
    }
    add_row(sink, row);
    sink->rows_in_cells++;
    if (sink->rows_in_cells < sink->reduce && sink->rows_taken < sink->height) return;
    if (sink->rows_in_cells > 1) {
        float share = 1 / (float)sink->rows_in_cells;
        for (size_t s = 0; s < samples; s++) sink->cells[s] *= share;
    }
    take_cells(sink);
    memset(sink->cells, 0, samples * sizeof(float));
    sink->rows_in_cells = 0;
}

bool avatar_take_thumb(const avatar_sink *sink, avatar_bitmap *thumb) {
    size_t pixels = (size_t)sink->thumb_width * (size_t)sink->thumb_height, channels = (size_t)sink->channels;
    *thumb = (avatar_bitmap){sink->thumb_width, sink->thumb_height, sink->channels, sink->has_alpha, NULL};
    thumb->pixels = malloc(pixels * channels);
    if (!thumb->pixels) return false;
    for (size_t i = 0; i < pixels; i++) {
        float samples[4] = {0};
        for (size_t c = 0; c < channels; c++) {
            samples[c] = sink->thumb_sums[i * channels + c] / fmaxf(1, sink->thumb_counts[i]);
        }
        put_pixel(thumb->pixels + i * channels, samples, sink->channels, sink->has_alpha);
    }
    return true;
}

void avatar_free_sink(avatar_sink *sink) {
    free_taps(&sink->columns);
    free_taps(&sink->rows);
    for (int i = 0; i < AVATAR_RING; i++) free(sink->ring[i]);
    free(sink->cells);
    free(sink->bitmap.pixels);
    free(sink->thumb_columns);
    free(sink->thumb_sums);
    free(sink->thumb_counts);
}

bool avatar_shrink(const avatar_bitmap *from, int width, int height, avatar_bitmap *to) {
    avatar_sink sink = {0};
    double box[4] = {0, 0, from->width, from->height};
    bool has_memory = begin(&sink, from->width, from->height, from->channels, from->has_alpha, box, width, height);
    if (has_memory) {
        size_t stride = (size_t)from->width * (size_t)from->channels;
        for (int y = 0; y < from->height; y++) avatar_take_row(&sink, from->pixels + (size_t)y * stride);
        *to = sink.bitmap;
        sink.bitmap.pixels = NULL;
    }
    avatar_free_sink(&sink);
    return has_memory;
}
#endif
