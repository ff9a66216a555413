import AvatarSQLite
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The power fails while documents are saved and images are replaced.
///
/// An ext4 file system is stopped at random moments: data that had not reached its disk is lost, and the next mount
/// replays its journal. A disk that loses a volatile cache is not simulated; `DurabilityOrderTests` checks what the
/// program asks to make durable.
@Suite(.enabled(Comment(rawValue: Mount.absence)) { await Mount.isPossible }, .timeLimit(.minutes(5)))
struct PowerLossTests {
    @Test func documentsAndLastGoodCopiesSurviveAPowerLoss() async throws {
        let versions = RequestCount()
        let origin = try await LoopbackOrigin.start { request in
            image(request.target, version: request.target.hasPrefix("/changing") ? versions.next() : 1)
        }
        do {
            let losses = try await loseAgainAndAgain(origin, times: TestMode.isThorough ? 60 : 4)
            print("Power losses: \(losses)")
        } catch {
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    /// ext4 commits the size of a file before its data, and returns zeros after a power cut. The first command may be
    /// one that only reads.
    @Test func aFileThatLostItsBytesIsNeverServed() async throws {
        let (count, held) = (300, LoopbackOrigin.Gate())
        let origin = try await LoopbackOrigin.start { request in
            var response = image(request.target)
            if request.target == "/held.png" { response.gate = held }
            return response
        }
        let workplace = try Workplace()
        do {
            let cut = try await cutWithDataOnItsWay(workplace, origin, count)
            held.open()
            try await expectNoEmptyFace(workplace, origin, count, cut)
        } catch {
            held.open()
            try await origin.stop()
            throw error
        }
        try await origin.stop()
    }

    private typealias Cut = (image: String, journal: String)

    private func cutWithDataOnItsWay(
        _ workplace: Workplace,
        _ origin: LoopbackOrigin,
        _ count: Int
    ) async throws -> Cut {
        let disk = try await StalledDisk(in: workplace)
        try workplace.write("list.txt", origin.list(count) + origin.url("/held.png") + "\n")
        // The command must not end, because it would then make all files durable.
        let sync = try await workplace.start([
            "sync", "list.txt", "--store", "disk/store", "--allow-private-network", "--quiet",
        ])
        try await waitUntil(every: .milliseconds(5)) {
            FolderWalk(disk.path + "/store/caches")?.files.count == count
        }
        try await disk.stall()
        // The kernel commits its journal once a second, by its own clock.
        try await Task.sleep(for: .seconds(3))
        let cut = try await disk.cut()
        try disk.goOn()
        sync.signal(SIGKILL)
        _ = try await sync.end()
        try await disk.remove()
        return cut
    }

    private func expectNoEmptyFace(
        _ workplace: Workplace,
        _ origin: LoopbackOrigin,
        _ count: Int,
        _ cut: Cut
    ) async throws {
        let after = try await Mount(
            image: cut.image,
            at: workplace.path("after"),
            options: "journal_path=\(cut.journal)"
        )
        try pretendAnotherBoot(workplace.path("after/store/index.sqlite"))
        let walk = try #require(FolderWalk(workplace.path("after/store/caches")))
        let empty = try walk.files.keys.filter { path in
            try workplace.read("after/store/caches/" + path).allSatisfy { $0 == 0 }
        }
        print("Power cut with data on its way: \(empty.count) of \(walk.files.count) files without their bytes.")
        let readOnly = try await workplace.run("path", origin.url("/p/1.png"), "--store", "after/store")
        if readOnly.status == 0 {
            let path = readOnly.text.trimmingCharacters(in: .whitespacesAndNewlines)
            #expect(try Array(Data(contentsOf: URL(filePath: path))) == imageBytes("/p/1.png"))
        }
        try await workplace.run("trim", "--budget", "100MB", "--store", "after/store").requireSuccess()
        try await workplace.expectConsistent(store: "after/store")
        let listed = try await workplace.listedFiles(store: "after/store")
        for number in 1...count {
            guard let path = listed[origin.url("/p/\(number).png")] else { continue }
            #expect(try Array(Data(contentsOf: URL(filePath: path))) == imageBytes("/p/\(number).png"))
        }
        try await after.unmount()
        try await Mount.run("/usr/sbin/losetup", ["-d", cut.journal])
    }

    private func loseAgainAndAgain(_ origin: LoopbackOrigin, times: Int) async throws -> Losses {
        let workplace = try Workplace()
        try await Mount.makeImage(workplace.path("image"), megabytes: 96)
        var losses = Losses()
        try await storeWhatWillBeReplaced(workplace, origin)
        for round in 1...times {
            let disk = try await Mount(image: workplace.path("image"), at: workplace.path("disk"))
            let work = try await workplace.start(tool: "/bin/sh", ["-c", script(round, origin)])
            try await Task.sleep(for: .milliseconds(Int.random(in: 300...1500)))
            try disk.losePower()
            _ = try await work.end()
            try await disk.unmount()

            let again = try await Mount(image: workplace.path("image"), at: workplace.path("disk"))
            try pretendAnotherBoot(workplace.path("disk/store/index.sqlite"))
            try await expectPromises(workplace, round, origin, &losses)
            try await again.unmount()
            losses.rounds += 1
        }
        return losses
    }

    /// The newest images in `caches` may be lost, but not one stored before.
    private func storeWhatWillBeReplaced(_ workplace: Workplace, _ origin: LoopbackOrigin) async throws {
        let disk = try await Mount(image: workplace.path("image"), at: workplace.path("disk"))
        let fetch = ["fetch", origin.url("/changing.png"), "--allow-private-network", "--store", "disk/store"]
        try await workplace.start(fetch).end().requireSuccess()
        try await disk.unmount()
    }

    /// Saves documents, replaces images, and stores new ones, each at once. Finished calls are noted outside the disk.
    private func script(_ round: Int, _ origin: LoopbackOrigin) -> String {
        """
        export AVATARS_STORE=disk/store
        mkdir -p acknowledged pictures
        documents() {
            n=0
            while [ $n -lt 200 ]; do
                n=$((n+1))
                "$AVATARS" get \(origin.url("/own"))/\(round)/$n.png --class transient \
                    --output pictures/$n.png --allow-private-network 2>/dev/null || exit
                "$AVATARS" save pictures/$n.png --name \(round)/$n >/dev/null 2>&1 || exit
                echo \(round)/$n >>acknowledged/documents
            done
        }
        replacements() {
            n=0
            while [ $n -lt 200 ]; do
                n=$((n+1))
                "$AVATARS" fetch \(origin.url("/changing.png")) --policy reload --json --allow-private-network \
                    >>acknowledged/replacements 2>/dev/null || exit
            done
        }
        documents & replacements &
        "$AVATARS" fetch \((1...40).map { origin.url("/new/\(round)/\($0).png") }.joined(separator: " ")) \
            --allow-private-network >/dev/null 2>&1
        wait
        """
    }

    /// The machine was not really switched off, so without a new boot id the store would trust the kernel to have all
    /// data.
    private func pretendAnotherBoot(_ index: String) throws {
        guard FileManager.default.fileExists(atPath: index) else { return }
        try Connection.using(index) { connection in
            try connection.execute("UPDATE store SET boot_id = 'before' WHERE boot_id IS NOT NULL")
        }
    }

    private func expectPromises(
        _ workplace: Workplace,
        _ round: Int,
        _ origin: LoopbackOrigin,
        _ losses: inout Losses
    ) async throws {
        // The first opening compares the files; it repairs rows whose files the disk has lost.
        try await workplace.run("trim", "--budget", "100MB", "--store", "disk/store").requireSuccess()
        try await workplace.expectConsistent(store: "disk/store")
        let documents = try acknowledged("documents", in: workplace)
        for name in documents.suffix(60) {
            let run = try await workplace.run("get", "name:\(name)", "--store", "disk/store")
            #expect(run.bytes == imageBytes("/own/\(name).png"), "round \(round), document \(name)")
        }
        losses.documents = documents.count
        let replacements = try acknowledged("replacements", in: workplace)
        if !replacements.isEmpty {
            let url = origin.url("/changing.png")
            let run = try await workplace.run("get", url, "--policy", "offline", "--store", "disk/store")
            let known = (1...(replacements.count + 2 * round + 2)).reversed().contains {
                run.bytes == imageBytes("/changing.png", version: $0)
            }
            #expect(known, "round \(round): \(run.bytes.count) bytes after \(replacements.count) replacements")
        }
        losses.replacements = replacements.count
        let listed = try await workplace.listedFiles(store: "disk/store")
        losses.newImages += (1...40).count { listed[origin.url("/new/\(round)/\($0).png")] != nil }
    }

    private func acknowledged(_ name: String, in workplace: Workplace) throws -> [Substring] {
        guard workplace.exists("acknowledged/\(name)") else { return [] }
        return try String(decoding: workplace.read("acknowledged/\(name)"), as: UTF8.self).split(separator: "\n")
    }

    private struct Losses: CustomStringConvertible {
        var rounds = 0
        var documents = 0
        var replacements = 0
        var newImages = 0

        var description: String {
            "\(rounds) rounds; \(documents) documents and \(replacements) replacements had returned, none lost; "
                + "of \(rounds * 40) new images \(newImages) were there."
        }
    }
}
