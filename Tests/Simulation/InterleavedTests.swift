import AvatarFileSystem
import AvatarFoundation
import AvatarStore
import AvatarStoreTesting
import Dispatch
import Testing
import Workload

/// A process works between two file calls of another one.
@Suite(.timeLimit(.minutes(5)))
struct InterleavedTests {
    /// Lets other work happen before a file is renamed or removed, or all files are synchronized.
    private final class InterruptedFileSystem: ForwardingFileSystem {
        let real: SimulatedProcess
        private let interruption = Locked<(suffix: String, work: @Sendable () async throws -> Void)?>(nil)

        init(_ real: SimulatedProcess) { self.real = real }

        func interrupt(before suffix: String, by work: @escaping @Sendable () async throws -> Void) {
            interruption.withLock { $0 = (suffix, work) }
        }

        func renameat(_ from: Int32, _ source: String, _ folder: Int32, _ target: String) -> Int32 {
            interrupt(before: target)
            return real.renameat(from, source, folder, target)
        }

        func unlinkat(_ folder: Int32, _ name: String, _ flags: Int32) -> Int32 {
            interrupt(before: name)
            return real.unlinkat(folder, name, flags)
        }

        func syncfs(_ file: Int32) -> Int32 {
            interrupt(before: "syncfs")
            return real.syncfs(file)
        }

        private func interrupt(before name: String) {
            let work = interruption.withLock { interruption -> (@Sendable () async throws -> Void)? in
                guard let next = interruption, name.hasSuffix(next.suffix) else { return nil }
                interruption = nil
                return next.work
            }
            if let work {
                let done = DispatchSemaphore(value: 0)
                Task.detached {
                    do {
                        try await work()
                    } catch {
                        Issue.record(error)
                    }
                    done.signal()
                }
                // On the thread of the writer, which waits for the disk in the same way.
                done.wait()
            }
        }
    }

    /// The second process begins to close the store after the first has seen it, and has closed it before the first lets go.
    @Test func oneOfTwoProcessesThatCloseAtOnceFindsTheStoreClean() async throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let files = InterruptedFileSystem(process)
        let configuration = AvatarStore.Configuration(directory: process.root + "/store")
        let store = try await AvatarStore.open(configuration, fileSystem: files, bootID: disk.bootID)
        let other = try await disk.openStore()
        try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        let isClosed = Locked(false)
        files.interrupt(before: ".lock") {
            try await other.close()
            isClosed.withLock { $0 = true }
        }

        try await store.close()

        #expect(isClosed.withLock { $0 }, "the other process was not let in")
        #expect(try await disk.openStore().index.openBoot() == nil)
    }

    /// A process opens the store while the last one closes it, publishes an image and dies.
    @Test func aStoreThatAnotherProcessHasChangedMeanwhileIsNotClean() async throws {
        let disk = SimulatedDisk()
        let process = SimulatedProcess(on: disk)
        let files = InterruptedFileSystem(process)
        let configuration = AvatarStore.Configuration(directory: process.root + "/store")
        let store = try await AvatarStore.open(configuration, fileSystem: files, bootID: disk.bootID)
        try await store.save(Image(of: .own(1), version: 1).bytes, named: "own")
        files.interrupt(before: "syncfs") {
            let other = SimulatedProcess(on: disk)
            let configuration = AvatarStore.Configuration(directory: other.root + "/store")
            let changing = try await AvatarStore.open(configuration, fileSystem: other, bootID: disk.bootID)
            try await changing.save(Image(of: .own(2), version: 1).bytes, named: "other", in: .caches)
            other.kill()
        }

        try await store.close()

        let reopened = try await disk.openStore()
        #expect(try reopened.storedAvatar(for: AvatarKey(name: "other")) != nil, "the other process was not let in")
        #expect(try reopened.index.openBoot() != nil)
        try await reopened.close()
        #expect(try await disk.openStore().index.openBoot() == nil)
    }

    /// Another process loses bytes of an image that has no row yet, and for which a contact's former image goes.
    @Test(arguments: PowerLossModel.allCases)
    func theSuccessorOfAnImageIsWrittenAgain(model: PowerLossModel) async throws {
        let keys = try [1, 2].map { try ImageKey.remote($0).key(at: ScriptedOrigin.url) }
        func contact(_ slot: Int) -> [Contact] {
            [Contact(id: "ada", avatarURL: ImageKey.remote(slot).url(at: ScriptedOrigin.url))]
        }
        let origin = ScriptedOrigin()
        origin.want([1: 1, 2: 1])
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let process = SimulatedProcess(on: disk)
            let files = InterruptedFileSystem(process)
            var configuration = AvatarStore.Configuration(directory: process.root + "/store")
            configuration.originClient = origin
            let store = try await AvatarStore.open(configuration, fileSystem: files, bootID: disk.bootID)
            _ = try await store.set(.keepUnlinked, to: 0)
            _ = try await store.sync(contacts: contact(1))
            let beside = SimulatedProcess(on: disk)
            let other = try await disk.openStore()
            files.interrupt(before: ".png") {
                disk.fail { $0.name == "syncfs" ? .fails(EIO) : nil }
                await #expect(throws: AvatarStoreError.self) {
                    try await other.backup(to: beside.root + "/backup", fileSystem: beside)
                }
                disk.fail(nil)
            }

            _ = try await store.sync(contacts: contact(2))

            #expect(try store.storedAvatar(for: keys[0]) == nil, "the former image has not gone")
            let reopened = try await disk.losePower(model, seed: seed).openStore()
            #expect(try keys.contains { try reopened.storedAvatar(for: $0) != nil }, "seed \(seed)")
            try await reopened.close()
        }
    }

    /// Image 1 gets the bytes of image 2, which the other process publishes meanwhile. It has no need to make them durable.
    @Test(arguments: PowerLossModel.allCases)
    func theSuccessorOfAnImageIsDurableInTheFileOfAnotherProcess(model: PowerLossModel) async throws {
        let (replaced, shared) = (ImageKey.remote(1), ImageKey.remote(2))
        let keys = try [replaced, shared].map { try $0.key(at: ScriptedOrigin.url) }
        for seed in UInt64(1)...8 {
            let disk = SimulatedDisk()
            let origin = ScriptedOrigin()
            origin.want([1: 1])
            let before = try await disk.openStore { $0.originClient = origin }
            _ = try await before.avatar(for: keys[0])
            try await before.close()
            let process = SimulatedProcess(on: disk)
            let files = InterruptedFileSystem(process)
            var configuration = AvatarStore.Configuration(directory: process.root + "/store")
            configuration.originClient = origin
            let store = try await AvatarStore.open(configuration, fileSystem: files, bootID: disk.bootID)
            let other = try await disk.openStore { $0.originClient = origin }
            // Version 20 is the logo that version 5 is.
            origin.want([1: 20, 2: 5])
            files.interrupt(before: ".png") { _ = try await other.avatar(for: keys[1]) }

            _ = try await store.avatar(for: keys[0], options: FetchOptions(policy: .reload))

            #expect(try store.storedAvatar(for: keys[1]) != nil, "the other process was not let in")
            let reopened = try await disk.losePower(model, seed: seed).openStore()
            let found = try reopened.storedAvatar(for: keys[0])?.bytes
            let images = [1, 20].map { Image(of: replaced, version: $0).bytes }
            #expect(found.map(images.contains) == true, "seed \(seed)")
            try await reopened.close()
        }
    }
}
