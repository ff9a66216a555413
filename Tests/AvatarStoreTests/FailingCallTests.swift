import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Each file call of each change fails once: the error names it, the old image is served, index and disk agree, and the
/// next attempt succeeds. A change that does without a call, such as opening a file that may be missing, is done.
@Suite(.timeLimit(.minutes(5)))
struct FailingCallTests {
    /// A change of a store that has two older images in `caches`, and one that stays or is replaced.
    enum Change: String, CaseIterable, Sendable {
        case saveDocument, saveCache, replaceDocument, replaceCache, moveToDocuments, moveToCaches
        case remove, evict, trim, lowerBudget, fetch, refetch, sync
    }

    struct Fault: Sendable, CustomTestStringConvertible {
        let change: Change
        let call: FaultyFileSystem.Call
        let number: Int32

        /// Whether the change may succeed all the same. The old file is unlinked after the commit, and a document's
        /// folder is then opened and synchronized. To unlink it, its folder is opened. Of two images fetched together only
        /// one fails.
        var mayBeDone: Bool {
            call == .unlink || change == .sync
                || [.open, .synchronize].contains(call) && [.replaceDocument, .moveToCaches].contains(change)
                || call == .open && [.remove, .replaceCache, .refetch].contains(change)
        }

        /// Whether images in `caches` may be deleted to make room on the full disk.
        var mayEvict: Bool { number == ENOSPC && [.trim, .lowerBudget].contains(change) }

        /// Whether the change may do without the call; a file whose synchronization fails is written and synchronized once
        /// more.
        var mayBeIgnored: Bool { call == .open || call == .status || call == .synchronize && number == EIO }

        /// A part of the paths that are meant: staged files and locks are deleted as well as may be, images of the store
        /// are deleted for certain.
        var path: String? { call == .unlink ? ".png" : nil }

        var testDescription: String { "\(call.rawValue) of \(change.rawValue): \(String(cString: strerror(number)))" }
    }

    /// Every third call of each change with one of three errors, which differ in little but their text; with
    /// `scripts/test --thorough`, all calls with all of them.
    static let faults: [Fault] = {
        let numbers = [ENOSPC, EIO, EACCES]
        let calls = Change.allCases.flatMap { change in FaultyFileSystem.Call.allCases.map { (change, $0) } }
        return calls.enumerated().flatMap { index, call in
            let some = isThorough ? numbers : index % 3 == 0 ? [numbers[index / 3 % numbers.count]] : []
            // A full disk does not keep a folder that exists from being opened, and these changes create no file.
            let isPossible = call.1 != .open || ![.trim, .lowerBudget].contains(call.0)
            return some.filter { isPossible || $0 != ENOSPC }.map { Fault(change: call.0, call: call.1, number: $0) }
        }
    }()
    private static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] == "1"

    @Test("a file call that fails once does no harm", arguments: faults)
    func failingOnce(_ fault: Fault) async throws {
        // Each call of the kind in turn, until the change makes no more of them.
        var calls = 0
        while try await fails(fault, after: calls, reopens: false) {
            if Self.isThorough || calls % 2 == 0 { _ = try await fails(fault, after: calls, reopens: true) }
            // In a short run, the first calls and then every third.
            calls += Self.isThorough || calls < 2 ? 1 : 3
        }
    }

    /// Makes the call fail after `calls` of its kind; `false` if the change makes no more of them.
    private func fails(_ fault: Fault, after calls: Int, reopens: Bool) async throws -> Bool {
        try await StoreFixture.withStore { fixture in
            let fileSystem = FaultyFileSystem()
            var store = try await AvatarStore.open(fixture.store.configuration, fileSystem: fileSystem)
            let subject = try await Subject(fault.change, fixture, store)
            fileSystem.fail(fault.call, with: fault.number, after: calls, matching: fault.path)

            let error = await subject.failure(in: store)

            fileSystem.heal()
            guard fileSystem.failureCount > 0 else {
                #expect(error == nil)
                try await store.close()
                return false
            }
            if fault.mayBeIgnored, error == nil {
                try subject.expectServed(by: store, mayBeDone: true, isDone: true, mayBeEvicted: fault.mayEvict)
            } else {
                expect(error, names: fault)
                try subject.expectServed(by: store, mayBeDone: fault.mayBeDone, mayBeEvicted: fault.mayEvict)
            }
            if reopens {
                try await store.close()
                store = try await AvatarStore.open(fixture.store.configuration)
            } else {
                try await store.save(SampleImage.png(seed: 9, byteCount: 500), named: "next")
            }
            try fixture.expectConsistent()
            let second = await subject.failure(in: store)
            #expect(second == nil, "the second attempt: \(second?.message ?? "")")
            try subject.expectServed(by: store, mayBeDone: true, isDone: true, mayBeEvicted: fault.mayEvict)
            try fixture.expectConsistent()
            try await store.close()
            return true
        }
    }

    private func expect(_ error: AvatarStoreError?, names fault: Fault) {
        let code: AvatarStoreError.Code =
            switch fault.number {
            case ENOSPC: .diskFull
            case EACCES: .readOnly
            default: .storage
            }
        #expect(error?.code == code)
        let action =
            switch fault.call {
            case .unlink: "delete"
            case .makeDirectory: "create the folder"
            case .status: "examine"
            default: fault.call.rawValue
            }
        #expect(error?.message.contains("\(action) \"") == true, "\(error?.message ?? "no error")")
        #expect(error?.message.contains(String(cString: strerror(fault.number))) == true)
    }
}

