// Small changes to decoded images: orientation and transparency.
#ifdef AVATAR_RENDITIONS
#include <stdlib.h>
#include <string.h>

#include "Internal.h"

static uint32_t integer(const uint8_t *bytes, int count, bool is_big) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) value |= (uint32_t)bytes[i] << (is_big ? 8 * (count - 1 - i) : 8 * i);
    return value;
}

int avatar_exif_orientation(const uint8_t *bytes, size_t size) {
    if (size < 8) return 1;
    bool is_big = memcmp(bytes, "MM\0\x2A", 4) == 0;
    if (!is_big && memcmp(bytes, "II\x2A\0", 4) != 0) return 1;
    size_t start = integer(bytes + 4, 4, is_big);
    if (start > size - 2) return 1;
    size_t count = integer(bytes + start, 2, is_big);
    for (size_t i = 0, entry = start + 2; i < count && entry + 12 <= size; i++, entry += 12) {
        if (integer(bytes + entry, 2, is_big) != 0x0112) continue;
        uint32_t value = integer(bytes + entry + 8, 2, is_big);
        bool is_short = integer(bytes + entry + 2, 2, is_big) == 3;
        return is_short && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

bool avatar_orient(avatar_bitmap *bitmap, int orientation) {
    if (orientation <= 1) return true;
    int width = bitmap->width, height = bitmap->height;
    size_t channels = (size_t)bitmap->channels;
    bool is_turned = orientation >= 5;
    uint8_t *pixels = malloc((size_t)width * (size_t)height * channels), *to = pixels;
    if (!pixels) return false;
    int new_width = is_turned ? height : width, new_height = is_turned ? width : height;
    for (int y = 0; y < new_height; y++) {
        for (int x = 0; x < new_width; x++, to += channels) {
            int from_x = is_turned ? y : x, from_y = is_turned ? x : y;
            if (orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8) from_x = width - 1 - from_x;
            if (orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7) from_y = height - 1 - from_y;
            memcpy(to, bitmap->pixels + ((size_t)from_y * (size_t)width + (size_t)from_x) * channels, channels);
        }
    }
    free(bitmap->pixels);
    bitmap->pixels = pixels;
    bitmap->width = new_width;
    bitmap->height = new_height;
    return true;
}

void avatar_drop_opaque_alpha(avatar_bitmap *bitmap) {
    if (!bitmap->has_alpha) return;
    size_t pixels = (size_t)bitmap->width * (size_t)bitmap->height, channels = (size_t)bitmap->channels;
    for (size_t i = 0; i < pixels; i++) {
        if (bitmap->pixels[i * channels + channels - 1] != 255) return;
    }
    for (size_t i = 0; i < pixels; i++) {
        memmove(bitmap->pixels + i * (channels - 1), bitmap->pixels + i * channels, channels - 1);
    }
    bitmap->channels--;
    bitmap->has_alpha = false;
}

void avatar_flatten(avatar_bitmap *bitmap) {
    if (!bitmap->has_alpha) return;
    size_t pixels = (size_t)bitmap->width * (size_t)bitmap->height, channels = (size_t)bitmap->channels;
    for (size_t i = 0; i < pixels; i++) {
        uint8_t *pixel = bitmap->pixels + i * channels;
        unsigned alpha = pixel[channels - 1];
        for (size_t c = 0; c < channels - 1; c++) {
            pixel[c] = (uint8_t)((pixel[c] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
        pixel[channels - 1] = 255;
    }
    avatar_drop_opaque_alpha(bitmap);
}
#endif
