// The helper that makes smaller images, in a sandboxed process.
#include "CAvatarDecoder.h"

int main(int count, char **values) { return avatar_decoder_run(count, values); }
