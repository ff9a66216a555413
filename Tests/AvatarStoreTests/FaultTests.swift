import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Each file call of publishing and evicting fails once. The error is clear, the old image stays, and the store is
/// consistent after the next opening.
@Suite(.timeLimit(.minutes(5)))
struct FaultTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    private static let faults: [(FaultyFileSystem.Call, Int32)] = [.open, .write, .synchronize, .rename, .unlink]
        .flatMap { call in [ENOSPC, EIO, EACCES].map { (call, $0) } }

    /// A part of the paths whose calls are to fail; `nil`: the first call is meant.
    ///
    /// Folders, locks and names that need not exist are opened too, and staged files are deleted.
    ///
    /// - Parameter opened: the same for the file that is written.
    private func path(of call: FaultyFileSystem.Call, opened: String) -> String? {
        switch call {
        case .open: opened
        case .unlink: ".png"
        default: nil
        }
    }

    @Test(arguments: faults)
    func replacingADocument(_ fault: (call: FaultyFileSystem.Call, number: Int32)) async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let key = try await fixture.store.save(face, named: "me")
            let path = path(of: fault.call, opened: "documents-")
            // A file whose synchronization fails is written and synchronized once more.
            fileSystem.fail(fault.call, with: fault.number, times: fault.call == .synchronize ? 2 : 1, matching: path)

            await #expect { try await fixture.store.save(otherFace, named: "me") } throws: {
                let code = ($0 as? AvatarStoreError)?.code
                return code == (fault.number == ENOSPC ? .diskFull : fault.number == EIO ? .storage : .readOnly)
            }

            fileSystem.heal()
            // Only the unlinking of the old file comes after the commit.
            let expected = fault.call == .unlink ? otherFace : face
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == expected)
            try await fixture.store.trim(to: .max)
            try fixture.expectConsistent()
            try await fixture.store.save(otherFace, named: "me")
            #expect(try fixture.store.storedAvatar(for: key)?.bytes == otherFace)
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: faults.filter { $0.0 != .synchronize }, [1, 20])
    func fetchingUnderAFullBudget(_ fault: (call: FaultyFileSystem.Call, number: Int32), scale: Int) async throws {
        // A small image is written under its name, so nothing is renamed.
        if fault.call == .rename, scale == 1 { return }
        let fileSystem = FaultyFileSystem()
        let face = SampleImage.png(seed: 1, byteCount: 4000 * scale)
        let otherFace = SampleImage.png(seed: 2, byteCount: 5000 * scale)
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            try await fixture.store.set(.budget, to: Int64(6000 * scale))
            let old = try await fixture.store.avatar(for: fixture.serve(face, at: "/a.png"))
            let url = fixture.serve(otherFace, at: "/b.png")
            let path = path(of: fault.call, opened: scale == 1 ? ".png" : "caches-")
            fileSystem.fail(fault.call, with: fault.number, matching: path)

            await #expect(throws: AvatarStoreError.self) { try await fixture.store.avatar(for: url) }

            fileSystem.heal()
            #expect(fixture.files(in: .caches).values.reduce(0, +) <= 6000 * scale)
            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
            #expect(image.bytes == otherFace)
            #expect(try fixture.store.storedAvatar(for: old.key) == nil)
            try fixture.expectConsistent()
        }
    }

    @Test func aSyncReportsAFullDisk_andContinuesOnceThereIsRoom() async throws {
        let fileSystem = FaultyFileSystem()
        try await StoreFixture.withStore(on: fileSystem) { fixture in
            let contacts = (0..<50).map { number in
                let bytes = SampleImage.png(seed: UInt64(number), byteCount: 1000)
                return Contact(id: "\(number)", avatarURL: fixture.serve(bytes, at: "/\(number).png"))
            }
            fileSystem.fail(.write, with: ENOSPC, after: 20, times: .max)

            await #expect { try await fixture.store.sync(contacts: contacts) } throws: {
                ($0 as? AvatarStoreError)?.code == .diskFull
            }

            try fixture.expectConsistent()
            fileSystem.heal()
            let report = try await fixture.store.sync(contacts: contacts)
            #expect(report.fresh + report.fetched == 50)
            #expect(fixture.files(in: .caches).count == 50)
            try fixture.expectConsistent()
        }
    }
}
