// Colour profiles, with Little CMS. Conversion follows scaling, because a rendition has few pixels.
//
// An image without a profile is sRGB. A profile that is damaged, or has other channels than the image, is ignored.
#ifdef AVATAR_RENDITIONS
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lcms2.h>
#include <lcms2_plugin.h>

#include "Internal.h"

/// The limit on a colour profile, in bytes. Those of printers have up to 3 MiB.
#define MOST_PROFILE_BYTES (4 << 20)

/// The number of pixels from which a table for the conversion costs less than converting each pixel.
#define WORTH_A_TABLE 65536

static cmsHPROFILE srgb;

/// Whether Little CMS ran out of memory. It reports that like a damaged profile, which is ignored.
static bool lacked_memory;

static void *allocate(cmsContext context, cmsUInt32Number size) {
    (void)context;
    void *memory = malloc(size);
    if (!memory) lacked_memory = true;
    return memory;
}

static void *reallocate(cmsContext context, void *memory, cmsUInt32Number size) {
    (void)context;
    void *larger = realloc(memory, size);
    if (!larger) lacked_memory = true;
    return larger;
}

static void release(cmsContext context, void *memory) {
    (void)context;
    free(memory);
}

void avatar_prepare_colours(void) {
    static cmsPluginMemHandler memory = {
        .base = {.Magic = cmsPluginMagicNumber, .ExpectedVersion = 2060, .Type = cmsPluginMemHandlerSig},
        .MallocPtr = allocate,
        .FreePtr = release,
        .ReallocPtr = reallocate,
    };
    if (!srgb) cmsPlugin(&memory);
    time_t now = 0;
    struct tm parts;
    gmtime_r(&now, &parts);
    if (!srgb) srgb = cmsCreate_sRGBProfile();
}

/// Whether the profile has the primaries and the curve of sRGB, so that no conversion is needed.
static bool is_srgb(cmsHPROFILE profile) {
    static const cmsTagSignature primaries[] = {cmsSigRedColorantTag, cmsSigGreenColorantTag, cmsSigBlueColorantTag};
    static const cmsTagSignature curves[] = {cmsSigRedTRCTag, cmsSigGreenTRCTag, cmsSigBlueTRCTag};
    if (!cmsIsMatrixShaper(profile)) return false;
    for (int i = 0; i < 3; i++) {
        const cmsCIEXYZ *own = cmsReadTag(profile, primaries[i]), *other = cmsReadTag(srgb, primaries[i]);
        if (!own || !other) return false;
        if (fabs(own->X - other->X) + fabs(own->Y - other->Y) + fabs(own->Z - other->Z) > 0.005) return false;
        const cmsToneCurve *curve = cmsReadTag(profile, curves[i]), *other_curve = cmsReadTag(srgb, curves[i]);
        if (!curve || !other_curve) return false;
        for (float x = 0.1f; x < 1; x += 0.1f) {
            if (fabsf(cmsEvalToneCurveFloat(curve, x) - cmsEvalToneCurveFloat(other_curve, x)) > 0.01f) return false;
        }
    }
    return true;
}

/// The profile for PNG's gAMA and cHRM; NULL if they are those of sRGB or absent.
static cmsHPROFILE profile_of_gamma(const avatar_work *work, bool is_gray) {
    if (work->gamma < 0.2 || work->gamma > 5) return NULL;
    const double *c = work->chromaticities;
    bool has_primaries = c[1] > 0 && c[3] > 0 && c[5] > 0 && c[7] > 0;
    cmsCIExyY white = {0.3127, 0.3290, 1};
    cmsCIExyYTRIPLE primaries = {{0.64, 0.33, 1}, {0.30, 0.60, 1}, {0.15, 0.06, 1}};
    if (has_primaries) {
        white = (cmsCIExyY){c[0], c[1], 1};
        primaries = (cmsCIExyYTRIPLE){{c[2], c[3], 1}, {c[4], c[5], 1}, {c[6], c[7], 1}};
    }
    // Encoders write the gamma 1/2.2 to mean the curve of sRGB, which differs a little.
    if (fabs(work->gamma - 2.2) < 0.05 && (!has_primaries || (fabs(c[2] - 0.64) < 0.01 && fabs(c[4] - 0.30) < 0.01))) {
        return NULL;
    }
    cmsToneCurve *curve = cmsBuildGamma(NULL, work->gamma);
    if (!curve) return NULL;
    cmsToneCurve *curves[] = {curve, curve, curve};
    cmsHPROFILE profile = is_gray ? cmsCreateGrayProfile(cmsD50_xyY(), curve) : cmsCreateRGBProfile(&white, &primaries, curves);
    cmsFreeToneCurve(curve);
    return profile;
}

