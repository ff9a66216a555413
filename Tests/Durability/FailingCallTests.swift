import Foundation
import ProgramRunning
import Testing

/// Each call that publishes, evicts or deletes fails once, in the real program.
///
/// A thread's first, second, third … call of a name fails, until there is no such call. The trace shows which call
/// failed. Some faults hit calls outside the store, such as one that wakes a worker thread: then the program may end in
/// any way, and only the store is checked. The opening of a staged file is not among them, because its number is also
/// that of a call that loads the program; it fails through the file-system seam elsewhere.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct FailingCallTests {
    @Test(arguments: TestMode.isThorough ? FailingWork.allCases : [.replaceDocument])
    func failedCallLeavesAConsistentStoreAndTheOldImage(work: FailingWork) async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            try await work.prepare(workplace, images)
            var hits: [String: Int] = [:]
            for call in TestMode.isThorough ? FaultyCall.allCases : FaultyCall.fewest {
                var number = 1
                while true {
                    var places: [String] = []
                    for fault in call.faults(number) { places += try await run(work, fault, workplace, images) }
                    if places.isEmpty { break }
                    for place in places { hits["\(call) \(place)", default: 0] += 1 }
                    number += 1
                }
            }
            for step in work.steps { #expect(hits[step] != nil, "no fault hit \(step): \(hits)") }
            if TestMode.isThorough {
                let list = hits.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
                print("Failing calls, \(work): \(hits.values.reduce(0, +)) faults: \(list).")
            }
        }
    }

    /// `timeout` ends a program that retries forever.
    @Test("a file system without locks is reported, and no lock file is left")
    func fileSystemWithoutLocksIsSaidSo() async throws {
        let workplace = try Workplace()
        try workplace.write("mine.png", imageBytes("/mine.png"))
        let command = ["/usr/bin/timeout", "-s", "KILL", "20", Program.executable.path(percentEncoded: false)]
        let fault = ["-f", "-o", "/dev/null", "-e", "trace=flock", "-e", "inject=flock:error=ENOLCK"]

        let run = try await workplace.start(
            tool: Strace.path,
            fault + command + ["save", "mine.png", "--name", "me", "--store", "store"]
        ).end()

        #expect(run.status == 2)
        #expect(run.messages.contains("Cannot lock "), "\(run.messages)")
        #expect(run.messages.contains("No locks available"), "\(run.messages)")
        let left = try FileManager.default.contentsOfDirectory(atPath: workplace.path("store/staging"))
        #expect(left.filter { $0.hasSuffix(".lock") } == [])
    }

    /// - Returns: the calls that failed; empty if there was no call to fail.
    private func run(
        _ work: FailingWork,
        _ fault: Fault,
        _ workplace: Workplace,
        _ images: ChangingImages
    ) async throws -> [String] {
        let store = "store-\(fault.call)-\(fault.error)-\(fault.number)"
        let directory = workplace.path(store)
        try FileManager.default.copyItem(atPath: workplace.path("base"), toPath: directory)
        let (run, trace) = try await workplace.traced(
            work.arguments(images.origin) + ["--store", store],
            fault: fault,
            paths: fault.call == .openat ? knownPaths(directory) : []
        )
        let injected = trace.calls.filter(\.isInjected)
        let places = injected.map { place(of: $0, below: directory) }
        let comment: Comment = "\(fault), exit code \(run.status), \(run.messages) \(injected.map(\.line))"
        let isOurs = !places.isEmpty && !places.contains("elsewhere")
        if isOurs { expectClearEnd(run, fault, comment) }

        let image = work.image(images.origin)
        let stored = try await workplace.run("get", image.key, "--policy", "offline", "--store", store)
        // If the program reports no fault, the new image must be stored.
        let isDone = isOurs && run.status == 0 && !run.messages.contains("avatars: ")
        #expect((isDone ? [image.new] : [image.old, image.new]).contains(stored.bytes), comment)
        try await workplace.expectConsistent(store: store, comment)
        try FileManager.default.removeItem(atPath: directory)
        return places
    }

    private func expectClearEnd(_ run: Run, _ fault: Fault, _ comment: Comment) {
        #expect([0, 1, 2].contains(run.status), comment)
        guard run.status != 0 else { return }
        #expect(run.messages.contains("avatars: "), comment)
        #expect(fault.reasons.contains { (run.messages + run.text).contains($0) }, comment)
    }

    /// The paths below the store that never change.
    private func knownPaths(_ store: String) -> [String] {
        let names = ["staging", "caches", "documents", "index.sqlite", "index.sqlite-wal", "index.sqlite-shm"]
        return [store] + names.map { store + "/" + $0 }
    }

    /// The part of the store that a call is about.
    private func place(of call: TracedCall, below store: String) -> String {
        guard let path = call.paths.last, path == store || path.hasPrefix(store + "/") else { return "elsewhere" }
        let parts = path.dropFirst(store.utf8.count).split(separator: "/").map(String.init)
        guard let first = parts.first else { return "store" }
        if first == "index.sqlite-wal" { return "log" }
        if first.hasPrefix("index.sqlite") { return "index" }
        return parts.count == 3 && first != "staging" ? "image" : first
    }
}

extension FailingWork {
    /// The steps that at least one fault must hit.
    fileprivate var steps: [String] {
        var steps = ["renameat image", "unlinkat image"]
        if self != .evict { steps.append("fsync staging") }
        guard TestMode.isThorough else { return steps }
        steps += ["pwritev staging", "pwrite64 log", "openat index", "openat staging"]
        return self == .evict ? steps : steps + ["fdatasync log"]
    }
}
