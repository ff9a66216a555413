// Feeds pictures to the decoder of the helper, without its sandbox. `scripts/fuzz` builds it with clang, so that libFuzzer
// instruments the C code.
#include <stdlib.h>

#include "../Sources/CAvatarDecoder/Internal.h"

int LLVMFuzzerInitialize(int *count, char ***values) {
    (void)count;
    (void)values;
    avatar_prepare_colours();
    return 0;
}

/// Derives the request from the length of the picture, so that inputs are plain files.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    static const uint32_t sizes[] = {32, 48, 64, 96, 128, 192, 256, 384, 512};
    avatar_request request = {
        .size = sizes[size % 9], .format = 1 + size % 3, .fit = size / 3 % 2, .most_bytes = size % 7 == 0 ? 2000 : 0,
    };
    avatar_answer answer;
    avatar_render(&request, bytes, size, &answer);
    bool is_made = answer.status == AVATAR_MADE;
    if (is_made != (answer.bytes != NULL)) abort();
    if (is_made && (answer.width > request.size || answer.height > request.size || answer.width == 0 || answer.height == 0)) abort();
    if (is_made && (answer.hash_size == 0 || answer.hash_size > 25 || answer.size == 0)) abort();
    if (is_made && request.most_bytes > 0 && answer.size > request.most_bytes) abort();
    free(answer.bytes);
    return 0;
}
