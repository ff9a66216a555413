import AvatarDigest
import AvatarStoreTesting
import Foundation
import ProgramRunning

/// A folder with a synced store: Ada and Carl have images, Ben has none, and the id of Zoë needs encoding.
enum ServedStore {
    /// The contact list, with Ada's image at `ada`.
    static func people(_ origin: LoopbackOrigin, ada: String = "/ada.png") -> String {
        """
        [{"id": "ada", "name": "Ada Lovelace", "avatarURL": "\(origin.url(ada))"},
         {"id": "ben", "name": "Ben Bold"},
         {"id": "carl", "name": "Carl", "avatarURL": "\(origin.url("/carl.png"))"},
         {"id": "a/b é?", "name": "Zoë", "avatarURL": "\(origin.url("/zoe.png"))"}]
        """
    }

    /// Runs `body` with the origin and the folder of a synced store.
    static func with(_ body: (LoopbackOrigin, Workplace) async throws -> Void) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.json", people(origin))
            try await workplace.run("sync", "people.json", "--allow-private-network").requireSuccess()
            try await body(origin, workplace)
        }
    }

    /// Runs `body` with a server on a synced store.
    @discardableResult
    static func served(
        _ arguments: [String] = [],
        _ body: (RunningServer, LoopbackOrigin) async throws -> Void
    ) async throws -> Run {
        var run: Run?
        try await with { origin, workplace in
            run = try await RunningServer.with(arguments, in: workplace) { try await body($0, origin) }
        }
        return try run ?? { throw CancellationError() }()
    }

    /// The ETag of `bytes`.
    static func tag(_ bytes: [UInt8]) -> String {
        "\"" + SHA256.hash(bytes).map { String(format: "%02x", $0) }.joined() + "\""
    }

    /// Asks until `isMet` holds for the response.
    static func wait(
        for target: String,
        _ fields: [String] = [],
        at server: RunningServer,
        until isMet: (HTTPReply) -> Bool
    ) async throws -> HTTPReply {
        var reply = try await server.ask(target, fields)
        try await waitUntil(every: .milliseconds(20)) {
            if !isMet(reply) { reply = try await server.ask(target, fields) }
            return isMet(reply)
        }
        return reply
    }
}
