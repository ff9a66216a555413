public import AvatarCore
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The address of an image: its URL, as a string or as a `URL`, or its key (`AvatarKey`).
public protocol AvatarAddress: Sendable {
    /// The key of the image.
    ///
    /// - Throws: `unsupportedURL` for a text or a URL that is not an absolute http or https URL without user info.
    var avatarKey: AvatarKey { get throws(AvatarStoreError) }
}

extension AvatarKey: AvatarAddress {
    /// The key itself.
    public var avatarKey: AvatarKey { self }
}

extension String: AvatarAddress {
    /// The key of the image at this URL.
    ///
    /// - Throws: `unsupportedURL`.
    public var avatarKey: AvatarKey { get throws(AvatarStoreError) { try AvatarKey(url: self) } }
}

extension URL: AvatarAddress {
    /// The key of the image at this URL.
    ///
    /// - Throws: `unsupportedURL`.
    public var avatarKey: AvatarKey { get throws(AvatarStoreError) { try AvatarKey(url: absoluteString) } }
}
