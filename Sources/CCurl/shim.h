// The system's libcurl. Its functions with a variable number of arguments are called by `CAvatarCurl`.
#ifndef AVATAR_CCURL_H
#define AVATAR_CCURL_H

#include <curl/curl.h>

#endif