/// One change, and the image that it changes or that must survive it.
private struct Subject {
    private static let old = SampleImage.png(seed: 1, byteCount: 4000)
    private static let new = SampleImage.png(seed: 2, byteCount: 4500)

    private let change: FailingCallTests.Change
    private let fixture: StoreFixture
    private let key: AvatarKey

    init(_ change: FailingCallTests.Change, _ fixture: StoreFixture, _ store: AvatarStore) async throws {
        self.change = change
        self.fixture = fixture
        try await store.set(.budget, to: 20_000)
        for number in 1...2 {
            let bytes = SampleImage.png(seed: 10 + UInt64(number), byteCount: 3000)
            try await store.save(bytes, named: "older \(number)", in: .caches)
        }
        fixture.serve(Self.old, at: "/me.png")
        fixture.serve(Self.new, at: "/you.png")
        switch change {
        case .refetch, .sync:
            key = try await store.avatar(for: fixture.origin.url("/me.png")).key
            fixture.serve(Self.new, at: "/me.png")
            fixture.serve(Self.old, at: "/you.png")
        case .saveDocument, .replaceDocument, .moveToCaches: key = try await store.save(Self.old, named: "me")
        default: key = try await store.save(Self.old, named: "me", in: .caches)
        }
    }

    /// Makes the change; returns the error, also that of a read that fell back to the stored image.
    func failure(in store: AvatarStore) async -> AvatarStoreError? {
        do {
            return try await make(store)
        } catch let error as AvatarStoreError {
            return error
        } catch {
            return AvatarStoreError(AvatarStoreError.Code(rawValue: "unknown"), "\(error)")
        }
    }

    private func make(_ store: AvatarStore) async throws -> AvatarStoreError? {
        switch change {
        case .saveDocument: try await store.save(Self.new, named: "you")
        case .saveCache: try await store.save(Self.new, named: "you", in: .caches)
        case .replaceDocument: try await store.save(Self.new, named: "me")
        case .replaceCache: try await store.save(Self.new, named: "me", in: .caches)
        case .moveToDocuments: _ = try await store.move(key, to: .documents)
        case .moveToCaches: _ = try await store.move(key, to: .caches)
        case .remove: try await store.remove(key)
        case .evict: try await store.save(SampleImage.png(seed: 3, byteCount: 13_500), named: "you", in: .caches)
        case .trim: try await store.trim(to: 5000)
        case .lowerBudget: try await store.set(.budget, to: 6000)
        case .fetch: _ = try await store.avatar(for: fixture.origin.url("/you.png"))
        case .refetch:
            let image = try await store.avatar(for: key, options: FetchOptions(policy: .reload))
            // A read returns the stored image, with the reason why it is not new.
            return image.failureMessage.map(error)
        case .sync:
            let contacts = ["me", "you"].map { Contact(id: $0, avatarURL: fixture.origin.url("/\($0).png")) }
            var options = SyncOptions()
            options.policy = .reload
            _ = try await store.sync(contacts: contacts, options: options)
        }
        return nil
    }

    private func error(_ message: String) -> AvatarStoreError {
        let code: AvatarStoreError.Code =
            message.hasPrefix("The disk is full")
            ? .diskFull : message.contains("refused") || message.contains("Mount that") ? .readOnly : .storage
        return AvatarStoreError(code, message)
    }

    /// - Parameter mayBeDone: whether the change may have succeeded, as when unlinking fails after the commit.
    func expectServed(by store: AvatarStore, mayBeDone: Bool, isDone: Bool = false, mayBeEvicted: Bool = false) throws {
        let bytes = try store.storedAvatar(for: key)?.bytes
        if mayBeEvicted, bytes == nil { return }
        let after: [UInt8]? =
            switch change {
            case .replaceDocument, .replaceCache, .refetch, .sync: Self.new
            case .remove: nil
            default: Self.old
            }
        let isRight = !isDone && bytes == Self.old || mayBeDone && bytes == after
        #expect(isRight, "\(bytes?.count ?? 0) bytes are served")
    }
}
