import AvatarSQLite
import Foundation
import ProgramRunning
import Testing

/// A store that is moved away, replaced or upgraded under the running server.
@Suite(.timeLimit(.minutes(5))) struct ChangedStoreTests {
    /// Checks that the server says it is not ready, without naming a path, and is alive.
    private func expectNotReady(_ server: RunningServer) async throws {
        let image = try await ServedStore.wait(for: "/contacts/ada/picture", at: server) { $0.status == 503 }
        for target in ["/readyz", "/contacts", "/", "/changes", "/metrics", "/images/x.png"] {
            let reply = try await server.ask(target)
            #expect(reply.status == 503 && reply.isProblem, "\(target)")
            #expect(!reply.text.contains(server.workplace.path))
        }
        #expect(image.isProblem && image.text.contains("moved, replaced or upgraded"))
        #expect(try await server.ask("/healthz").status == 200)
        #expect(try await server.ask("/openapi.json").status == 200)
    }

    @Test func storeThatWasMovedAwayIsServedAgainOnceItIsBack() async throws {
        let run = try await ServedStore.served { server, _ in
            let place = server.workplace
            #expect(try await server.ask("/readyz").status == 200)
            try FileManager.default.moveItem(atPath: place.path("store"), toPath: place.path("away"))

            try await expectNotReady(server)

            try FileManager.default.moveItem(atPath: place.path("away"), toPath: place.path("store"))
            let back = try await ServedStore.wait(for: "/contacts/ada/picture", at: server) { $0.status == 200 }
            #expect(back.body == imageBytes("/ada.png"))
            #expect(try await server.ask("/readyz").status == 200)
        }
        #expect(run.status == 143)
        let lines = run.messages.split(separator: "\n").filter { $0.contains("is not the one that was opened") }
        #expect(lines.count == 1)
        #expect(run.messages.contains("index.sqlite\" was moved, replaced or removed while it was open."))
    }

    @Test func restoredStoreIsNotMixedWithTheOpenOne() async throws {
        try await ServedStore.served { server, _ in
            let place = server.workplace
            try await place.run("backup", "saved").requireSuccess()
            let events = try server.connect()
            await events.send("GET /changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
            #expect(try await events.read(until: "retry:").contains("200 OK"))
            try FileManager.default.removeItem(atPath: place.path("store"))
            try await place.run("restore", "saved").requireSuccess()

            try await expectNotReady(server)
            // A stream of events ends, so that its client connects again and learns of it.
            _ = try await events.readToEnd()
        }
    }

    @Test func upgradedStoreIsNotRead() async throws {
        try await ServedStore.served { server, _ in
            let index = try Connection(path: server.workplace.path("store/index.sqlite"), access: .readWriteExisting)
            let version = try #require(try index.integer("PRAGMA user_version"))
            try index.execute("PRAGMA user_version = \(version + 1)")

            try await expectNotReady(server)

            try index.execute("PRAGMA user_version = \(version)")
            try index.close()
            let back = try await ServedStore.wait(for: "/readyz", at: server) { $0.status == 200 }
            #expect(back.status == 200)
        }
    }

    @Test func deletedFileIsNoImage_untilTheNextSync() async throws {
        try await ServedStore.served { server, _ in
            let place = server.workplace
            try FileManager.default.removeItem(atPath: place.path("store/caches"))
            let reply = try await ServedStore.wait(for: "/contacts/ada/picture", at: server) { $0.status == 404 }
            #expect(reply.status == 404 && reply.isProblem)
            #expect(try await server.ask("/readyz").status == 200)
        }
    }
}
