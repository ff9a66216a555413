/// A store of objects that several machines share, such as a bucket of an S3-compatible object store.
///
/// Set it as `AvatarStore.Configuration.sharedTier`. A store never needs its tier: it goes on without one that fails. It asks for few
/// promises, because the engines differ: an object is whole or absent, a listing is in order, and a key holds the bytes of one of
/// its writers. The store checks all that it reads. It needs neither metadata, nor conditional replacement, nor a lock.
///
/// A key has 1 to 512 bytes of `a` to `z`, `0` to `9`, `-`, `.` and `/`, in segments of 1 to 200 bytes that are not `.` or `..`. No
/// key may be the folder of another one, such as `a` beside `a/b`: an engine on a file system can omit the other one from
/// listings.
///
/// Listings are in the order of the keys' bytes. An engine on a file system may sort `/` before all other bytes; the two orders
/// are the same if the segments at one level have one length.
public protocol SharedTier: Sendable {
    /// The bytes of the object under `key`; `nil` if the tier has no such object.
    ///
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - limit: the maximum size in bytes; a larger object is a `.invalidObject` error.
    /// - Throws: `SharedTierError`; `CancellationError`.
    func get(_ key: String, limit: Int) async throws -> [UInt8]?

    /// Stores `bytes` under `key`, in place of an object that is there. On return the tier has them.
    ///
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    func put(_ key: String, _ bytes: [UInt8]) async throws

    /// Stores `bytes` under `key` unless an object is there.
    ///
    /// Some engines let several writers succeed at once. So `created` is no lock: read the object back.
    ///
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    func create(_ key: String, _ bytes: [UInt8]) async throws -> SharedTierCreation

    /// Deletes the object under `key`. An absent object is no error.
    ///
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    func delete(_ key: String) async throws

    /// The first keys with `prefix`, after the key `start`, in the order of the tier: at most 1,000.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys.
    ///   - start: the last key of the page before; `nil` for the first page.
    /// - Throws: `SharedTierError`; `CancellationError`.
    func list(prefix: String, after start: String?) async throws -> SharedTierPage
}

/// The result of `SharedTier.create`.
public enum SharedTierCreation: Hashable, Sendable {
    /// The object was stored.
    case created
    /// An object was there.
    case exists
    /// The engine has no conditional requests. Nothing was stored.
    case unsupported
}

/// A page of keys.
public struct SharedTierPage: Hashable, Sendable {
    /// The keys, in the order of the tier.
    public var keys: [String]
    /// Whether more keys follow.
    public var isTruncated: Bool

    /// A page of `keys`.
    public init(keys: [String], isTruncated: Bool) {
        self.keys = keys
        self.isTruncated = isTruncated
    }
}

/// The reason why a shared tier did not carry out a request.
public struct SharedTierError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure.
    public enum Kind: String, Hashable, Sendable {
        /// The tier cannot be reached, is too slow or out of order. Later requests may succeed.
        case unavailable
        /// The tier asks for fewer requests.
        case slowDown
        /// The credentials, the signature, the region, or the clock of this machine is wrong, or a right is missing.
        case denied
        /// The bucket does not exist.
        case noBucket
        /// The tier is full or read-only.
        case full
        /// The configuration cannot be used.
        case invalidConfiguration
        /// The tier gave other bytes than it must: cut off, too large, or of no known form.
        case invalidObject
    }

    /// The kind.
    public var kind: Kind
    /// The message: a full sentence that names the endpoint and the bucket, and neither a credential nor a query.
    public var message: String

    /// An error with `kind` and `message`.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The same as `message`.
    public var description: String { message }
}
