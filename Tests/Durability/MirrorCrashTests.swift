import Foundation
import ProgramRunning
import Testing

/// The real program keeps a mirror up to date and is killed with SIGKILL at one of its calls.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct MirrorCrashTests {
    /// The call before which the program is killed, and its number.
    static let moments = [
        // Of an image: its line in the journal, its bytes, its final name, its line in the manifest.
        "pwritev:when=1", "pwritev:when=5", "renameat:when=1", "renameat:when=4", "pwritev:when=15",
        // A deletion, the new manifest, the end of the journal.
        "unlinkat:when=3", "unlinkat:when=4", "renameat:when=6", "unlinkat:when=5",
    ]

    @Test func killedMirroringIsMendedByTheNext() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            let old = try await prepare(workplace, images)
            let new = old.merging((1...5).map { ("u\($0).png", imageBytes("/\($0).png", version: 2)) }) { $1 }
            for moment in Self.moments {
                let folder = "mirror-" + moment
                // With the times of change, by which a mirror knows its files.
                try await workplace.start(tool: "/bin/cp", ["-a", workplace.path("base"), workplace.path(folder)]).end()
                    .requireSuccess()
                let parts = moment.split(separator: ":")
                let killed = try await workplace.traced(
                    ["export", folder, "--mirror"],
                    injection: "\(parts[0]):signal=SIGKILL:\(parts[1])"
                ).run
                #expect(![0, 1].contains(killed.status), "\(moment) was not reached")
                // Each file is whole, the foreign ones among them.
                for (name, bytes) in try files(workplace.path(folder)) {
                    #expect(bytes == old[name] || bytes == new[name], "\(moment): \(name)")
                }
                let next = try await workplace.run("export", folder, "--mirror", "--json")

                // The foreign file with the name of an image is in its way.
                #expect(try next.status == 1 && next.object.number("blocked") == 1, "\(moment): \(next.text)")
                #expect(try next.object.number("foreign") == 2, "\(moment): \(next.messages)")
                var expected = new
                for gone in ["u6.png", "u7.png"] { expected[gone] = nil }
                #expect(try files(workplace.path(folder)) == expected, "\(moment)")
                let left = try FileManager.default.contentsOfDirectory(atPath: workplace.path(folder))
                #expect(Set(left) == Set(expected.keys).union(["manifest.jsonl"]), "\(moment)")
            }
        }
    }

    /// Makes the mirror `base` of a store with seven contacts; then the images change, and two contacts leave.
    ///
    /// - Returns: the files of the mirror, two foreign ones among them.
    private func prepare(_ workplace: Workplace, _ images: ChangingImages) async throws -> [String: [UInt8]] {
        try await sync(1...7, in: workplace, images)
        try FileManager.default.createDirectory(atPath: workplace.path("base"), withIntermediateDirectories: false)
        try workplace.write("base/notes.txt", "mine")
        try await workplace.run("export", "base", "--mirror").requireSuccess()
        try age(workplace.path("base"))
        try workplace.write("base/u8.png", "mine too")
        let files = try files(workplace.path("base"))
        images.change()
        try await sync(1...5, and: 8, in: workplace, images)
        return files
    }

    /// Sets the time of the mirror's files back, as if they were of an earlier second than those of the next run.
    private func age(_ folder: String) throws {
        let manifest = URL(filePath: folder + "/manifest.jsonl")
        let text = try String(contentsOf: manifest, encoding: .utf8)
        for line in text.split(separator: "\n") {
            let entry = try JSONObject(String(line))
            let file = try #require(entry.text("file"))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                ofItemAtPath: folder + "/" + file
            )
        }
        try text.replacing(/"modified":[0-9]+/, with: #""modified":1000000000"#)
            .write(to: manifest, atomically: true, encoding: .utf8)
    }

    private func sync(
        _ numbers: ClosedRange<Int>,
        and another: Int? = nil,
        in workplace: Workplace,
        _ images: ChangingImages
    ) async throws {
        let records = (Array(numbers) + [another].compactMap(\.self)).map {
            #"{"id": "u\#($0)", "avatarURL": "\#(images.origin.url("/\($0).png"))"}"#
        }
        try workplace.write("people.ndjson", records.joined(separator: "\n"))
        try await workplace.run("sync", "people.ndjson", "--prune", "--policy", "reload", "--allow-private-network")
            .requireSuccess()
    }

    /// The files in `folder` under their final names, with their bytes.
    private func files(_ folder: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            .filter { !$0.hasPrefix("manifest.jsonl") && $0 != ".avatars-mirror" }
        return Dictionary(
            uniqueKeysWithValues: try names.map { ($0, Array(try Data(contentsOf: URL(filePath: folder + "/" + $0)))) }
        )
    }
}
