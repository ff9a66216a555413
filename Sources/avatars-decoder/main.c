// The helper that makes smaller pictures, in a sandboxed process.
#include "CAvatarDecoder.h"

int main(int count, char **values) { return avatar_decoder_run(count, values); }
