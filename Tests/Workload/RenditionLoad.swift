import AvatarDigest
package import AvatarFileSystem
import AvatarFoundation
package import AvatarProviders
package import AvatarStore
import AvatarStoreTesting

/// Random work on a store with own images and their renditions, under a budget that is too small for all of them.
package struct RenditionLoad: Sendable {
    /// The budget of `caches`.
    package static let budget = 40_000
    /// The number of images.
    private static let names = 12

    /// The store, with the budget set.
    package let store: AvatarStore

    /// Opens the store in `directory`.
    package init(_ directory: String, fileSystem: any FileSystem = LocalFileSystem()) async throws {
        var configuration = AvatarStore.Configuration(directory: directory)
        configuration.budget = Self.budget
        configuration.renditions = DigestMaker(fileSystem)
        store = try await AvatarStore.open(configuration, fileSystem: fileSystem)
    }

    /// One operation. Most request a rendition; others replace, move or remove an image, or evict.
    package func step(_ random: inout RandomOperations) async throws {
        let name = random.number(below: Self.names)
        let key = try AvatarKey(name: "\(name)")
        switch random.number(below: 20) {
        case ..<4:
            let image = SampleImage.png(seed: UInt64(random.number(below: 1000)), byteCount: 2000 + 300 * name)
            try await store.save(image, named: "\(name)", in: random.chance(70) ? .caches : .documents)
        case 4: _ = try await store.remove(key)
        case 5: _ = try await store.trim(to: random.number(below: Self.budget))
        case 6: _ = try await store.move(key, to: random.chance(50) ? .caches : .documents)
        default:
            guard try store.storedFile(for: key) != nil else { return }
            let sizes = Rendition.sizes
            let rendition = Rendition(
                size: sizes[random.number(below: sizes.count)],
                fit: random.chance(50) ? .square : .inside
            )
            _ = try await store.avatar(for: key, options: FetchOptions(policy: .offline, rendition: rendition))
        }
    }

    /// The stored renditions that do not match the current image, by key.
    package func wrongRenditions() async throws -> [String] {
        var wrong: [String] = []
        for name in 0..<Self.names {
            let key = try AvatarKey(name: "\(name)")
            guard let original = try store.storedAvatar(for: key) else { continue }
            for size in Rendition.sizes {
                for fit in Rendition.Fit.allCases {
                    let rendition = Rendition(size: size, fit: fit)
                    guard let stored = try store.storedAvatar(for: key, as: rendition) else { continue }
                    guard let made = stored.rendition, stored.bytes == DigestMaker.bytes(made, of: original.bytes)
                    else {
                        wrong.append("\(key) \(rendition)")
                        continue
                    }
                }
            }
        }
        return wrong
    }
}

/// Makes renditions whose bytes depend only on the original, so that every process can check them.
package struct DigestMaker: RenditionMaker {
    private let fileSystem: any FileSystem

    /// A maker that reads originals on `fileSystem`, where their descriptors come from.
    package init(_ fileSystem: any FileSystem) {
        self.fileSystem = fileSystem
    }

    package var version: Int { 1 }

    package func make(_ rendition: Rendition, from descriptor: Int32) async throws -> MadeRendition {
        let original = try original(descriptor)
        return MadeRendition(
            bytes: Self.bytes(rendition, of: original),
            mediaType: "image/png",
            width: rendition.size,
            height: rendition.size,
            thumbHash: Array(SHA256.hash(original).prefix(12))
        )
    }

    /// All bytes of the original: a call may read a part of them.
    private func original(_ descriptor: Int32) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        var count = 0
        while count < bytes.count {
            let step = bytes.withUnsafeMutableBytes { [count] buffer in
                fileSystem.pread(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count, count)
            }
            if step < 0, errno == EINTR { continue }
            guard step >= 0 else { throw RenditionError.cannotDecode("The original cannot be read.") }
            if step == 0 { break }
            count += step
        }
        guard count > 0 else { throw RenditionError.cannotDecode("The original is empty.") }
        return Array(bytes[..<count])
    }

    /// The bytes of `rendition` of `original`.
    package static func bytes(_ rendition: Rendition, of original: [UInt8]) -> [UInt8] {
        let digest = SHA256.hash(original + Array(rendition.description.utf8))
        let seed = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return SampleImage.png(seed: seed, byteCount: 400 + 4 * rendition.size)
    }
}
