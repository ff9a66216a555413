import AvatarStoreTesting
import CZlib
import Testing

@testable import AvatarStore

/// Bodies with a content coding, although the request asked for identity.
@Suite(.timeLimit(.minutes(5)))
struct ContentCodingTests {
    private static let face = SampleImage.png(seed: 1, byteCount: 300_000)

    /// `bytes` and then `zeros` zeros, compressed by zlib. The window is 31 for gzip, 15 for zlib, -15 for neither
    /// header nor checksum.
    private static func coded(_ bytes: [UInt8], zeros: Int = 0, window: CInt) -> [UInt8] {
        var stream = z_stream()
        let size = CInt(MemoryLayout<z_stream>.size)
        guard deflateInit2_(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size) == Z_OK else {
            return []
        }
        defer { deflateEnd(&stream) }
        var output: [UInt8] = []
        func add(_ piece: [UInt8], isLast: Bool) {
            var piece = piece
            var room = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(piece.count))))
            let count = piece.withUnsafeMutableBufferPointer { source in
                room.withUnsafeMutableBufferPointer { target in
                    stream.next_in = source.baseAddress
                    stream.avail_in = UInt32(source.count)
                    stream.next_out = target.baseAddress
                    stream.avail_out = UInt32(target.count)
                    deflate(&stream, isLast ? Z_FINISH : Z_NO_FLUSH)
                    return target.count - Int(stream.avail_out)
                }
            }
            output += room.prefix(count)
        }
        add(bytes, isLast: zeros == 0)
        let piece = [UInt8](repeating: 0, count: 1_000_000)
        for number in 0..<zeros / piece.count { add(piece, isLast: (number + 1) * piece.count == zeros) }
        return output
    }

    private static func gzip(_ bytes: [UInt8]) -> [UInt8] { coded(bytes, window: 31) }

    private static func response(_ body: [UInt8], _ coding: String...) -> LoopbackOrigin.Response {
        var response = LoopbackOrigin.Response.image(body, etag: "\"1\"", cacheControl: "max-age=60")
        for coding in coding { response.headers.append("Content-Encoding", coding) }
        return response
    }

    /// The image that `response` leads to, or its failure.
    private func outcome(
        of response: LoopbackOrigin.Response,
        _ check: (StoreFixture, AvatarImage) async throws -> Void = { _, _ in }
    ) async throws -> AvatarStoreError? {
        try await StoreFixture.withStore { fixture in
            try await fixture.store.set(.maximumImageBytes, to: 1_000_000)
            fixture.origin.setResponse(response, for: "/a.png")
            do {
                try await check(fixture, try await fixture.store.avatar(for: fixture.origin.url("/a.png")))
                return nil
            } catch let error as AvatarStoreError {
                return error
            }
        }
    }

    // MARK: What is only claimed

    @Test(arguments: [
        "base64", "utf-8", "binary", "none", "aws-chunked", "identity, identity", "", " ", "gzip", "deflate", "br",
        "zstd",
        "x-unknown, gzip",
    ])
    func codingThatIsOnlyClaimedIsPassedOver(coding: String) async throws {
        let failure = try await outcome(of: Self.response(Self.face, coding)) { _, image in
            #expect(image.bytes == Self.face)
        }
        #expect(failure == nil)
    }

    // MARK: What is coded

    /// A body by its name, so that a run does not print its bytes.
    struct Body: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let codings: [String]
        let bytes: [UInt8]

        init(_ name: String, _ codings: [String], _ bytes: [UInt8]) {
            (testDescription, self.codings, self.bytes) = (name, codings, bytes)
        }
    }

    static let bodies = [
        Body("gzip", ["gzip"], gzip(face)), Body("x-gzip", ["x-gzip"], gzip(face)),
        Body("in capitals", [" GZIP "], gzip(face)),
        Body("zlib", ["deflate"], coded(face, window: 15)), Body("raw deflate", ["deflate"], coded(face, window: -15)),
        Body("gzip called deflate", ["deflate"], gzip(face)), Body("twice", ["gzip, gzip"], gzip(gzip(face))),
        Body("two fields", ["deflate", "identity, gzip"], gzip(coded(face, window: -15))),
        Body("two members", ["gzip"], gzip(Array(face.prefix(9))) + gzip(Array(face.dropFirst(9)))),
        Body("bytes behind the end", ["gzip"], gzip(face) + [0, 0, 0]),
    ]

    @Test(arguments: bodies)
    func codedImageIsDecoded(body: Body) async throws {
        var response = Self.response(body.bytes)
        for coding in body.codings { response.headers.append("Content-Encoding", coding) }
        for behaviour in [LoopbackOrigin.Behaviour.normal, .chunked, .drip(byteCount: 20_000, interval: .zero)] {
            let failure = try await outcome(of: response.behaving(behaviour)) { fixture, image in
                #expect(image.bytes == Self.face)
                let stored = try #require(try fixture.store.storedAvatar(for: fixture.origin.url("/a.png")))
                #expect(stored.bytes == Self.face)
                // The digest is compared with the file at the end.
                #expect(Array(fixture.files(in: .caches).values) == [Self.face.count])
                #expect(try fixture.store.statistics().cachesBytes == Self.face.count)
            }
            #expect(failure == nil)
        }
    }

    @Test func codedImageIsRevalidatedAndNeverResumed() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.origin.url("/a.png")
            let response = Self.response(Self.gzip(Self.face), "gzip")
            fixture.origin.setResponse(response.behaving(.cutShort(after: 200_000)), for: "/a.png")
            await #expect { try await fixture.store.avatar(for: url) } throws: {
                ($0 as? AvatarStoreError)?.failure == .truncated
            }
            fixture.origin.setResponse(response, for: "/a.png")
            let image = try await fixture.store.avatar(for: url)
            #expect(image.bytes == Self.face)
            #expect(fixture.origin.requests.allSatisfy { $0.headers["Range"] == nil })

            let again = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(again.bytes == Self.face)
            #expect(try fixture.store.statistics().stagingBytes == 0)
        }
    }

    // MARK: What is refused

    @Test(
        arguments: [
            (Body("cut short", ["gzip"], Array(gzip(face).dropLast(9))), .truncated, "gzip"),
            (Body("wrong sum", ["gzip"], Array(gzip(face).dropLast(8)) + [1, 2, 3, 4, 5, 6, 7, 8]), .notImage, "gzip"),
            (Body("a page", ["gzip"], Array("<!DOCTYPE html><title>Log in</title>".utf8)), .notImage, "gzip"),
            (
                Body("a coded page", ["gzip"], gzip(Array("<!DOCTYPE html><title>Log in</title>".utf8))), .notImage,
                "`<!DOCTYPE ht`"
            ),
            (
                Body("a coded link", ["gzip"], gzip(Array("<a href=\"https://ada:secret@a.example\">".utf8))),
                .notImage,
                "`<a href`"
            ),
            (Body("brotli", ["br"], [0x8B, 0x05, 0x80] + Array("nonsense".utf8)), .notImage, "\"br\""),
            (Body("zstd below gzip", ["zstd, gzip"], gzip([0x28, 0xB5, 0x2F, 0xFD])), .notImage, "\"zstd, gzip\""),
            (
                Body("too deep", ["gzip, gzip, gzip, gzip, gzip"], gzip(gzip(gzip(gzip(gzip(face)))))), .notImage,
                "gzip, gzip"
            ),
        ] as [(Body, FailureKind, String)]
    )
    func bodyThatCannotBeDecodedIsRefused(body: Body, kind: FailureKind, word: String) async throws {
        let failure = try await outcome(of: Self.response(body.bytes, body.codings[0]))
        #expect(failure?.failure == kind)
        #expect(failure?.message.contains(word) == true, "\(failure?.message ?? "")")
    }

    /// 400 MB of zeros after the beginning of an image, in 400 KB, and those compressed once more.
    @Test func bombIsRefusedAtTheLimit() async throws {
        let bomb = Self.coded(Array(Self.face.prefix(1_000)), zeros: 400_000_000, window: 31)
        #expect(bomb.count < 1_000_000)

        let failure = try await outcome(of: Self.response(bomb, "gzip"))
        let deep = try await outcome(of: Self.response(Self.gzip(bomb), "gzip, gzip"))

        #expect(failure?.failure == .tooLarge)
        #expect(deep?.failure == .tooLarge)
    }

    /// No decoded piece depends on the length of the body.
    @Test func bombIsDecodedInSmallPieces() throws {
        let bomb = Self.coded([], zeros: 50_000_000, window: 31)
        let inflater = try #require(Inflater("gzip"))
        inflater.add(bomb)
        var (largest, total) = (0, 0)
        while let piece = try inflater.next() {
            largest = max(largest, piece.count)
            total += piece.count
        }
        #expect(total == 50_000_000)
        #expect(largest <= 65_536)
        #expect(inflater.isAtEnd)
    }

    /// Empty deflate blocks produce no byte of an image, however many there are.
    @Test func bodyThatDecodesToNothingIsRefusedAtTheLimit() async throws {
        let empty = Array(repeating: [0, 0, 0, 0xFF, 0xFF] as [UInt8], count: 300_000).flatMap { $0 }
        let failure = try await outcome(of: Self.response([0x78, 0x9C] + empty, "deflate").behaving(.chunked))
        #expect(failure?.failure == .tooLarge)
    }
}
