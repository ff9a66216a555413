import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarRenditions

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Images that cannot or must not be decoded. The decoder must report the reason and never crash.
@Suite(.enabled(if: Fixture.hasDecoders, "needs the package trait Renditions"), .timeLimit(.minutes(5)))
struct BadImageTests {
    private let pool = DecoderPool()
    private let rendition = Rendition(size: 48, format: .jpeg)

    /// The decodable images of this target and of the image parsers, except slow ones.
    private static func images() throws -> [(name: String, bytes: [UInt8])] {
        let others = URL(filePath: #filePath).appending(path: "../../AvatarImagesTests/Fixtures/images").standardized
        let formats = ["jpg", "png", "webp", "gif"]
        let names = try FileManager.default.contentsOfDirectory(atPath: others.path).filter { name in
            formats.contains { name.hasSuffix(".\($0)") } && name != "jpeg-arithmetic.jpg"
        }
        let refused = ["arithmetic.jpg", "interlace-bomb.png"]
        return try names.sorted().map { ($0, [UInt8](try Data(contentsOf: others.appending(path: $0)))) }
            + Fixture.names.filter { !refused.contains($0) }.map { ($0, try Fixture.bytes($0)) }
    }

    private func refusal(of bytes: [UInt8]) async throws -> RenditionError? {
        try await pool.refusal(rendition, of: bytes)
    }

    @Test func cutImagesAreTruncated() async throws {
        for (name, bytes) in try Self.images() {
            #expect(try await refusal(of: bytes) == nil, "\(name)")
            for length in [0, bytes.count / 10, bytes.count / 2, bytes.count * 95 / 100, bytes.count - 1] {
                let refusal = try await refusal(of: Array(bytes.prefix(length)))
                guard case .cannotDecode = refusal else {
                    Issue.record("\(name), \(length) of \(bytes.count) bytes: \(String(describing: refusal))")
                    continue
                }
            }
        }
    }

    /// The file has its end but not its middle, for which libjpeg only warns.
    @Test(arguments: ["photo.jpg", "photo-cjpeg.jpg", "photo-ffmpeg.jpg"])
    func jpegWithoutItsMiddleIsTruncated(_ name: String) async throws {
        let bytes = try Fixture.bytes(name)

        #expect(
            try await refusal(of: bytes.prefix(bytes.count / 2) + [0xFF, 0xD9])
                == .cannotDecode("The image is truncated.")
        )
    }

