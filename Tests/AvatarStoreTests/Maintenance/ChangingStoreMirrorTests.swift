import AvatarFiles
import AvatarMaintenance
import AvatarStore
import AvatarStoreTesting
import Dispatch
import Foundation
import Testing

/// Mirrors of a store that loses images while they are written.
@Suite(.timeLimit(.minutes(5))) struct ChangingStoreMirrorTests {
    /// A way in which entries lose their files.
    enum Loss: CaseIterable {
        case eviction, ignoring, removal
    }

    private let faces = ["ada", "ben", "carl"].enumerated().map { number, name in
        (name: name, bytes: SampleImage.png(seed: UInt64(number + 1), byteCount: 4000))
    }

    /// A store with the images of three contacts, and a mirror of it.
    private func withMirror(
        names: MirrorOptions.Names,
        endsSound: Bool = true,
        _ body: (_ fixture: StoreFixture, _ folder: String) async throws -> Void
    ) async throws {
        try await StoreFixture.withStore(endsSound: endsSound) { fixture in
            try await BackupPlace.with { place in
                let people = faces.map { face in
                    Contact(id: face.name, avatarURL: fixture.serve(face.bytes, at: "/\(face.name).png"))
                }
                _ = try await fixture.store.sync(contacts: people)
                let options = MirrorOptions(names: names)
                let report = try await fixture.store.mirrorImages(to: place.path("out"), options: options)
                #expect(report.written == 3)
                try await body(fixture, place.path("out"))
            }
        }
    }

    /// A handler that runs `change` at the first report, and waits for its end.
    private static func once(_ change: @escaping @Sendable () async throws -> Void) -> ProgressHandler {
        { progress in
            guard progress.done + progress.failed == 1 else { return }
            let isDone = DispatchSemaphore(value: 0)
            Task.detached {
                do {
                    try await change()
                } catch {
                    Issue.record(error)
                }
                isDone.signal()
            }
            // This runs on the mirror's own thread, so blocking it is fine.
            isDone.wait()
        }
    }

    @Test(arguments: Loss.allCases)
    func evictedImageKeepsItsFile_anIgnoredOrRemovedOneDoesNot(loss: Loss) async throws {
        try await withMirror(names: .keys) { fixture, folder in
            let store = fixture.store
            let before = try BackupPlace.contents(of: folder)
            let url = fixture.origin.url("/ben.png")
            let digest = Hexadecimal.text(ContentDigest.sha256(faces[1].bytes))
            let change = Self.once {
                switch loss {
                case .eviction: _ = try await store.trim(to: 0)
                case .ignoring: _ = try await store.ignore(digests: [digest])
                case .removal: _ = try await store.remove(url)
                }
            }

            // The first image is written before the change, and all are listed before it.
            let report = try await store.mirrorImages(to: folder, progress: change)

            let after = try BackupPlace.contents(of: folder)
            if loss == .eviction {
                #expect(report.unchanged == 1 && report.missing == 2 && report.deleted == 0)
                #expect(after == before)
            } else {
                #expect(report.unchanged == 2 && report.missing == 1 && report.deleted == 1)
                let images = after.filter { $0.key != "manifest.jsonl" }.map { [UInt8]($0.value) }
                #expect(Set(images) == [faces[0].bytes, faces[2].bytes])
            }
        }
    }

    @Test func filesOfLostImagesStay_besideOneThatChanges() async throws {
        try await withMirror(names: .ids, endsSound: false) { fixture, folder in
            let other = SampleImage.png(seed: 9, byteCount: 5000)
            for (number, face) in faces.enumerated() {
                let changed = number == 0 ? other : SampleImage.png(seed: UInt64(number + 9), byteCount: 5000)
                let url = fixture.serve(changed, at: "/\(face.name).png")
                _ = try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
                guard number > 0 else { continue }
                try FileManager.default.removeItem(atPath: fixture.path(of: AvatarKey(url: url)))
            }

            let report = try await fixture.store.mirrorImages(to: folder)

            #expect(report.written == 1 && report.missing == 2 && report.deleted == 0)
            var files = try BackupPlace.contents(of: folder)
            let manifest = files.removeValue(forKey: "manifest.jsonl") ?? Data()
            #expect(
                files == [
                    "ada.png": Data(other), "ben.png": Data(faces[1].bytes), "carl.png": Data(faces[2].bytes),
                ]
            )
            #expect(manifest.count(where: { $0 == UInt8(ascii: "\n") }) == 3)
        }
    }
}
