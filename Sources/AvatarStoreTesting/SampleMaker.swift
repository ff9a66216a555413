import AvatarFoundation
package import AvatarProviders
import AvatarStore

/// Makes valid PNG files without decoding the original, to test the store without decoders. The bytes depend on the rendition.
package final class SampleMaker: RenditionMaker {
    package let version: Int
    /// The number of renditions made.
    package var count: Int { made.withLock { $0 } }

    private let made = Locked(0)
    private let byteCount: Int
    private let before: @Sendable (_ count: Int) async throws -> Void

    /// - Parameters:
    ///   - version: the version of the decoders. Default: 1.
    ///   - byteCount: the length of each rendition in bytes. Default: 1,000.
    ///   - before: called before each rendition, with its number from 1; an error fails the rendition. Default: does nothing.
    package init(
        version: Int = 1,
        byteCount: Int = 1000,
        before: @escaping @Sendable (_ count: Int) async throws -> Void = { _ in }
    ) {
        (self.version, self.byteCount, self.before) = (version, byteCount, before)
    }

    /// The ThumbHash of each original.
    package static let thumbHash: [UInt8] = [
        220, 247, 5, 45, 142, 63, 134, 119, 164, 121, 119, 125, 136, 199, 87, 121, 11, 53, 233, 130, 8,
    ]

    package func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        let count = made.withLock { count in
            count += 1
            return count
        }
        try await before(count)
        return MadeRendition(
            bytes: SampleImage.png(seed: UInt64(rendition.size), byteCount: byteCount),
            mediaType: "image/png",
            width: rendition.size,
            height: rendition.size,
            thumbHash: Self.thumbHash
        )
    }
}
