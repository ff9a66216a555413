import AvatarDigest
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Synchronization
import Testing

/// A sync beside the server is killed again and again. Each client only ever gets whole images of the contact that it asked
/// for, and never an older one after a newer one.
@Suite(.timeLimit(.minutes(30))) struct KilledSyncTests {
    private static let contacts = 40

    /// An origin whose images change, and which knows what each of them is.
    private final class ChangingOrigin: Sendable {
        private struct State {
            var version = 1
            var images: [String: (contact: Int, version: Int)] = [:]
        }

        private let state = Mutex(State())

        func nextVersion() {
            state.withLock { $0.version += 1 }
        }

        /// The present image at `/NUMBER`.
        func response(_ path: String) -> LoopbackOrigin.Response {
            guard let contact = Int(path.dropFirst()) else { return .status(404) }
            return state.withLock { state in
                let bytes = SampleImage.png(
                    seed: UInt64(contact * 10_000 + state.version),
                    byteCount: 3_000 + contact * 500
                )
                state.images[ServedStore.tag(bytes)] = (contact, state.version)
                return .image(bytes, etag: "\"\(state.version)\"", cacheControl: "max-age=0")
            }
        }

        func image(_ tag: String) -> (contact: Int, version: Int)? { state.withLock { $0.images[tag] } }
    }

    /// What one client has seen.
    private struct Reader {
        let server: RunningServer
        let origin: ChangingOrigin
        var random: SplitMix64
        /// The tag and the version of each contact's image that came last.
        private var seen: [Int: (tag: String, version: Int)] = [:]
        private(set) var newImages = 0
        private(set) var unchanged = 0

        init(_ server: RunningServer, _ origin: ChangingOrigin, seed: UInt64) {
            (self.server, self.origin, random) = (server, origin, SplitMix64(seed: seed))
        }

        /// Asks for images until the task is cancelled.
        mutating func read(_ comment: Comment) async throws {
            let connection = try server.connect()
            while !Task.isCancelled {
                let contact = Int.random(in: 0..<KilledSyncTests.contacts, using: &random)
                let known = seen[contact]
                let condition = known.map { ["If-None-Match: \($0.tag)"] } ?? []
                let reply = try await connection.ask("/contacts/c\(contact)/picture", condition)
                let tag = reply["etag"] ?? ""
                switch reply.status {
                case 304:
                    #expect(tag == known?.tag, comment)
                    unchanged += 1
                case 200:
                    #expect(ServedStore.tag(reply.body) == tag, comment)
                    let image = try #require(origin.image(tag), comment)
                    #expect(image.contact == contact, comment)
                    #expect(image.version >= known?.version ?? 0, comment)
                    seen[contact] = (tag, image.version)
                    newImages += 1
                default: Issue.record("\(reply.status): \(reply.text)")
                }
            }
        }
    }

    @Test func clientsNeverGetAMixOrAnotherImage() async throws {
        let seed = TestMode.seed
        let comment: Comment = "seed \(seed)"
        var random = SplitMix64(seed: seed)
        let images = ChangingOrigin()
        let origin = try await LoopbackOrigin.start { images.response($0.path) }
        let workplace = try Workplace()
        let people = (0..<Self.contacts).map { "{\"id\": \"c\($0)\", \"avatarURL\": \"\(origin.url("/\($0)"))\"}\n" }
        try workplace.write("people.ndjson", people.joined())
        try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()

        let run = try await RunningServer.with(in: workplace) { server in
            let readers = (0..<3).map { number in
                Task {
                    var reader = Reader(server, images, seed: seed + UInt64(number))
                    try await reader.read(comment)
                    return reader
                }
            }
            for _ in 0..<(TestMode.isThorough ? 1_000 : 15) {
                images.nextVersion()
                let requests = origin.requestCount + Int.random(in: 1...Self.contacts, using: &random)
                let sync = try await workplace.start(["sync", "people.ndjson", "--allow-private-network", "--quiet"])
                let end = Task { try await sync.end() }
                try await origin.waitForRequests(requests)
                sync.signal(SIGKILL)
                _ = try await end.value
            }
            try await workplace.run("sync", "people.ndjson", "--allow-private-network").requireSuccess()
            for reader in readers { reader.cancel() }
            for reader in readers {
                let reader = try await reader.value
                #expect(reader.newImages > Self.contacts && reader.unchanged > 0, comment)
            }
            // The next request shows what the last sync stored.
            let last = try await server.ask("/contacts/c0/picture")
            #expect(
                images.image(try #require(last["etag"]))?.version == (TestMode.isThorough ? 1_001 : 16),
                comment
            )
        }
        #expect(run.status == 143)
        #expect(try await workplace.run("verify").status == 0, comment)
        try await origin.stop()
    }
}
