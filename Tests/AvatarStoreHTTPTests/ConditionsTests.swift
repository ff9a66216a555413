import AvatarCore
import HTTPTypes
import Testing

@testable import AvatarStoreHTTP

/// Conditions that a store cannot produce in a test: similar entity tags, and dates close to the time of the file.
@Suite(.timeLimit(.minutes(5)))
struct ConditionsTests {
    private static let digest = String(repeating: "0123456789abcdef", count: 4)
    /// Published half a second after Sun, 06 Nov 1994 08:49:37 GMT. A date in a field has whole seconds.
    private static let published = Timestamp(milliseconds: 784_111_777_500)
    private static let now = published.adding(seconds: 86_400)

    private let conditions = Conditions(etag: "\"\(digest)\"", modified: published, length: 100)

    @Test(arguments: [
        ("\"\(digest)\"", true), ("\"\(digest.dropLast())\"", false), ("\"\(digest)0\"", false),
        ("\"\(digest.uppercased())\"", false), ("\"*\"", false), ("\"a,*,b\"", false), ("w/\"\(digest)\"", false),
    ])
    func entityTagIsComparedAsAWhole(tags: String, isNotModified: Bool) {
        #expect(conditions.isNotModified([.ifNoneMatch: tags], now: Self.now) == isNotModified)
    }

    @Test(arguments: [("36", false, false), ("37", true, true), ("38", true, false)])
    func datesAreComparedInSeconds(second: String, isNotModified: Bool, holdsRange: Bool) {
        let date = "Sun, 06 Nov 1994 08:49:\(second) GMT"

        #expect(conditions.isNotModified([.ifModifiedSince: date], now: Self.now) == isNotModified)
        let part = conditions.part([.range: "bytes=0-9", .ifRange: date], now: Self.now)
        #expect(part == (holdsRange ? .range(0..<10) : .whole))
    }
}
