import AvatarCore
import AvatarProviders
import Foundation

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// An image of `Fixtures`. The README there describes how each was made.
enum Fixture {
    /// Whether the helper has its decoders and its sandbox here.
    #if Renditions && os(Linux)
    static let hasDecoders = true
    #else
    static let hasDecoders = false
    #endif

    private static var folder: URL { Bundle.module.bundleURL.appending(path: "Fixtures") }

    /// The names of all images.
    static var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
                $0.contains(".") && $0 != "README.md"
            }
            .sorted()
        }
    }

    /// The bytes of an image.
    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }

    /// The path of an image.
    static func path(_ name: String) -> String { folder.appending(path: name).path }
}

/// An open file without a name, for an image that is not in `Fixtures`.
final class OpenFile: Sendable {
    let descriptor: Int32

    init(_ bytes: [UInt8]) throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "rendition-\(UUID().uuidString)").path
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        unlink(path)
        guard write(descriptor, bytes, bytes.count) == bytes.count else { throw POSIXError(.EIO) }
    }

    convenience init(fixture name: String) throws {
        try self.init(try Fixture.bytes(name))
    }

    deinit { close(descriptor) }
}

extension RenditionMaker {
    /// Makes a rendition of `bytes`.
    func make(_ rendition: Rendition, of bytes: [UInt8]) async throws -> MadeRendition {
        let file = try OpenFile(bytes)
        defer { withExtendedLifetime(file) {} }
        return try await make(rendition, from: file.descriptor)
    }

    /// Makes a rendition of a fixture.
    func make(_ rendition: Rendition, of name: String) async throws -> MadeRendition {
        try await make(rendition, of: try Fixture.bytes(name))
    }

    /// The reason why no rendition of `bytes` can be made; `nil` if one can be made.
    func refusal(_ rendition: Rendition, of bytes: [UInt8]) async throws -> RenditionError? {
        do {
            _ = try await make(rendition, of: bytes)
            return nil
        } catch let error as RenditionError {
            return error
        }
    }
}
