#if canImport(Combine) || OpenCombine
import AvatarPublisher
import AvatarStore
import AvatarStoreTesting
import Foundation
import Testing

#if canImport(Combine)
import Combine
#else
import OpenCombine
#endif

/// The example in the documentation of `AvatarPublisher`.
@Suite(.timeLimit(.minutes(5)))
struct PublisherExamples {
    private let face = SampleImage.png(seed: 1, byteCount: 900)

    @Test func exampleOfTheDocumentation() async throws {
        final class Row {
            var imageFile: URL? { didSet { continuation.yield(imageFile) } }
            let (files, continuation) = AsyncStream.makeStream(of: URL?.self)
        }
        try await StoreFixture.withStore { fixture in
            let store = fixture.store
            let ada = fixture.serve(face, at: "/ada.png")
            let row = Row()

            let subscription = AvatarPublisher(url: ada, from: store)
                .map { Optional($0.fileURL) }
                .replaceError(with: nil)
                .assign(to: \.imageFile, on: row)

            for await file in row.files {
                let file = try #require(file)
                #expect(try Data(contentsOf: file) == Data(face))
                break
            }
            subscription.cancel()
        }
    }
}
#endif
