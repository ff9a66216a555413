import AvatarFileSystem
import AvatarFoundation

/// The extended attributes of a document, from which a lost index can be rebuilt.
///
/// `avatars.keys` holds the keys of the images that the file is stored for, separated by NUL. `xdg.origin.url` holds the
/// URL of the first of them (https://www.freedesktop.org/wiki/CommonExtendedAttributes). The label is optional: a file
/// system without attributes, or without room for them, stores the file without it.
package struct FileLabel: Hashable, Sendable {
    /// The keys of the images with these bytes, as stored.
    package var keys: [String]
    /// The source URL; `nil` if the image did not come from an origin.
    package var originURL: String?

    /// Makes a label; `write(to:)` attaches it to a file.
    package init(keys: [String], originURL: String? = nil) {
        self.keys = keys
        self.originURL = originURL
    }

    /// Merges `other` into this label: adds its new keys, and its URL if this one has none.
    package mutating func add(_ other: FileLabel) {
        keys += other.keys.filter { !keys.contains($0) }
        originURL = originURL ?? other.originURL
    }

    /// Reads the label of the open file `descriptor` of `fileSystem`; `nil` if it has none.
    init?(of descriptor: Int32, on fileSystem: any FileSystem) {
        guard let keys = Self.read(Self.keysName, descriptor, fileSystem), !keys.isEmpty else { return nil }
        self.keys = keys.split(separator: "\0").map(String.init)
        originURL = Self.read(Self.originName, descriptor, fileSystem)
    }

    /// Replaces the label of the open file `descriptor` of `fileSystem`.
    ///
    /// - Returns: whether the file system stored all of it.
    @discardableResult
    func write(to descriptor: Int32, on fileSystem: any FileSystem) -> Bool {
        let areKeysKept = Self.write(keys.joined(separator: "\0"), as: Self.keysName, to: descriptor, fileSystem)
        return Self.write(originURL ?? "", as: Self.originName, to: descriptor, fileSystem) && areKeysKept
    }

    /// The attribute of the keys. On Linux, `LocalFileSystem` adds the namespace `user.`.
    private static let keysName = "avatars.keys"
    /// The attribute of the URL, which file managers and download tools share.
    private static let originName = "xdg.origin.url"
    /// The largest attribute that Linux allows (`XATTR_SIZE_MAX`).
    private static let maximumBytes = 65_536

    /// The attribute `name` of the open file; `nil` if it is missing, too large or not supported. Bytes that are not
    /// UTF-8 are replaced.
    private static func read(_ name: String, _ descriptor: Int32, _ fileSystem: any FileSystem) -> String? {
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
            length = fileSystem.attribute(descriptor, name, buffer.baseAddress, maximumBytes)
            count = max(0, length)
        }
        return length < 0 ? nil : String(decoding: bytes, as: UTF8.self)
    }

    /// Sets the attribute `name` of the open file; an empty text removes it. Returns whether that succeeded.
    private static func write(
        _ text: String,
        as name: String,
        to descriptor: Int32,
        _ fileSystem: any FileSystem
    ) -> Bool {
        var text = text
        return text.withUTF8 { fileSystem.setAttribute(descriptor, name, $0.baseAddress, $0.count) == 0 }
    }
}
