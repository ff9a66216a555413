#if canImport(CryptoKit)
import CryptoKit
#else
import COpenSSL
#endif

/// A SHA-256 hash (FIPS 180-4) that takes its bytes piece by piece.
///
/// CryptoKit computes it on Apple platforms, elsewhere the system's OpenSSL, which libcurl loads anyway. Copies are
/// independent of each other.
package struct SHA256 {
    #if canImport(CryptoKit)
    private var state = CryptoKit.SHA256()
    #else
    private var state = SHA256_CTX()
    #endif

    /// Creates the hash of no bytes.
    package init() {
        #if !canImport(CryptoKit)
        SHA256_Init(&state)
        #endif
    }

    /// Adds `bytes` to the hashed bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        #if canImport(CryptoKit)
        state.update(bufferPointer: bytes)
        #else
        SHA256_Update(&state, bytes.baseAddress, bytes.count)
        #endif
    }

    /// Adds `bytes` to the hashed bytes.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
        if isContiguous == nil { Array(bytes).withUnsafeBytes { update($0) } }
    }

    /// The hash of the bytes so far: 32 bytes. More bytes may follow.
    package func finalize() -> [UInt8] {
        #if canImport(CryptoKit)
        return Array(state.finalize())
        #else
        var state = state
        return [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
            SHA256_Final(digest.baseAddress, &state)
            count = digest.count
        }
        #endif
    }

    /// The hash of `bytes`: 32 bytes.
    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = Self()
        hash.update(bytes)
        return hash.finalize()
    }
}

extension SHA256 {
    /// The HMAC (RFC 2104) of `message` under `key`: 32 bytes that only a holder of the key can compute.
    package static func authenticationCode(of message: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
        let blockSize = 64
        let short = key.count > blockSize ? hash(key) : key
        let block = short + [UInt8](repeating: 0, count: blockSize - short.count)
        var inner = Self()
        inner.update(block.map { $0 ^ 0x36 })
        inner.update(message)
        return hash(block.map { $0 ^ 0x5C } + inner.finalize())
    }
}

/// The MD5 hash (RFC 1321), only for the addresses of Gravatar and Libravatar: it protects nothing.
package enum MD5 {
    /// The hash of `bytes`: 16 bytes.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        #if canImport(CryptoKit)
        return Array(Insecure.MD5.hash(data: bytes))
        #else
        var state = MD5_CTX()
        MD5_Init(&state)
        MD5_Update(&state, bytes, bytes.count)
        return [UInt8](unsafeUninitializedCapacity: Int(MD5_DIGEST_LENGTH)) { digest, count in
            MD5_Final(digest.baseAddress, &state)
            count = digest.count
        }
        #endif
    }
}
