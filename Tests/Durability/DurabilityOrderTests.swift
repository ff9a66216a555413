import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// The order in which the program makes things durable, read from its system calls.
///
/// The effects of the calls are replayed in the order of the trace (`StableStorage`) and checked at the moments that
/// matter: before a file gets its name, before an old one is unlinked, and before the program reports success.
@Suite(.enabled(Comment(rawValue: Strace.absence)) { await Strace.isUsable }, .timeLimit(.minutes(5)))
struct DurabilityOrderTests {
    @Test func firstDocumentIsDurableWithTheNewStoreBeforeSaveReturns() async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))

        let trace = try await workplace.trace("save", "me.png", "--name", "me", "--json")
        let files = try await workplace.listedFiles()

        let file = try #require(files["name:me"])
        // Not only the file: without the names of the folders and of the index it cannot be found.
        let index = workplace.path("store/index.sqlite")
        expectDurable([file], below: workplace.path, with: [index, index + "-wal"], at: \.isResult, in: trace)
        expectDurableBytesBeforeName([file], in: trace)
    }

    @Test func documentThatReplacesIsDurableBeforeTheOldOneGoes() async throws {
        let workplace = try Workplace()
        try workplace.write("old.png", SampleImage.identicon(for: "old"))
        try workplace.write("new.png", SampleImage.identicon(for: "new"))
        try await workplace.run("save", "old.png", "--name", "me").requireSuccess()
        let before = try await workplace.listedFiles()

        let trace = try await workplace.trace("save", "new.png", "--name", "me", "--json")
        let after = try await workplace.listedFiles()

        try expectReplacedDurably(before, after, count: 1, in: trace)
        expectDurable(Array(after.values), below: workplace.path("store/documents"), at: \.isResult, in: trace)
    }

    @Test func fetchedDocumentsAreDurableBeforeTheyAreReported() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            let urls = (1...5).map { images.origin.url("/p/\($0).png") }

            let trace = try await workplace.trace(
                ["fetch", "--class", "documents", "--allow-private-network", "--json", "--connections", "1"] + urls
            )
            let files = try await workplace.listedFiles()

            #expect(files.count == 5)
            expectDurableBytesBeforeName(Array(files.values), in: trace)
            // One line per image, in the order of the URLs.
            let lines = trace.calls.filter(\.isResult)
            #expect(lines.count == 5)
            for (url, line) in zip(urls, lines) {
                let file = try #require(files[url])
                expectDurable([file], below: workplace.path, at: { $0.began == line.began }, in: trace)
            }
        }
    }

    @Test func replacedImageInCachesIsDurableBeforeTheOldOneGoes() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            let fetch = ["fetch", "--policy", "reload", "--allow-private-network", images.origin.url("/p/1.png")]
            try await workplace.start(fetch).end().requireSuccess()
            let before = try await workplace.listedFiles()

            images.change()
            let trace = try await workplace.trace(fetch)

            try expectReplacedDurably(before, try await workplace.listedFiles(), count: 1, in: trace)
        }
    }

    @Test func imagesThatASyncReplacesAreDurableBeforeTheOldOnesGo() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            try workplace.write("list.txt", images.origin.list(40))
            let sync = ["sync", "list.txt", "--all", "--allow-private-network"]
            try await workplace.start(sync).end().requireSuccess()
            let before = try await workplace.listedFiles()

            images.change()
            let trace = try await workplace.trace(sync)

            try expectReplacedDurably(before, try await workplace.listedFiles(), count: 40, in: trace)
        }
    }

    @Test func movedImageIsADurableDocumentBeforeTheOldFileGoes() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            let urls = (1...3).map { images.origin.url("/p/\($0).png") }
            try await workplace.start(["fetch", "--allow-private-network"] + urls).end().requireSuccess()
            let before = try await workplace.listedFiles()

            let trace = try await workplace.trace(["move", "--to", "documents", "--json"] + urls)
            let after = try await workplace.listedFiles()

            try expectReplacedDurably(before, after, count: 3, in: trace)
            expectDurable(Array(after.values), below: workplace.path("store/documents"), at: \.isResult, in: trace)
        }
    }

    @Test func plainNewImagesCostNoSynchronizationEach() async throws {
        try await ChangingImages.with { images in
            let workplace = try Workplace()
            try workplace.write("few.txt", images.origin.list(5, folder: "few"))
            try workplace.write("many.txt", images.origin.list(100, folder: "many"))
            try await workplace.run("config", "budget", "1GB").requireSuccess()

            let few = try await workplace.trace("sync", "few.txt", "--allow-private-network")
            let many = try await workplace.trace("sync", "many.txt", "--allow-private-network")

            #expect(try await workplace.listedFiles().count == 105)
            for trace in [few, many] {
                for call in trace.calls {
                    guard case .synchronized(let path) = call.effect else { continue }
                    #expect(!path.hasPrefix(workplace.path("store/caches")), "\(call.line)")
                    #expect(!path.hasPrefix(workplace.path("store/staging/")), "\(call.line)")
                }
            }
            // All synchronizations belong to the opening and the closing; their number does not grow with the images.
            #expect(many.synchronizationCount <= few.synchronizationCount + 2)
        }
    }

    // MARK: What is expected

    /// Each file is durable and in the index at the first moment that `isMoment` accepts; so are the names of the
    /// index.
    private func expectDurable(
        _ files: [String],
        below top: String,
        with index: [String] = [],
        at isMoment: (TracedCall) -> Bool,
        in trace: Trace,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var isFirst = true
        StableStorage.replay(trace) { call, storage in
            guard isFirst, isMoment(call) else { return }
            isFirst = false
            for file in files {
                #expect(storage.isDurable(file, below: top), "\(file) at \(call.line)", sourceLocation: sourceLocation)
                #expect(storage.isCommitted(file), "\(file) at \(call.line)", sourceLocation: sourceLocation)
            }
            for file in index {
                #expect(storage.hasDurableName(file, below: top), "\(file)", sourceLocation: sourceLocation)
            }
        }
        #expect(!isFirst, "the moment never came", sourceLocation: sourceLocation)
    }

    /// The bytes of each file are durable before it gets its name.
    private func expectDurableBytesBeforeName(
        _ files: [String],
        in trace: Trace,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        var named: Set<String> = []
        StableStorage.replay(trace) { call, storage in
            guard case .renamed(let source, let target) = call.effect, files.contains(target) else { return }
            named.insert(target)
            #expect(storage.hasDurableBytes(source), "\(call.line)", sourceLocation: sourceLocation)
        }
        #expect(named == Set(files), sourceLocation: sourceLocation)
    }

    /// Each old file is unlinked only after its successor is durable and in the index.
    private func expectReplacedDurably(
        _ before: [String: String],
        _ after: [String: String],
        count: Int,
        in trace: Trace,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var successors: [String: String] = [:]
        for (key, file) in before where after[key] != file { successors[file] = after[key] }
        #expect(successors.count == count, sourceLocation: sourceLocation)
        expectDurableBytesBeforeName(Array(successors.values), in: trace, sourceLocation: sourceLocation)
        var unlinked = 0
        StableStorage.replay(trace) { call, storage in
            guard case .unlinked(let old) = call.effect, let new = successors[old] else { return }
            unlinked += 1
            let root = new.split(separator: "/").dropLast(2).reduce("") { $0 + "/" + $1 }
            #expect(storage.isDurable(new, below: root), "\(call.line)", sourceLocation: sourceLocation)
            #expect(storage.isCommitted(new), "\(call.line)", sourceLocation: sourceLocation)
        }
        #expect(unlinked == count, sourceLocation: sourceLocation)
    }
}

extension Workplace {
    /// The system calls of a run that succeeds.
    fileprivate func trace(_ arguments: String...) async throws -> Trace {
        try await trace(arguments)
    }

    fileprivate func trace(_ arguments: [String]) async throws -> Trace {
        let (run, trace) = try await traced(arguments)
        try run.requireSuccess()
        return trace
    }
}

extension TracedCall {
    /// Whether the program writes to standard output.
    fileprivate var isResult: Bool { name == "write" && arguments.first?.text == "1" }
}

extension Trace {
    fileprivate var synchronizationCount: Int {
        calls.count { ["fsync", "fdatasync", "syncfs", "sync"].contains($0.name) }
    }
}
