import AvatarStoreTesting
import Foundation
import Testing

@testable import AvatarStore

/// An interrupted download continues where it stopped (RFC 9110 sections 13.1.5 and 14).
@Suite(.timeLimit(.minutes(5)))
struct ResumeTests {
    private let face = SampleImage.png(seed: 1, byteCount: 600_000)
    private let tag = "\"one\""

    private func image(_ bytes: [UInt8], etag: String?) -> LoopbackOrigin.Response {
        .image(bytes, etag: etag, cacheControl: "max-age=60")
    }

    /// Interrupts a download after `count` bytes; returns the URL.
    private func breakOff(after count: Int, _ fixture: StoreFixture, etag: String? = "\"one\"") async throws -> String {
        fixture.origin.setResponse(image(face, etag: etag).behaving(.cutShort(after: count)), for: "/face.png")
        let url = fixture.origin.url("/face.png")
        await #expect { try await fixture.store.avatar(for: url) } throws: {
            ($0 as? AvatarStoreError)?.failure == .truncated
        }
        return url
    }

    private func partialFiles(_ fixture: StoreFixture) throws -> [String] {
        let folder = fixture.store.configuration.layout.staging(of: .caches) + "/partial"
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder)
    }

    @Test(arguments: [2000, 300_000, 599_999])
    func goesOnWhereItStopped_alsoAfterARestart(count: Int) async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: count, fixture)
            // Bytes that the kernel had not delivered when the connection broke are missing.
            let kept = try fixture.store.statistics().stagingBytes
            #expect((PartialDownloads.fewestBytes...count).contains(kept))
            fixture.origin.setResponse(image(face, etag: tag), for: "/face.png")
            let again = try await fixture.openAgain()

            let got = try await again.avatar(for: url)
            try await again.close()

            #expect(got.bytes == face)
            let request = try #require(fixture.origin.requests.last)
            #expect(request.headers["Range"] == "bytes=\(kept)-")
            #expect(request.headers["If-Range"] == tag)
            #expect(request.headers["If-None-Match"] == nil)
            #expect(try partialFiles(fixture).isEmpty)
            #expect(try fixture.store.statistics().stagingBytes == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func aDownloadResumesSeveralTimes() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture)
            for count in [50_000, 200_000] {
                // The origin sends this many bytes of the requested part.
                fixture.origin.setResponse(image(face, etag: tag).behaving(.cutShort(after: count)), for: "/face.png")
                await #expect(throws: AvatarStoreError.self) {
                    try await fixture.store.avatar(for: url, options: FetchOptions(policy: .reload))
                }
            }
            fixture.origin.setResponse(image(face, etag: tag), for: "/face.png")
            fixture.clock.advance(by: .seconds(3600))

            #expect(try await fixture.store.avatar(for: url).bytes == face)
            try fixture.expectConsistent()
        }
    }

    @Test func anImageThatChangedMeanwhileIsFetchedInFull() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture)
            let other = SampleImage.png(seed: 2, byteCount: 500_000)
            fixture.origin.setResponse(image(other, etag: "\"two\""), for: "/face.png")
            fixture.clock.advance(by: .seconds(3600))

            #expect(try await fixture.store.avatar(for: url).bytes == other)
            #expect(try partialFiles(fixture).isEmpty)
            try fixture.expectConsistent()
        }
    }

    /// Responses to a range request that do not continue the download.
    struct Refused: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let status: Int
        let headers: LoopbackOrigin.Headers

        init(_ name: String, _ status: Int, _ headers: LoopbackOrigin.Headers) {
            testDescription = name
            self.status = status
            self.headers = headers
        }
    }

    /// The image is then fetched in full, and never a mix of both.
    @Test(arguments: [
        Refused("another tag", 206, ["ETag": "\"two\"", "Content-Range": "bytes 100000-599999/600000"]),
        Refused("no tag", 206, ["Content-Range": "bytes 100000-599999/600000"]),
        Refused("another range", 206, ["ETag": "\"one\"", "Content-Range": "bytes 0-599999/600000"]),
        Refused("another length", 206, ["ETag": "\"one\"", "Content-Range": "bytes 100000-599999/600001"]),
        Refused("no range", 206, ["ETag": "\"one\""]),
        Refused("nothing beyond", 416, ["ETag": "\"one\"", "Content-Range": "bytes */100000"]),
        Refused("not modified", 304, ["ETag": "\"one\""]),
    ])
    func whatIsNoContinuationIsRefused(answer: Refused) async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture)
            let wrong = Array(SampleImage.png(seed: 3, byteCount: 600_000)[100_000...])
            let whole = image(face, etag: tag)
            fixture.origin.setResponse(for: "/face.png") { request in
                guard request.headers["Range"] != nil else { return whole }
                return LoopbackOrigin.Response(status: answer.status, headers: answer.headers, body: .bytes(wrong))
            }
            fixture.clock.advance(by: .seconds(3600))

            #expect(try await fixture.store.avatar(for: url).bytes == face)
            #expect(try partialFiles(fixture).isEmpty)
            try fixture.expectConsistent()
        }
    }

    @Test(arguments: ["W/\"one\"", nil])
    func withoutAStrongTagNothingIsKept(etag: String?) async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture, etag: etag)
            #expect(try partialFiles(fixture).isEmpty)
            fixture.origin.setResponse(image(face, etag: etag), for: "/face.png")
            fixture.clock.advance(by: .seconds(3600))

            #expect(try await fixture.store.avatar(for: url).bytes == face)
            #expect(fixture.origin.requests.last?.headers["Range"] == nil)
        }
    }

    @Test func leftoversExpire() async throws {
        try await StoreFixture.withStore { fixture in
            _ = try await breakOff(after: 100_000, fixture)
            fixture.clock.advance(by: .seconds(8 * 86_400))

            _ = try await fixture.store.sync(contacts: [])

            #expect(try partialFiles(fixture).isEmpty)
            #expect(try fixture.store.statistics().stagingBytes == 0)
        }
    }

    @Test func removingAnEntryRemovesItsPartialDownload() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture)
            let key = try AvatarKey(url: url)

            _ = try await fixture.store.remove(key)

            #expect(try partialFiles(fixture).isEmpty)
        }
    }

    @Test func anInterruptedTransientReadKeepsNothing() async throws {
        try await StoreFixture.withStore { fixture in
            fixture.origin.setResponse(image(face, etag: tag).behaving(.cutShort(after: 400_000)), for: "/face.png")
            let url = fixture.origin.url("/face.png")

            await #expect(throws: AvatarStoreError.self) {
                try await fixture.store.avatar(for: url, options: FetchOptions(storage: .transient))
            }

            #expect(try partialFiles(fixture).isEmpty)
            #expect(try fixture.store.statistics().stagingBytes == 0)
            try fixture.expectConsistent()
        }
    }

    @Test func aTransientReadDoesNotTouchThePartialDownload() async throws {
        try await StoreFixture.withStore { fixture in
            let url = try await breakOff(after: 100_000, fixture)
            let kept = try fixture.store.statistics().stagingBytes
            fixture.origin.setResponse(image(face, etag: tag), for: "/face.png")

            let transient = try await fixture.store.avatar(for: url, options: FetchOptions(storage: .transient))

            #expect(transient.bytes == face)
            #expect(fixture.origin.requests.last?.headers["Range"] == nil)
            #expect(try fixture.store.statistics().stagingBytes == kept)
            fixture.clock.advance(by: .seconds(3600))
            #expect(try await fixture.store.avatar(for: url).bytes == face)
            #expect(fixture.origin.requests.last?.headers["Range"] == "bytes=\(kept)-")
            try fixture.expectConsistent()
        }
    }
}