/// The image's profile; NULL if it is sRGB.
static cmsHPROFILE profile_of(const avatar_work *work, const avatar_bitmap *bitmap) {
    bool is_cmyk = work->colour != AVATAR_GRAY_OR_RGB, is_gray = bitmap->channels < 3;
    cmsHPROFILE profile = NULL;
    if (work->profile && work->profile_size <= MOST_PROFILE_BYTES) {
        profile = cmsOpenProfileFromMem(work->profile, (cmsUInt32Number)work->profile_size);
    } else if (work->gamma > 0) {
        profile = profile_of_gamma(work, is_gray);
    }
    if (!profile) return NULL;
    cmsColorSpaceSignature space = is_cmyk ? cmsSigCmykData : is_gray ? cmsSigGrayData : cmsSigRgbData;
    if (cmsGetColorSpace(profile) == space && (space != cmsSigRgbData || !is_srgb(profile))) return profile;
    cmsCloseProfile(profile);
    return NULL;
}

/// Converts `count` pixels without alpha to RGB. Returns false if the profile is unusable.
static bool convert(const avatar_work *work, cmsHPROFILE profile, const uint8_t *from, uint8_t *to, int channels, size_t count) {
    cmsUInt32Number format = work->colour == AVATAR_INVERTED_CMYK ? TYPE_CMYK_8_REV
        : work->colour == AVATAR_CMYK                              ? TYPE_CMYK_8
        : channels == 1                                            ? TYPE_GRAY_8
                                                                   : TYPE_RGB_8;
    cmsUInt32Number flags = channels == 1 || count >= WORTH_A_TABLE ? 0 : cmsFLAGS_NOOPTIMIZE;
    cmsHTRANSFORM transform = cmsCreateTransform(profile, format, srgb, TYPE_RGB_8, INTENT_PERCEPTUAL, flags);
    if (!transform) return false;
    cmsDoTransform(transform, from, to, (cmsUInt32Number)count);
    cmsDeleteTransform(transform);
    return true;
}

/// Converts CMYK without a profile, from the light that each ink reflects.
static void convert_plain_cmyk(const avatar_work *work, const uint8_t *from, uint8_t *to, size_t count) {
    uint8_t flip = work->colour == AVATAR_INVERTED_CMYK ? 0 : 255;
    for (size_t i = 0; i < count; i++, from += 4, to += 3) {
        unsigned black = from[3] ^ flip;
        for (int c = 0; c < 3; c++) to[c] = (uint8_t)(((from[c] ^ flip) * black + 127) / 255);
    }
}

bool avatar_convert_colours(avatar_work *work, avatar_bitmap *bitmap) {
    bool is_cmyk = work->colour != AVATAR_GRAY_OR_RGB;
    if (!is_cmyk && !work->profile && work->gamma == 0) return true;
    lacked_memory = false;
    cmsHPROFILE profile = profile_of(work, bitmap);
    if (!profile && !is_cmyk) return !lacked_memory;

    size_t count = (size_t)bitmap->width * (size_t)bitmap->height, all = (size_t)bitmap->channels;
    size_t colours = all - (bitmap->has_alpha ? 1 : 0), kept = is_cmyk ? 3 : colours;
    uint8_t *plain = malloc(count * colours), *rgb = malloc(count * 3);
    bool has_memory = plain && rgb;
    if (has_memory) {
        for (size_t i = 0; i < count; i++) memcpy(plain + i * colours, bitmap->pixels + i * all, colours);
        bool is_converted = profile && convert(work, profile, plain, rgb, (int)colours, count);
        if (!is_converted && is_cmyk) convert_plain_cmyk(work, plain, rgb, count);
        // Gray stays gray: its three values are equal.
        for (size_t i = 0; i < count && (is_converted || is_cmyk); i++) {
            memcpy(bitmap->pixels + i * (is_cmyk ? 3 : all), rgb + i * 3, kept);
        }
        if (is_cmyk) bitmap->channels = 3;
    }
    free(plain);
    free(rgb);
    if (profile) cmsCloseProfile(profile);
    return has_memory && !lacked_memory;
}
#endif