    @Test func changedImagesKillNoDecoder() async throws {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random(below limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        for (name, bytes) in try Self.images() {
            for round in 0..<30 {
                var bytes = bytes
                for _ in 0...random(below: 4) { bytes[random(below: bytes.count)] = UInt8(random(below: 256)) }
                switch try await refusal(of: bytes) {
                case nil, .cannotDecode: break
                case let other?: Issue.record("\(name), round \(round): \(other)")
                }
            }
        }
    }

    @Test func otherFormatsAreNotDecoded() async throws {
        let others = URL(filePath: #filePath).appending(path: "../../AvatarImagesTests/Fixtures/images").standardized
        let formats = ["avif", "heic", "bmp", "ico", "tiff", "svg", "jp2"]
        let names = try FileManager.default.contentsOfDirectory(atPath: others.path).filter { name in
            formats.contains { name.hasSuffix(".\($0)") }
        }
        #expect(names.count > 15)
        for name in names {
            let refusal = try await refusal(of: [UInt8](try Data(contentsOf: others.appending(path: name))))
            #expect(
                refusal
                    == .cannotDecode(
                        "The format of the image is not supported. It must be JPEG, PNG, WebP or GIF."
                    ),
                "\(name)"
            )
        }
    }

    @Test func polyglots() async throws {
        let jpeg = try Fixture.bytes("orientation-1.jpg")
        let zip: [UInt8] = Array("PK\u{3}\u{4}".utf8) + [UInt8](repeating: 0, count: 100)

        // The image comes first; the decoder does not read the rest.
        #expect(try await refusal(of: jpeg + zip) == nil)
        #expect(try await refusal(of: try Fixture.bytes("small.png") + Array("<script>".utf8)) == nil)
        // Other data comes first.
        for prefix in ["%PDF-1.7\n", "<html>", "PK\u{3}\u{4}"] {
            guard case .cannotDecode = try await refusal(of: Array(prefix.utf8) + jpeg) else {
                Issue.record("\(prefix)")
                continue
            }
        }
        // The first bytes of one format, followed by another format.
        for (first, count) in [("small.png", 8), ("animated.gif", 6), ("alpha.webp", 12)] {
            guard case .cannotDecode = try await refusal(of: try Fixture.bytes(first).prefix(count) + jpeg) else {
                Issue.record("\(first)")
                continue
            }
        }
    }

    @Test func arithmeticCodingIsNotDecoded() async throws {
        guard case .cannotDecode(let why) = try await refusal(of: try Fixture.bytes("arithmetic.jpg")) else {
            Issue.record("decoded")
            return
        }
        #expect(why.contains("arithmetic"))
    }

    @Test(arguments: ["small.png", "photo.jpg", "animated.gif", "photo-cwebp.webp"])
    func tooManyPixelsAreRefusedBeforeDecoding(_ name: String) async throws {
        var bytes = try Fixture.bytes(name)
        switch name {
        case "small.png":
            // The checksum is wrong too, but the decoder refuses the size first.
            bytes.replaceSubrange(16..<24, with: [0, 0, 0x1F, 0x40, 0, 0, 0x1F, 0x40])
        case "photo.jpg":
            let frame = try #require(bytes.indices.first { bytes[$0] == 0xFF && bytes[$0 + 1] == 0xC0 })
            bytes.replaceSubrange((frame + 5)..<(frame + 9), with: [0x1F, 0x40, 0x1F, 0x40])
        case "animated.gif":
            bytes.replaceSubrange(6..<10, with: [0x40, 0x1F, 0x40, 0x1F])
        default:
            let frame = try #require(bytes.indices.first { Array(bytes[$0..<($0 + 3)]) == [0x9D, 0x01, 0x2A] })
            bytes.replaceSubrange((frame + 3)..<(frame + 7), with: [0x40, 0x1F, 0x40, 0x1F])
        }

        #expect(
            try await refusal(of: bytes)
                == .cannotDecode(
                    "The image has 8000 x 8000 pixels; the limits are 50 million pixels, and 65,500 on a side."
                )
        )
    }

    @Test func sidesAreLimited() async throws {
        var bytes = try Fixture.bytes("small.png")
        bytes.replaceSubrange(16..<24, with: [0, 0, 0xFF, 0xDD, 0, 0, 0, 1])

        #expect(
            try await refusal(of: bytes)
                == .cannotDecode(
                    "The image has 65501 x 1 pixels; the limits are 50 million pixels, and 65,500 on a side."
                )
        )
    }

    /// Tests the memory limit. On a busy machine this image exceeds the usual time limit.
    @Test func interlaceBombFitsIntoTheLimits() async throws {
        var limits = DecoderWorkers.Limits()
        limits.image = .seconds(60)
        let patient = DecoderPool(helperPath: nil, limits: limits)
        let made = try await patient.make(rendition, of: "interlace-bomb.png")

        #expect((made.width, made.height) == (48, 48))
    }

    @Test func pipeIsUnreadable() async throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }

        await #expect(throws: RenditionError.unavailable("The decoder cannot read the file of the image.")) {
            try await pool.make(rendition, from: ends[0])
        }
    }

    @Test func tooLargeFileIsRefused() async throws {
        let file = try OpenFile([0xFF, 0xD8, 0xFF])
        #expect(ftruncate(file.descriptor, 65 << 20) == 0)

        await #expect(throws: RenditionError.cannotDecode("The file is larger than 64 MiB, the limit for decoding.")) {
            try await pool.make(rendition, from: file.descriptor)
        }
    }
}
