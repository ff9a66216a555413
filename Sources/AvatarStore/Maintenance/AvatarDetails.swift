public import AvatarCore

/// One entry in full, for a person who wants to know why it is as it is.
public struct AvatarDetails: Sendable {
    /// The columns of `avatar_overview`, and the contacts that use the image.
    public var overview: AvatarListItem
    /// The absolute path of the file.
    public var localFile: String?
    /// Whether the file is there with its indexed length.
    public var isFilePresent: Bool
    /// The digest of the file's bytes, in hexadecimal digits.
    public var sha256: String?
    /// The media type that the bytes prove.
    public var mediaType: String?
    /// In pixels.
    public var width: Int?
    /// In pixels.
    public var height: Int?
    /// The Last-Modified field, verbatim.
    public var lastModified: String?
    /// The stored header fields that freshness depends on, one "name: value" a line.
    public var responseFields: String?
    /// When the bytes last came from the origin.
    public var fetched: Timestamp?
    /// When the entry is due; `nil`: never.
    public var nextCheck: Timestamp?
    /// The kind of the last failure; `nil` after a success.
    public var failure: FailureKind?
    /// Failures in a row.
    public var failureCount: Int
    /// Other keys whose image is the same file.
    public var sharedWith: [AvatarKey]
    /// How many files are evicted before this one when room is needed; `nil` for a document, and without a file.
    public var evictedAfterFiles: Int?
    /// Sentences that say why it is fresh, stale or failing, and how soon it would be evicted.
    public var reasons: [String]
}
