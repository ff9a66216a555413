/// An image format. The inspector recognises it by the first bytes of the file; a server's `Content-Type` is ignored.
///
/// A later version may know more formats, so compare with the static members instead of switching over all.
package struct ImageFormat: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The media type in lower case and without parameters, for example `image/png`.
    package let rawValue: String

    /// The format with the media type `rawValue`. It need not be one of the static members.
    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The value for a `Content-Type` header.
    package var mediaType: String { rawValue }

    /// The media type.
    package var description: String { rawValue }
}
