import AvatarCore
import AvatarFoundation
public import AvatarProviders

/// A shared tier in a bucket of Amazon S3 or a compatible service, over libcurl 7.87 or later.
///
/// Each request is signed (Signature Version 4) with the hash of its body. Requests are sent again after failures that go away by
/// waiting, with exponential backoff and full jitter; see `S3Configuration.attempts`. The tier follows no redirect, uses no proxy
/// and reads no environment variable. A cancelled call returns at once.
///
/// No message of an error has a credential or a query in it.
public final class S3Tier: SharedTier {
    /// The address of the bucket.
    let address: S3Address
    /// How often a request is sent at most.
    let attempts: Int
    private let context: S3Response.Context
    private let client: S3Client

    /// A tier for `configuration`. It sends no request yet.
    ///
    /// - Throws: `.invalidConfiguration`, with the rule that the configuration breaks.
    public init(_ configuration: S3Configuration) throws(SharedTierError) {
        address = try S3Address(configuration)
        client = try S3Client(configuration)
        attempts = configuration.attempts
        context = S3Response.Context(place: address.name, region: configuration.region)
    }

    // MARK: Objects

    /// The bytes of the object under `key`; `nil` if the bucket has no such object.
    ///
    /// - Parameters:
    ///   - key: a key by the rules of `SharedTier`.
    ///   - limit: the maximum size in bytes; a larger object is a `.invalidObject` error.
    /// - Throws: `SharedTierError`; `CancellationError`.
    public func get(_ key: String, limit: Int) async throws -> [UInt8]? {
        let response = try await send("GET", try address.object(key), bodyLimit: max(0, limit))
        if response.isAbsentObject { return nil }
        guard response.status == 200 else { throw response.error(now: Timestamp(Date())) }
        guard !response.isTooLarge else {
            throw SharedTierError(
                .invalidObject,
                "The object \"\(key)\" of \(address.name) is larger than the limit of \(limit) bytes. Delete it."
            )
        }
        return response.body
    }

    /// Stores `bytes` under `key`, in place of an object that is there. On return the service has them.
    ///
    /// - Parameters:
    ///   - key: a key by the rules of `SharedTier`.
    ///   - bytes: the object.
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    public func put(_ key: String, _ bytes: [UInt8]) async throws {
        let fields = ["Content-Type: application/octet-stream"]
        let response = try await send("PUT", try address.object(key), fields: fields, body: bytes)
        guard response.isSuccess else { throw response.error(now: Timestamp(Date())) }
    }

    /// Stores `bytes` under `key` unless an object is there (`If-None-Match: *`).
    ///
    /// `created` is no lock, because some engines let several writers succeed at once. After a lost response the request is sent
    /// again, so `exists` can mean the object of this very call. In both cases read the object back.
    ///
    /// - Parameters:
    ///   - key: a key by the rules of `SharedTier`.
    ///   - bytes: the object.
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    public func create(_ key: String, _ bytes: [UInt8]) async throws -> SharedTierCreation {
        let fields = ["Content-Type: application/octet-stream", "If-None-Match: *"]
        let response = try await send("PUT", try address.object(key), fields: fields, body: bytes)
        switch response.status {
        case 412: return .exists
        case 501: return .unsupported
        default: break
        }
        guard response.isSuccess else { throw response.error(now: Timestamp(Date())) }
        return .created
    }

    /// Deletes the object under `key`. An absent object is no error.
    ///
    /// - Parameter key: a key by the rules of `SharedTier`.
    /// - Throws: `SharedTierError`; `CancellationError`: the object may be there or not.
    public func delete(_ key: String) async throws {
        let response = try await send("DELETE", try address.object(key))
        guard response.isSuccess || response.isAbsentObject else { throw response.error(now: Timestamp(Date())) }
    }

    /// The first keys with `prefix`, after the key `start`, in the order of the service: at most 1,000.
    ///
    /// The page also has keys of other programs, which may break the rules of `SharedTier`.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys; empty for all keys of the tier.
    ///   - start: the last key of the page before; `nil` for the first page.
    /// - Throws: `SharedTierError`: `.invalidObject` for a page that is malformed or out of order; `CancellationError`.
    public func list(prefix: String, after start: String?) async throws -> SharedTierPage {
        let url = address.listing(prefix: prefix, after: start)
        let response = try await send("GET", url, bodyLimit: ListingPage.maximumSize)
        guard response.status == 200 else { throw response.error(now: Timestamp(Date())) }
        let page = response.isTooLarge ? nil : ListingPage(response.body)
        guard let page = page?.page(prefix: address.prefix, keyPrefix: prefix, after: start) else {
            throw SharedTierError(
                .invalidObject,
                "The listing of \(address.name) is malformed, out of order or larger than 8 MiB. Check that the endpoint is that "
                    + "of an S3 service with ListObjectsV2."
            )
        }
        return page
    }

    // MARK: Sending

    /// The maximum size of the answer to a PUT or DELETE, whose body is not used.
    private static let answerLimit = 65_536

    /// Sends the request until it has a response that waiting would not change.
    ///
    /// - Throws: the error of the last attempt, if it has no complete response; `CancellationError`.
    private func send(
        _ method: String,
        _ url: String,
        fields: [String] = [],
        body: [UInt8]? = nil,
        bodyLimit: Int = answerLimit
    ) async throws -> S3Response {
        var failures = 0
        while true {
            let wire = try await client.send(
                method,
                url,
                fields: fields,
                body: body,
                bodyLimit: bodyLimit,
                // The connection may be the cause, even if it looks usable.
                needsConnection: failures > 0
            )
            let response = S3Response(wire, context)
            failures += 1
            guard response.isTemporary, failures < attempts else {
                if response.isBroken { throw response.error(now: Timestamp(Date())) }
                return response
            }
            let pause = RetrySchedule.pause(after: failures, retryAfter: response.retryAfter, now: Timestamp(Date()))
            try await Deadlines.shared.sleep(for: pause)
        }
    }
}
