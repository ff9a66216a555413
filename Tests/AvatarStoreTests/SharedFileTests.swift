import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Dispatch
import Testing

/// Equal bytes share one file, which may be deleted from outside just before it is shared.
@Suite(.timeLimit(.minutes(5)))
struct SharedFileTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)

    @Test func aFileDeletedBeforeItIsSharedIsWrittenAgain() async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let other = try await fixture.openAgain()
            let theirs = try await other.save(face, named: "theirs")
            let found = AsyncStream<Void>.makeStream()
            let isRemoved = DispatchSemaphore(value: 0)
            // The file was found by then, and is synchronized for the second entry.
            fileSystem.interrupt(.synchronize) {
                found.continuation.finish()
                isRemoved.wait()
            }

            async let saving = fixture.store.save(face, named: "ours")
            for await _ in found.stream {}
            let receipt = try await other.remove(theirs)
            isRemoved.signal()
            let ours = try await saving

            #expect(receipt.files == 1)
            #expect(try fixture.store.storedAvatar(for: ours)?.bytes == face)
            #expect(try other.storedAvatar(for: ours)?.bytes == face)
            try await other.close()
            try fixture.expectConsistent()
        }
    }
}
