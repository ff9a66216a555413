// ThumbHash by Evan Wallace: a blurred image in at most 25 bytes (https://evanw.github.io/thumbhash/).
#ifdef AVATAR_RENDITIONS
#include <math.h>
#include <stdlib.h>

#include "Internal.h"

#define MOST_PIXELS (AVATAR_THUMB_SIDE * AVATAR_THUMB_SIDE)

/// A channel as the strengths of waves: the mean, the others from 0 to 1, and the scale of the latter.
typedef struct {
    double mean, scale, waves[28];
    int count;
} channel;

static channel encode(const float *values, int width, int height, int across, int down) {
    channel result = {0};
    for (int cy = 0; cy < down; cy++) {
        for (int cx = 0; cx * down < across * (down - cy); cx++) {
            double sum = 0, waves[AVATAR_THUMB_SIDE];
            for (int x = 0; x < width; x++) waves[x] = cos(M_PI / width * cx * (x + 0.5));
            for (int y = 0; y < height; y++) {
                double line = 0;
                for (int x = 0; x < width; x++) line += values[y * width + x] * waves[x];
                sum += line * cos(M_PI / height * cy * (y + 0.5));
            }
            sum /= width * height;
            if (cx == 0 && cy == 0) {
                result.mean = sum;
            } else {
                result.waves[result.count++] = sum;
                result.scale = fmax(result.scale, fabs(sum));
            }
        }
    }
    for (int i = 0; i < result.count && result.scale > 0; i++) {
        result.waves[i] = 0.5 + 0.5 / result.scale * result.waves[i];
    }
    return result;
}

static uint32_t whole(double value, uint32_t most) {
    double rounded = floor(value + 0.5);
    return rounded <= 0 ? 0 : rounded >= most ? most : (uint32_t)rounded;
}

static void read_pixel(const avatar_bitmap *bitmap, size_t index, double *rgba) {
    const uint8_t *pixel = bitmap->pixels + index * (size_t)bitmap->channels;
    bool is_gray = bitmap->channels < 3;
    for (int c = 0; c < 3; c++) rgba[c] = pixel[is_gray ? 0 : c] / 255.0;
    rgba[3] = bitmap->has_alpha ? pixel[bitmap->channels - 1] / 255.0 : 1;
}

uint32_t avatar_thumb_hash(const avatar_bitmap *bitmap, uint8_t hash[25]) {
    int width = bitmap->width, height = bitmap->height, longer = width > height ? width : height;
    size_t pixels = (size_t)width * (size_t)height;
    if (pixels == 0 || pixels > MOST_PIXELS) return 0;
    double mean[4] = {0}, rgba[4];
    for (size_t i = 0; i < pixels; i++) {
        read_pixel(bitmap, i, rgba);
        for (int c = 0; c < 3; c++) mean[c] += rgba[3] * rgba[c];
        mean[3] += rgba[3];
    }
    for (int c = 0; c < 3 && mean[3] > 0; c++) mean[c] /= mean[3];

    bool has_alpha = mean[3] < (double)pixels;
    int limit = has_alpha ? 5 : 7;
    int across = (int)fmax(1, floor((double)limit * width / longer + 0.5));
    int down = (int)fmax(1, floor((double)limit * height / longer + 0.5));
    static float light[MOST_PIXELS], yellow_blue[MOST_PIXELS], red_green[MOST_PIXELS], alpha[MOST_PIXELS];
    for (size_t i = 0; i < pixels; i++) {
        read_pixel(bitmap, i, rgba);
        for (int c = 0; c < 3; c++) rgba[c] = mean[c] * (1 - rgba[3]) + rgba[3] * rgba[c];
        light[i] = (float)((rgba[0] + rgba[1] + rgba[2]) / 3);
        yellow_blue[i] = (float)((rgba[0] + rgba[1]) / 2 - rgba[2]);
        red_green[i] = (float)(rgba[0] - rgba[1]);
        alpha[i] = (float)rgba[3];
    }
    channel l = encode(light, width, height, across < 3 ? 3 : across, down < 3 ? 3 : down);
    channel channels[] = {
        l, encode(yellow_blue, width, height, 3, 3), encode(red_green, width, height, 3, 3),
        has_alpha ? encode(alpha, width, height, 5, 5) : (channel){0},
    };
    bool is_landscape = width > height;
    uint32_t head = whole(63 * l.mean, 63) | whole(31.5 + 31.5 * channels[1].mean, 63) << 6 |
        whole(31.5 + 31.5 * channels[2].mean, 63) << 12 | whole(31 * l.scale, 31) << 18 | (has_alpha ? 1u << 23 : 0);
    uint32_t shape = (uint32_t)(is_landscape ? down : across) | whole(63 * channels[1].scale, 63) << 3 |
        whole(63 * channels[2].scale, 63) << 9 | (is_landscape ? 1u << 15 : 0);
    hash[0] = (uint8_t)head;
    hash[1] = (uint8_t)(head >> 8);
    hash[2] = (uint8_t)(head >> 16);
    hash[3] = (uint8_t)shape;
    hash[4] = (uint8_t)(shape >> 8);
    uint32_t start = 5, nibbles = 0;
    if (has_alpha) hash[start++] = (uint8_t)(whole(15 * channels[3].mean, 15) | whole(15 * channels[3].scale, 15) << 4);
    for (int c = 0; c < (has_alpha ? 4 : 3); c++) {
        for (int i = 0; i < channels[c].count; i++, nibbles++) {
            uint8_t value = (uint8_t)whole(15 * channels[c].waves[i], 15);
            if (nibbles % 2 == 0) hash[start + nibbles / 2] = value;
            else hash[start + nibbles / 2] |= (uint8_t)(value << 4);
        }
    }
    return start + (nibbles + 1) / 2;
}
#endif
