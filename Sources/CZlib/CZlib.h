// The system's zlib: undoes the content codings gzip and deflate.
#include <zlib.h>
