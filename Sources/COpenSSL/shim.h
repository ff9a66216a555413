// The hash functions of the system's OpenSSL. `AvatarDigest` calls them.
#ifndef AVATAR_COPENSSL_H
#define AVATAR_COPENSSL_H

// OpenSSL 3 deprecates these functions for EVP, which can choose among implementations. EVP allocates memory for each hash
// and reads a configuration file in each process. These do neither, and every release and every fork has them.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>

#endif
