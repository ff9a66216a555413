// The parts of libcurl that the origin client needs and Swift cannot call: functions with a variable number of arguments, and
// callbacks. The callbacks collect a response in C, so that Swift is called once per response and not once per line.
//
// All functions but `avatar_engine_wake` are for the one thread that owns the engine.
#ifndef AVATAR_CAVATARCURL_H
#define AVATAR_CAVATARCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct avatar_engine avatar_engine;
typedef struct avatar_exchange avatar_exchange;

// MARK: Engine

// The questions of callbacks to Swift. `context` is the one of the engine, `owner` the one of the exchange.
typedef struct {
    // Whether a connection may be made to an address of 4 or 16 bytes in network order. `is_named` is the one of the exchange.
    bool (*allows)(void *context, const uint8_t *address, int count, bool is_named);
    // An HTTP request is about to be sent.
    void (*will_send)(void *owner);
    void *context;
} avatar_callbacks;

// The settings that all exchanges share. The strings are copied.
typedef struct {
    long connect_timeout_ms;
    // How many connections to one host may exist, and how many in all, in use and unused. Beyond it, the one that was used
    // longest ago is closed.
    long connections_per_host;
    long most_connections;
    // How long an unused connection is kept.
    long kept_seconds;
    // How often a request may be sent in all, if connections are lost before a response.
    int attempts;
    // PEM certificates that replace the system's file of trusted certificates; NULL for none.
    const char *certificates;
    size_t certificates_size;
    // A folder of trusted certificates, named by their hash; NULL for none.
    const char *certificate_folder;
    // Whether the two above are used. If not, libcurl's defaults are.
    bool has_certificates;
    // Limits of a response head.
    size_t head_bytes;
    int field_count;
    int interim_count;
    // The most bytes of a body that are collected before it is read.
    size_t body_bytes;
    // The most bytes of a redirect's body that are read to keep the connection.
    size_t drained_bytes;
} avatar_settings;

// There is no libcurl that can be loaded. No errno is negative.
#define AVATAR_NO_LIBCURL (-1)

// Loads and initialises libcurl for the process. Returns 0, or AVATAR_NO_LIBCURL, or the errno if it cannot be used. Any thread
// may call it, any number of times.
int avatar_curl_initialise(void);

// The version of libcurl as 0xXXYYZZ; 0 without a libcurl that can be loaded.
unsigned avatar_curl_version(void);

// The name and version of the TLS library, for judging its error numbers.
const char *avatar_curl_tls(void);

// The default file and folder of trusted certificates; NULL if unknown.
const char *avatar_curl_certificate_file(void);
const char *avatar_curl_certificate_folder(void);

// An engine; NULL if memory or descriptors are missing, and then `errno` is set.
avatar_engine *avatar_engine_new(const avatar_settings *settings, avatar_callbacks callbacks);

// Closes all connections. Its exchanges must have been freed.
void avatar_engine_free(avatar_engine *engine);

// Does what can be done without waiting. Returns false if the engine is broken.
bool avatar_engine_perform(avatar_engine *engine);

// Waits until something can be done, `avatar_engine_wake` is called, or the time is over.
void avatar_engine_wait(avatar_engine *engine, int milliseconds);

// Ends the wait. May be called on any thread. Returns false if the system refused it.
bool avatar_engine_wake(avatar_engine *engine);

// The time that the engine has read last, in milliseconds of a clock that never goes back.
int64_t avatar_engine_now(const avatar_engine *engine);

// Reads the clock.
void avatar_engine_tick(avatar_engine *engine);

// An exchange that has ended, with its CURLcode; NULL if no other has ended. It is no longer in the engine.
avatar_exchange *avatar_engine_next_ended(avatar_engine *engine, int *code);

// An exchange that has something to tell before its end; NULL if no other has.
avatar_exchange *avatar_engine_next_ready(avatar_engine *engine);

// MARK: Exchange

// Why a callback ended an exchange.
enum {
    AVATAR_NOT_REFUSED = 0,
    // The address of the host is not allowed.
    AVATAR_FORBIDDEN,
    // The head breaks the grammar, or its fields contradict each other.
    AVATAR_NOT_HTTP,
    AVATAR_HEAD_TOO_LARGE,
    AVATAR_TOO_MANY_FIELDS,
    // The request was sent as often as allowed.
    AVATAR_TOO_MANY_ATTEMPTS,
    // Bytes have come on the connection that no request asked for. The request was not sent: it can be started again.
    AVATAR_UNSOLICITED,
    // An earlier attempt has lost its connection, and this one is not a new connection. The request was not sent: it can be
    // started again on a new one.
    AVATAR_REUSED_AGAIN,
    // The rest of the response is not needed: not a failure.
    AVATAR_DONE,
};

// The use of the bytes of a body.
enum {
    // They are collected until they are too many, and then streamed.
    AVATAR_COLLECTS = 0,
    // They are collected until they are taken. Too many pause the exchange.
    AVATAR_STREAMS,
    // They are counted and dropped.
    AVATAR_DRAINS,
};

// The state of an exchange, which callbacks change. Swift reads it between calls.
typedef struct {
    // The owner of the exchange; passed to `will_send`.
    void *owner;
    // Whether the peer is the host itself, whose address is judged.
    bool is_direct;
    // Whether the operator has named the server, so that other addresses are allowed.
    bool is_named;
    // Whether a name may be looked up by libcurl, which is right for addresses only.
    bool may_resolve;
    // Whether the exchange becomes ready when its connection is there.
    bool reports_connection;
    // How often the request was sent.
    int attempts;
    int status;
    // The major version of HTTP in the response; 0 without one.
    int version;
    bool is_head_complete;
    bool is_redirect;
    int refusal;
    int body_mode;
    // Whether libcurl holds back bytes until `avatar_exchange_resume`.
    bool is_paused;
    // errno of a socket that could not be made; 0 otherwise.
    int socket_error;
    // When something was last sent or received, by the engine's clock; 0 before the request is sent.
    int64_t last_activity;
    // When the head was complete, by the engine's clock.
    int64_t head_completed;
    // The fields as "name:value\n", without blanks around either.
    const uint8_t *head;
    size_t head_size;
    // The bytes of the body that have not been taken.
    const uint8_t *body;
    size_t body_size;
} avatar_exchange_state;

