public import AvatarCore
public import Foundation

/// What a read says of an image, without its bytes.
public struct AvatarFile: Sendable {
    /// Where a read got an image from.
    public enum Source: String, Sendable {
        /// The store; no request was sent, or none was answered.
        case store
        /// The store, after the origin confirmed that it did not change.
        case revalidated
        /// The origin, now.
        case origin
    }

    /// The key it is stored under.
    public var key: AvatarKey
    /// The number of its bytes.
    public var sizeBytes: Int
    /// The media type that the bytes prove, such as `image/png`.
    public var mediaType: String
    /// In pixels; 0 for a drawing that states none.
    public var width: Int
    /// In pixels; 0 for a drawing that states none.
    public var height: Int
    /// The absolute path of the file; `nil` for an image that was not stored.
    public var localFile: String?
    /// The class of the file; `nil` for an image that was not stored.
    public var storageClass: StorageClass?
    /// Whether its freshness lifetime is over.
    public var isStale: Bool
    /// Whether this is the smaller image that stands in while the network is constrained.
    public var isLowData = false
    /// Where it comes from.
    public var source: Source
    /// Why the origin could not be asked although it should have been.
    public var failure: FailureKind?
    /// The sentence that goes with `failure`.
    public var failureMessage: String?
}

/// An image as a read returns it: its bytes, and everything that `AvatarFile` says of it.
@dynamicMemberLookup
public struct AvatarImage: Sendable {
    /// Everything but the bytes.
    public var file: AvatarFile
    /// The bytes, as the origin sent them.
    public var bytes: [UInt8]

    /// The bytes for Foundation.
    public var data: Data { Data(bytes) }

    /// What `file` says.
    public subscript<Value>(dynamicMember member: KeyPath<AvatarFile, Value>) -> Value {
        file[keyPath: member]
    }
}
