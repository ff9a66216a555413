import AvatarCore
import AvatarStore
import AvatarStoreTesting
import Synchronization
import Testing

/// RFC 9111 as a private cache in `strict`, over real connections: each case is a script of responses and reads.
///
/// The tables of `AvatarCoreTests` cover single fields; here the whole store has to act on them.
@Suite(.timeLimit(.minutes(5)))
struct CacheConformanceTests {
    static let cases =
        CacheCase.storing + CacheCase.freshness + CacheCase.age + CacheCase.restrictions + CacheCase.vary
        + CacheCase.validation + CacheCase.confirmations + CacheCase.redirects + CacheCase.parts

    @Test(arguments: cases)
    func strictKeepsTheRule(_ row: CacheCase) async throws {
        let fields = Mutex<[(name: String, value: String)]>([])
        try await StoreFixture.withStore {
            $0.mode = .strict
            $0.http.fieldsForHost = { _ in fields.withLock { $0 } }
        } _: { fixture in
            let responses = Mutex(row.responses[...])
            for path in ["/face.png", "/moved.png"] {
                fixture.origin.setResponse(for: path) { _ in
                    responses.withLock { $0.popFirst() } ?? .status(500)
                }
            }
            for (index, read) in row.reads.enumerated() {
                fixture.clock.advance(by: .seconds(read.wait))
                fixture.origin.resetCounts()
                fields.withLock { $0 = read.adds }
                if read.isAway { try await fixture.origin.stop() }

                let given = try await image(fixture, read.policy)

                #expect(given == read.gives, "read \(index + 1)")
                #expect(fixture.origin.requests.map(conditions) == read.requests, "read \(index + 1)")
            }
            #expect(responses.withLock { $0.count } == 0, "responses that no request asked for")
        }
    }

    @Test func thereAreManyCases() {
        #expect(Self.cases.count >= 60)
        #expect(Set(Self.cases.map(\.testDescription)).count == Self.cases.count)
        #expect(Self.cases.filter { $0.demand == .required }.count >= 30)
    }

    /// The number of the image that a read returns; `nil` if its fetch fails and the stored one must not be served.
    private func image(_ fixture: StoreFixture, _ policy: FetchOptions.Policy) async throws -> Int? {
        do {
            let url = fixture.origin.url("/face.png")
            let image = try await fixture.store.avatar(for: url, options: FetchOptions(policy: policy))
            #expect(image.mediaType == "image/png")
            let number = CacheImage.number(of: image.bytes)
            #expect(number != nil, "not one of the pictures")
            return number
        } catch let error as AvatarStoreError {
            #expect(error.code == .fetchFailed)
            return nil
        }
    }

    private func conditions(_ request: LoopbackOrigin.Request) -> String {
        let names = ["If-None-Match", "If-Modified-Since", "If-Range"]
        let conditions = names.compactMap { name in request.headers[name].map { "\(name): \($0)" } }
        let range = request.headers["Range"].map { _ in "Range" }
        return (conditions + [range].compactMap(\.self)).joined(separator: ", ")
    }
}
