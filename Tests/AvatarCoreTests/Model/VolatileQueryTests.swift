import AvatarCore
import AvatarReports
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VolatileQueryTests {
    @Test(arguments: [
        ("a.example sig", "https://a.example/p.png?sig=1", "https://a.example/p.png"),
        ("a.example sig", "https://a.example/p.png?w=96&sig=1&h=2", "https://a.example/p.png?w=96&h=2"),
        ("a.example sig", "https://a.example/p.png?sig&w", "https://a.example/p.png?w"),
        ("a.example sig", "https://a.example/p.png?signature=1", "https://a.example/p.png?signature=1"),
        ("a.example sig", "https://a.example/p.png?Sig=1", "https://a.example/p.png?Sig=1"),
        ("a.example sig", "https://a.example/p.png?", "https://a.example/p.png?"),
        ("a.example sig", "https://a.example/p.png?a=sig&b==sig", "https://a.example/p.png?a=sig&b==sig"),
        ("a.example X-Amz-*", "https://a.example/?X-Amz-Date=1&x=2&X-Amz-Signature=3", "https://a.example/?x=2"),
        ("a.example *", "https://a.example/p?user=1&sig=2", "https://a.example/p"),
        ("a.example e,sig", "https://a.example/p?e=1&sig=2&user=3", "https://a.example/p?user=3"),
    ])
    func theKeyLeavesOutTheParameters(_ setting: String, _ url: String, _ key: String) throws {
        let queries = VolatileQueries([try VolatileQuery(parsing: setting)])
        let parsed = try AvatarKey(url: url)
        let query = try #require(queries.query(for: parsed))
        #expect(parsed.without(query).rawValue == key)
    }

    @Test func theHostIsMatchedByNameOnAnyPort_andNoOtherHostIs() throws {
        let queries = VolatileQueries([try VolatileQuery(parsing: "CDN.Example sig")])
        #expect(queries.query(for: try AvatarKey(url: "http://cdn.example:81/a?sig=1")) != nil)
        #expect(queries.query(for: try AvatarKey(url: "https://a.cdn.example/a?sig=1")) == nil)
        #expect(queries.query(for: try AvatarKey(custom: "own")) == nil)
    }

    @Test(arguments: [
        "", "a.example", "a.example a b", "https://a.example sig", "a.example:80 sig", "a.example:443 sig",
        "a.example/x sig", "u@a.example sig",
        "a.example a,,b", "a.example a=b", "a.example a&b", "a.example *a", "a.example a*b", "a.example ä",
        "a.example " + String(repeating: "x", count: 257),
        "a.example " + (0..<65).map { "p\($0)" }.joined(separator: ","),
    ])
    func aMalformedSettingIsRefused(_ text: String) {
        let error = #expect(throws: AvatarStoreError.self) { _ = try VolatileQuery(parsing: text) }
        #expect(error?.code == .invalidConfiguration)
        #expect(error?.message.contains("volatile-query") == true)
    }

    @Test func theTextInTheIndexGivesTheSameHosts_andTheirNumberIsLimited() throws {
        var queries = VolatileQueries()
        for number in 0..<256 { queries = try queries.setting(VolatileQuery(parsing: "h\(number).example sig,b-*")) }
        #expect(try VolatileQueries(stored: queries.text).all == queries.all)
        let error = #expect(throws: AvatarStoreError.self) {
            _ = try queries.setting(VolatileQuery(parsing: "more.example sig"))
        }
        #expect(error?.message.contains("256") == true)
        // Another value for a known host is no further host.
        #expect(try queries.setting(VolatileQuery(parsing: "h7.example x")).all.count == 256)
        #expect(throws: AvatarStoreError.self) { _ = try VolatileQueries(stored: "h7.example") }
    }
}
