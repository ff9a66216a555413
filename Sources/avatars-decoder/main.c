// The helper that makes smaller pictures, in a process that can do nothing else.
#include "CAvatarDecoder.h"

int main(int count, char **values) { return avatar_decoder_run(count, values); }
