/// An image of the caller's own, to be saved together with others.
public struct OwnImage: Hashable, Sendable {
    /// Under which it is stored, as `name:NAME`: 1 to 1,024 bytes without NUL.
    public var name: String
    /// The image's, as a file has them.
    public var bytes: [UInt8]

    /// An image to be stored under `name`.
    public init(named name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }
}