// An exchange with the settings of the engine; NULL if memory is missing.
avatar_exchange *avatar_exchange_new(avatar_engine *engine);

void avatar_exchange_free(avatar_exchange *exchange);

avatar_exchange_state *avatar_exchange_state_of(avatar_exchange *exchange);

// The scheme and authority of later requests, with a slash at the end. Returns false if memory is missing.
bool avatar_exchange_set_origin(avatar_exchange *exchange, const char *url);

// The protocol of a proxy.
enum { AVATAR_PROXY_HTTP = 0, AVATAR_PROXY_HTTPS, AVATAR_PROXY_SOCKS5, AVATAR_PROXY_SOCKS5_NAMES };

// The proxy of later requests, as "host:port"; NULL for none. `tunnels` for CONNECT.
bool avatar_exchange_set_proxy(
    avatar_exchange *exchange, int scheme, const char *proxy, bool tunnels, const char *user, const char *password
);

// How a user is proven to a server.
enum {
    // By the header fields of the request, or by a signature.
    AVATAR_PROOF_NONE = 0,
    // By Digest (RFC 7616): the first response asks for it, and the request is sent again.
    AVATAR_PROOF_DIGEST,
    // By Negotiate (RFC 4559): the Kerberos ticket of the session, without user and secret.
    AVATAR_PROOF_NEGOTIATE,
};

// Whether libcurl has GSS-API, which Negotiate needs.
bool avatar_curl_has_negotiate(void);

// The parts of a request to a server besides its header fields. The strings and the body are copied.
typedef struct {
    // "GET", "PUT" or another method.
    const char *method;
    // The whole URL, with the path and the query in the form in which they are signed.
    const char *url;
    // The body; NULL for none.
    const uint8_t *body;
    size_t body_size;
    // The user and the password, or the key and the secret of a signature; NULL for none. Not one string, because a key may
    // contain a colon.
    const char *user;
    const char *secret;
    // How the user is proven, by one of the values below.
    int proof;
    // The parameters of the signature of Amazon (Signature Version 4), such as "aws:amz:us-east-1:s3", which covers all header
    // fields; NULL for none.
    const char *signature;
    // The most time for all of it; 0 for no limit.
    long timeout_ms;
} avatar_request;

// The method, URL and body of later requests; NULL for a GET of the target on the origin, which has to be set again then.
// A redirect is a response like any other to such a request. Returns false if memory is missing.
bool avatar_exchange_set_request(avatar_exchange *exchange, const avatar_request *request);

// Starts a request. `target` is NULL for one of `avatar_exchange_set_request`.
//
// `fields` holds header lines that end in a zero byte each. `pins` holds entries of CURLOPT_RESOLVE that end in a zero byte
// each; NULL for none. `needs_connection`: it gets a new connection. Returns false if memory is missing.
bool avatar_exchange_start(
    avatar_exchange *exchange, const char *target, const uint8_t *fields, size_t fields_size, const uint8_t *pins,
    size_t pins_size, bool needs_connection
);

// Takes the exchange out of the engine. A connection in use is closed.
void avatar_exchange_stop(avatar_exchange *exchange);

// Forgets the bytes of the body that were taken.
void avatar_exchange_take_body(avatar_exchange *exchange);

// Drops the rest of the body. Returns whether so little of it is left that the connection is worth keeping.
bool avatar_exchange_drain(avatar_exchange *exchange);

// Lets a paused exchange go on.
void avatar_exchange_resume(avatar_exchange *exchange);

// The end of an exchange, as far as libcurl tells.
typedef struct {
    // errno of the last failed connection; 0 if it is unknown.
    int os_error;
    // The status of a proxy's response to CONNECT; 0 without one.
    long connect_status;
    // The results of the verification of certificates, in numbers of the TLS library.
    long verify_result;
    long proxy_verify_result;
    // Whether a SOCKS proxy wants other credentials.
    bool has_refused_credentials;
    // Whether the request was sent on a connection that an earlier one had made.
    bool has_reused;
    // Whether the TCP connection came up.
    bool has_connected;
} avatar_exchange_end;

// The connections that were opened for the exchange.
long avatar_exchange_connections_of(avatar_exchange *exchange);

avatar_exchange_end avatar_exchange_end_of(avatar_exchange *exchange);

// MARK: Errors

// The kinds of CURLcode that are told apart.
enum {
    AVATAR_END_OK = 0,
    AVATAR_END_NO_CONNECTION,
    AVATAR_END_TIMEOUT,
    AVATAR_END_NAME,
    AVATAR_END_PROXY_NAME,
    AVATAR_END_PROXY,
    AVATAR_END_CERTIFICATE,
    AVATAR_END_TLS,
    AVATAR_END_TRUST_FILE,
    AVATAR_END_NO_RESPONSE,
    AVATAR_END_BROKEN,
    AVATAR_END_PARTIAL,
    AVATAR_END_STREAM,
    AVATAR_END_GRAMMAR,
    AVATAR_END_MEMORY,
    AVATAR_END_STOPPED,
    AVATAR_END_URL,
    AVATAR_END_OTHER,
};

int avatar_end_kind(int code);

#endif
