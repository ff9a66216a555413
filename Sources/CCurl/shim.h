// The system's libcurl. `CAvatarCurl` calls its functions.
#ifndef AVATAR_CCURL_H
#define AVATAR_CCURL_H

#include <curl/curl.h>

#endif
