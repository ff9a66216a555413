import CAvatarSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What a document says of itself in its extended attributes, so that an index that is lost can be made again.
///
/// The keys of the images that it is stored for are in `avatars.keys`, separated by NUL; where the first of them came
/// from is in `xdg.origin.url`
/// (https://www.freedesktop.org/wiki/CommonExtendedAttributes). A file system without attributes, or without room for
/// them, keeps the file all the same.
package struct FileLabel: Hashable, Sendable {
    package var keys: [String]
    package var originURL: String?

    package init(keys: [String], originURL: String? = nil) {
        self.keys = keys
        self.originURL = originURL
    }

    /// Takes in what another label says.
    package mutating func add(_ other: FileLabel) {
        keys += other.keys.filter { !keys.contains($0) }
        originURL = originURL ?? other.originURL
    }

    /// What the open file `descriptor` says of itself; `nil` if it says nothing.
    init?(of descriptor: Int32) {
        guard let keys = Self.read(Self.keysName, descriptor), !keys.isEmpty else { return nil }
        self.keys = keys.split(separator: "\0").map(String.init)
        originURL = Self.read(Self.originName, descriptor)
    }

    /// Writes the label to the open file `descriptor`, in place of the one it has.
    ///
    /// - Returns: whether the file system took it.
    @discardableResult
    func write(to descriptor: Int32) -> Bool {
        let areKeysKept = Self.write(keys.joined(separator: "\0"), Self.keysName, descriptor)
        return Self.write(originURL ?? "", Self.originName, descriptor) && areKeysKept
    }

    private static let keysName = "avatars.keys"
    private static let originName = "xdg.origin.url"
    /// What Linux allows for one attribute (`XATTR_SIZE_MAX`).
    private static let maximumBytes = 65_536

    private static func read(_ name: String, _ descriptor: Int32) -> String? {
        var length = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: maximumBytes) { buffer, count in
            length = avatar_get_attribute(descriptor, name, buffer.baseAddress, maximumBytes)
            count = max(0, length)
        }
        return length < 0 ? nil : String(decoding: bytes, as: UTF8.self)
    }

    private static func write(_ text: String, _ name: String, _ descriptor: Int32) -> Bool {
        var text = text
        return text.withUTF8 { avatar_set_attribute(descriptor, name, $0.baseAddress, $0.count) == 0 }
    }
}
