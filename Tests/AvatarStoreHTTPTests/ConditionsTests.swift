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

    @Test(arguments: [("36", false, false), ("37", true, true), ("38", false, false)])
    func datesAreComparedInSeconds(second: String, isNotModified: Bool, holdsRange: Bool) {
        let date = "Sun, 06 Nov 1994 08:49:\(second) GMT"

        #expect(conditions.isNotModified([.ifModifiedSince: date], now: Self.now) == isNotModified)
        let part = conditions.part([.range: "bytes=0-9", .ifRange: date], now: Self.now)
        #expect(part == (holdsRange ? .range(0..<10) : .whole))
    }

    @Test(arguments: [
        ("\"\(digest)\"", false), ("*", false), ("\"x\", \"\(digest)\"", false), ("\"x\"", true),
        ("W/\"\(digest)\"", true),
    ])
    func tagsOfIfMatchAreComparedStrongly(tags: String, isAnother: Bool) {
        #expect(conditions.isAnother([.ifMatch: tags], now: Self.now) == isAnother)
    }

    @Test(arguments: [("36", true), ("37", false), ("38", false)])
    func ifUnmodifiedSinceCountsWithoutATag(second: String, isAnother: Bool) {
        let date = "Sun, 06 Nov 1994 08:49:\(second) GMT"

        #expect(conditions.isAnother([.ifUnmodifiedSince: date], now: Self.now) == isAnother)
        let tag = "\"\(Self.digest)\""
        #expect(conditions.isAnother([.ifMatch: tag, .ifUnmodifiedSince: date], now: Self.now) == false)
    }

    @Test(arguments: [
        ("text/event-stream", 1), ("application/json, Text/Event-Stream ; q=0.5", 0.5), ("text/event-stream;q=0", 0),
        ("text/event-stream;q=x", 0), ("*/*", 0), ("", 0),
    ])
    func weightOfATypeIsThatOfItsRange(accept: String, weight: Double) {
        #expect(AcceptedTypes([.accept: accept]).weight(of: "text/event-stream") == weight)
    }
}
