// Finds the functions of libcurl.
#include "Library.h"

#ifdef __linux__
#include <dlfcn.h>
#include <pthread.h>

struct avatar_curl_library avatar_curl;

static bool is_loaded;

static void load(void) {
    // The name of the interface since 2006; later releases only add functions.
    void *library = dlopen("libcurl.so.4", RTLD_LAZY | RTLD_LOCAL);
    if (!library) return;
    is_loaded = true;
#define AVATAR_CURL_FIND(name) \
    if (!(*(void **)&avatar_curl.name = dlsym(library, "curl_" #name))) is_loaded = false;
    AVATAR_CURL_FUNCTIONS(AVATAR_CURL_FIND)
}

bool avatar_curl_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return is_loaded;
}
#else
bool avatar_curl_load(void) { return true; }
#endif
