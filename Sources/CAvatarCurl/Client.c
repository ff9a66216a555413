// The client of an object store: libcurl's multi handle, which keeps the connections.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "RequestInternal.h"

unsigned avatar_curl_version(void) {
    return avatar_curl_load() ? curl_version_info(CURLVERSION_NOW)->version_num : 0;
}

// Copies a string that may be NULL. Clears `is_complete` if memory is missing.
static char *copied(const char *text, bool *is_complete) {
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy) *is_complete = false;
    return copy;
}

avatar_client *avatar_client_new(const avatar_client_settings *settings) {
    avatar_client *client = calloc(1, sizeof *client);
    if (!client) return NULL;
    bool is_complete = true;
    client->settings = *settings;
    client->settings.user = copied(settings->user, &is_complete);
    client->settings.secret = copied(settings->secret, &is_complete);
    client->settings.signature = copied(settings->signature, &is_complete);
    client->settings.certificate_file = copied(settings->certificate_file, &is_complete);
    errno = 0;
    client->multi = curl_multi_init();
    // Without descriptors the multi handle comes without the pair of sockets that ends a wait.
    if (!is_complete || !client->multi || curl_multi_wakeup(client->multi) != CURLM_OK) {
        int error = errno;
        avatar_client_free(client);
        errno = error ? error : EMFILE;
        return NULL;
    }
    curl_multi_setopt(client->multi, CURLMOPT_MAXCONNECTS, settings->connections);
    return client;
}

void avatar_client_free(avatar_client *client) {
    if (client->multi) curl_multi_cleanup(client->multi);
    free((char *)client->settings.user);
    free((char *)client->settings.secret);
    free((char *)client->settings.signature);
    free((char *)client->settings.certificate_file);
    free(client);
}

bool avatar_client_perform(avatar_client *client) {
    int running = 0;
    return curl_multi_perform(client->multi, &running) == CURLM_OK;
}

void avatar_client_wait(avatar_client *client, int milliseconds) {
    if (curl_multi_poll(client->multi, NULL, 0, milliseconds, NULL) == CURLM_OK) return;
    // Memory is missing. Trying again at once would only take processor time.
    struct timespec pause = {0, 10000000};
    nanosleep(&pause, NULL);
}

void avatar_client_wake(avatar_client *client) { curl_multi_wakeup(client->multi); }

avatar_request *avatar_client_next_ended(avatar_client *client) {
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(client->multi, &left));) {
        if (message->msg != CURLMSG_DONE) continue;
        avatar_request *request = NULL;
        // The message is invalid once the handle has left the multi handle.
        int code = message->data.result;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
        request->response.kind = avatar_end_kind(code);
        curl_easy_getinfo(request->easy, CURLINFO_SSL_VERIFYRESULT, &request->response.verify_result);
        avatar_request_stop(request);
        return request;
    }
    return NULL;
}
