public import AvatarCore
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A stored or fetched image as a read returns it, without its bytes.
public struct AvatarFile: Sendable {
    /// The place that a read got an image from.
    public enum Source: String, Sendable {
        /// The store, without a request, or after the origin failed to answer one.
        case store
        /// The store, after the origin confirmed that the image did not change (304 Not Modified).
        case revalidated
        /// The origin: the image was fetched by this read.
        case origin
    }

    /// The key of the entry.
    public var key: AvatarKey
    /// The length of the image in bytes.
    public var sizeBytes: Int
    /// The media type found in the bytes, such as `image/png`. The Content-Type of the response does not count.
    public var mediaType: String
    /// The width in pixels; 0 for an SVG that states none.
    public var width: Int
    /// The height in pixels; 0 for an SVG that states none.
    public var height: Int
    /// The absolute path of the file; `nil` for an image that was not stored.
    public var localFile: String?
    /// The storage class of the file; `nil` for an image that was not stored.
    public var storageClass: StorageClass?
    /// Whether the freshness lifetime was over when the image was read (RFC 9111 section 4.2).
    public var isStale: Bool
    /// Whether this is the smaller image that stands in on a metered network (`FetchOptions.lowDataURL`).
    public var isLowData = false
    /// The rendition that these bytes are, with the format and size that were made; `nil` for the original.
    public var rendition: Rendition?
    /// Why a read that requested a rendition returned the original, as a sentence; else `nil`.
    public var renditionFailure: String?
    /// The ThumbHash of the image, 5 to 25 bytes: a blurred stand-in. `nil` until a rendition of it is made.
    public var thumbHash: [UInt8]?
    /// The place that the image came from.
    public var source: Source
    /// The reason why the request failed or was not sent, if one was due; else `nil`.
    public var failure: FailureKind?
    /// A sentence about `failure`.
    public var failureMessage: String?
}

/// An image as a read returns it: its bytes, and all that `AvatarFile` tells about it.
@dynamicMemberLookup
public struct AvatarImage: Sendable {
    /// All but the bytes.
    public var file: AvatarFile
    /// The bytes as the origin sent them, or as they were saved.
    public var bytes: [UInt8]

    /// The bytes as Foundation's `Data`; a copy.
    public var data: Data { Data(bytes) }

    /// A property of `file`, such as `image.mediaType`.
    public subscript<Value>(dynamicMember member: KeyPath<AvatarFile, Value>) -> Value {
        file[keyPath: member]
    }
}
