import AvatarFiles
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

/// After a power loss the files are walked once; after anything else they are not.
struct PowerLossTests {
    private let face = SampleImage.png(seed: 1, byteCount: 4000)
    private let otherFace = SampleImage.png(seed: 2, byteCount: 5000)

    @Test("the boot is kept while the store is changed, and forgotten when the last process closes it")
    func mark() async throws {
        try await StoreFixture.withStore { fixture in
            let first = try await fixture.openAgain { $0.layout = StoreLayout(directory: fixture.directory + "/own") }
            let second = try await AvatarStore.open(first.configuration)
            func boot() throws -> String? {
                try fixture.indexText("SELECT boot_id FROM store", at: first.configuration.layout.indexPath)
            }
            #expect(try boot() == nil)
            try await first.save(face, named: "me", in: .caches)
            #expect(try boot() == BootID.current)

            try await second.close()
            #expect(try boot() == BootID.current)
            try await first.close()

            #expect(try boot() == nil)
        }
    }

    @Test("files that the power loss took or brought back are found at the next opening")
    func walk() async throws {
        try await StoreFixture.withStore { fixture in
            let url = fixture.serve(face, at: "/a.png")
            let lost = try await fixture.store.avatar(for: url).key
            let empty = try await fixture.store.save(otherFace, named: "cached", in: .caches)
            let kept = try await fixture.store.save(face, named: "document")
            try FileManager.default.removeItem(atPath: fixture.path(of: lost))
            try fixture.write([], to: try fixture.path(of: empty))
            try fixture.write(face, to: fixture.path(in: .caches, "ab/cdef01-0123456789abcdef.png"))
            try fixture.changeIndex("UPDATE store SET boot_id = 'of another time'")

            let opened = try await fixture.openAgain()

            let report = try await opened.verify()
            #expect(report.faults == [])
            #expect(try opened.details(for: lost)?.overview.state == "missing")
            #expect(try opened.storedAvatar(for: empty) == nil)
            #expect(try opened.storedAvatar(for: kept)?.bytes == face)
            #expect(fixture.files(in: .caches).isEmpty)
            #expect(try fixture.indexText("SELECT boot_id FROM store") == BootID.current)
            try await opened.close()
        }
    }

    @Test("after a mere kill nothing is walked")
    func noWalk() async throws {
        try await StoreFixture.withStore(endsSound: false) { fixture in
            try await fixture.store.save(face, named: "me", in: .caches)
            try fixture.write(face, to: fixture.path(in: .caches, "ab/cdef01-0123456789abcdef.png"))

            let opened = try await fixture.openAgain()

            #expect(fixture.files(in: .caches).count == 2)
            try await opened.close()
        }
    }
}
