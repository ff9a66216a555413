import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// A sync on a disk that fills up.
@Suite(.enabled(if: Mount.isPossible, Comment(rawValue: Mount.absence)))
struct FullDiskTests {
    @Test(arguments: [1, 4])
    func aSyncOnAFullDiskSaysSo_andCompletesOnceThereIsRoom(connections: Int) async throws {
        try await withPictures { origin in
            let workplace = try Workplace()
            let disk = try Mount(memory: "2m", at: workplace.path("disk"))
            try workplace.write("list.txt", origin.list(800))
            try await workplace.run("config", "budget", "50MB", "--store", "disk/store").requireSuccess()
            let sync = [
                "sync", "list.txt", "--store", "disk/store", "--allow-private-network", "--json",
                "--connections", "\(connections)",
            ]

            let full = try await workplace.start(sync).end()

            #expect(full.status == 2, "\(full.text)\(full.messages)")
            #expect(
                full.messages.contains("No space left on device") || full.messages.contains("disk is full"),
                "\(full.messages)"
            )
            try await workplace.expectConsistent(store: "disk/store")
            let stored = try await workplace.listedFiles(store: "disk/store")
            #expect(stored.count > 50)

            try disk.resize(to: "40m")
            let first = try await workplace.run(
                "get",
                origin.url("/p/1.png"),
                "--policy",
                "offline",
                "--store",
                "disk/store"
            )
            #expect(first.bytes == pictureBytes("/p/1.png"))
            let again = try await workplace.start(sync).end()

            #expect(again.status == 0, "\(again.messages)")
            let report = try again.object
            #expect(report.number("wanted") == 800)
            #expect(report.number("failed") == 0)
            // What was stored before the disk was full is not fetched again.
            #expect(report.number("fetched") ?? 800 <= 800 - stored.count)
            try await workplace.expectConsistent(store: "disk/store")
        }
    }
}
