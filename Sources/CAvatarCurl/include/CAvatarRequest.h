// Signed requests to one host for object stores: a whole body each way, several at once on one thread.
//
// All functions but `avatar_client_wake` are for the one thread that owns the client.
#ifndef AVATAR_CAVATARREQUEST_H
#define AVATAR_CAVATARREQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct avatar_client avatar_client;
typedef struct avatar_request avatar_request;

// The version of libcurl as 0xXXYYZZ; 0 without a libcurl that can be loaded.
unsigned avatar_curl_version(void);

// MARK: Client

// The settings that all requests share. The strings are copied.
typedef struct {
    // The key and the secret for the signature. Not one string, because a key may contain a colon.
    const char *user;
    const char *secret;
    // The parameters of the signature, such as "aws:amz:us-east-1:s3".
    const char *signature;
    // A file of PEM certificates that replaces the trusted certificates of the system; NULL for those.
    const char *certificate_file;
    // How many unused connections are kept.
    long connections;
    // How long an unused connection is kept.
    long kept_seconds;
    long connect_timeout_ms;
    // How long a response may bring no byte.
    long stall_seconds;
    long total_timeout_ms;
} avatar_client_settings;

// A client; NULL if memory or descriptors are missing, and then `errno` is set.
avatar_client *avatar_client_new(const avatar_client_settings *settings);

// Closes all connections. Its requests must have been freed.
void avatar_client_free(avatar_client *client);

// Does what can be done without waiting. Returns false if the client is broken.
bool avatar_client_perform(avatar_client *client);

// Waits until something can be done, `avatar_client_wake` is called, or the time is over.
void avatar_client_wait(avatar_client *client, int milliseconds);

// Ends the wait. May be called on any thread.
void avatar_client_wake(avatar_client *client);

// A request that has ended; NULL if no other has.
avatar_request *avatar_client_next_ended(avatar_client *client);

// MARK: Request

// The content of a request. The memory is free for other use after `avatar_request_start`.
typedef struct {
    // "GET", "PUT" or "DELETE".
    const char *method;
    // With the path and the query in the form in which they are signed.
    const char *url;
    // Header lines that end in a zero byte each. All of them are signed.
    const uint8_t *fields;
    size_t fields_size;
    // The body of a PUT.
    const uint8_t *body;
    size_t body_size;
    // The maximum size of the body of a response with a status below 300. Other bodies are cut off after 64 KiB.
    size_t body_limit;
    // Whether the request gets a new connection.
    bool needs_connection;
} avatar_request_content;

typedef struct {
    // One of the `AVATAR_END` values.
    int kind;
    // The status; 0 without a response.
    int status;
    // Whether the body was larger than the limit.
    bool is_too_large;
    // Valid until the request is started again.
    const uint8_t *body;
    size_t body_size;
    // Values of header fields; "" for an absent or overlong one.
    char region[64];
    char date[64];
    char retry_after[64];
    // The result of the verification of the certificate, in numbers of the TLS library.
    long verify_result;
} avatar_request_response;

// A request that is used again and again; NULL if memory is missing. `place` is for the caller.
avatar_request *avatar_request_new(avatar_client *client, int place);
void avatar_request_free(avatar_request *request);
int avatar_request_place(const avatar_request *request);

// Starts the request. Returns false if memory is missing.
bool avatar_request_start(avatar_request *request, const avatar_request_content *content);

// Takes the request out of the client. A connection in use is closed.
void avatar_request_stop(avatar_request *request);

// The response of a request that has ended.
const avatar_request_response *avatar_request_response_of(const avatar_request *request);

#endif
