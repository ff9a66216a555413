import AvatarCore
import AvatarOrigin
import AvatarStoreTesting
import Foundation
import Testing

/// Origins that flood an HTTP/2 connection (RFC 9113 section 10.5), with the client on libcurl. Each request ends in an error,
/// and the next one to another origin succeeds.
@Suite(.enabled(if: Certificate.isAvailable, Certificate.absence), .timeLimit(.minutes(5)))
struct FloodTests {
    enum Flood: CaseIterable, Sendable {
        /// Frames that ask for an acknowledgement each.
        case settings, pings
        /// A header that never ends.
        case continuations
        /// A header of a megabyte in a few kilobytes, by the compression of RFC 7541.
        case compressedHeader
        /// Streams that the client did not open, and streams that end at once.
        case pushes, resets
        /// Empty frames of a body.
        case emptyData

        var frames: [UInt8] {
            let settings = Frame(type: 4, flags: 0, stream: 0, [])
            let head = Frame(type: 1, flags: 4, stream: 1, [0x88])
            let flood: [Frame] =
                switch self {
                case .settings: Array(repeating: settings, count: 20_000)
                case .pings:
                    Array(repeating: Frame(type: 6, flags: 0, stream: 0, Array(repeating: 1, count: 8)), count: 20_000)
                case .continuations:
                    [Frame(type: 1, flags: 0, stream: 1, [0x88])]
                        + Array(repeating: Frame(type: 9, flags: 0, stream: 1, Self.field("a", 1_000)), count: 5_000)
                case .compressedHeader:
                    // One field for the table, then its index, again and again.
                    [
                        Frame(
                            type: 1,
                            flags: 4,
                            stream: 1,
                            [0x88] + Self.field("a", 3_000) + Array(repeating: 0xBE, count: 12_000)
                        )
                    ]
                case .pushes:
                    (0..<5_000).map { Frame(type: 5, flags: 4, stream: 1, [0, 0, 0, UInt8($0 % 100) * 2 + 2, 0x88]) }
                case .resets: Array(repeating: Frame(type: 3, flags: 0, stream: 1, [0, 0, 0, 8]), count: 5_000)
                case .emptyData: [head] + Array(repeating: Frame(type: 0, flags: 0, stream: 1, []), count: 100_000)
                }
            return settings.bytes + flood.flatMap(\.bytes)
        }

        /// A field that enters the table: its name, and a value of `count` bytes.
        private static func field(_ name: String, _ count: Int) -> [UInt8] {
            var length: [UInt8] = [0x7F]
            var rest = count - 127
            while rest >= 128 {
                length.append(UInt8(rest % 128 + 128))
                rest /= 128
            }
            length.append(UInt8(rest))
            return [0x40, UInt8(name.utf8.count)] + Array(name.utf8) + length + Array(repeating: 0x61, count: count)
        }
    }

    private struct Frame {
        let type: UInt8
        let flags: UInt8
        let stream: UInt8
        let payload: [UInt8]

        init(type: UInt8, flags: UInt8, stream: UInt8, _ payload: [UInt8]) {
            (self.type, self.flags, self.stream, self.payload) = (type, flags, stream, payload)
        }

        var bytes: [UInt8] {
            let count = payload.count
            return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags, 0, 0, 0, stream]
                + payload
        }
    }

    @Test(arguments: Flood.allCases)
    func floodEndsInAnError(flood: Flood) async throws {
        let certificate = try await Certificate(.valid)
        let frames = flood.frames
        // The preface of HTTP/2 reads like a request for "*", and the request follows it (RFC 9113 section 3.4).
        try await RawOrigin.withOrigin({ .init($0 == "*" ? frames : []) }) { origin in
            let port = try #require(URL(string: origin.url("/"))?.port)
            try await TLSFront.withFront(of: port, showing: certificate, protocols: ["h2"]) { front in
                try await withClient({
                    $0.additionalTrustRootsFile = certificate.file
                    $0.idleTimeoutSeconds = 2
                }) { client, healthy in
                    healthy.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")

                    let start = ContinuousClock.now
                    let failure = await failure { _ = try await read(client, "https://127.0.0.1:\(front.port)/a.png") }

                    #expect([.unreachable, .timeout, .truncated].contains(failure?.kind))
                    #expect(failure?.message.contains("127.0.0.1:\(front.port)") == true)
                    #expect(ContinuousClock.now - start < .seconds(30))
                    let answer = try await read(client, healthy.url("/a.png"))
                    #expect(answer.text == "face")
                }
            }
        }
    }
}
