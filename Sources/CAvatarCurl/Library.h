// The functions of libcurl.
#ifndef AVATAR_CURL_LIBRARY_H
#define AVATAR_CURL_LIBRARY_H

// The checks of argument types are macros of the same names.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <stdbool.h>

// Makes the functions ready; false if this system has no libcurl. Any thread may call it, any number of times.
bool avatar_curl_load(void);

#ifdef __linux__
// Debian's libcurl brings 25 libraries along. Loading them at the start takes longer than the rest of a command that sends no
// request, so the first use loads them.
#define AVATAR_CURL_FUNCTIONS(each) \
    each(easy_cleanup) each(easy_getinfo) each(easy_init) each(easy_pause) each(easy_setopt) each(global_init) \
    each(multi_add_handle) each(multi_cleanup) each(multi_info_read) each(multi_init) each(multi_perform) \
    each(multi_poll) each(multi_remove_handle) each(multi_setopt) each(multi_wakeup) each(share_cleanup) \
    each(share_init) each(share_setopt) each(slist_append) each(slist_free_all) each(version_info)

#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt
#undef curl_share_setopt

#define AVATAR_CURL_MEMBER(name) __typeof__(&curl_##name) name;
struct avatar_curl_library { AVATAR_CURL_FUNCTIONS(AVATAR_CURL_MEMBER) };
// Written once, by `avatar_curl_load`.
extern struct avatar_curl_library avatar_curl;

#define curl_easy_cleanup avatar_curl.easy_cleanup
#define curl_easy_getinfo avatar_curl.easy_getinfo
#define curl_easy_init avatar_curl.easy_init
#define curl_easy_pause avatar_curl.easy_pause
#define curl_easy_setopt avatar_curl.easy_setopt
#define curl_global_init avatar_curl.global_init
#define curl_multi_add_handle avatar_curl.multi_add_handle
#define curl_multi_cleanup avatar_curl.multi_cleanup
#define curl_multi_info_read avatar_curl.multi_info_read
#define curl_multi_init avatar_curl.multi_init
#define curl_multi_perform avatar_curl.multi_perform
#define curl_multi_poll avatar_curl.multi_poll
#define curl_multi_remove_handle avatar_curl.multi_remove_handle
#define curl_multi_setopt avatar_curl.multi_setopt
#define curl_multi_wakeup avatar_curl.multi_wakeup
#define curl_share_cleanup avatar_curl.share_cleanup
#define curl_share_init avatar_curl.share_init
#define curl_share_setopt avatar_curl.share_setopt
#define curl_slist_append avatar_curl.slist_append
#define curl_slist_free_all avatar_curl.slist_free_all
#define curl_version_info avatar_curl.version_info
#endif

#endif
