import AvatarCore
import HTTPTypes
import Testing

/// RFC 9111 section 4.1.
struct VaryRuleTests {
    private let request: HTTPFields = [.accept: "image/*", .userAgent: "avatars/1"]

    @Test(
        arguments: [
            (nil, true), ("", true), ("Accept", true), ("accept, ORIGIN", true), ("*", false), ("Accept, *", false),
            ("not a name?", true),
        ] as [(String?, Bool)]
    )
    func matchesTheSameRequestUnlessAnythingMayVary(_ vary: String?, _ expected: Bool) {
        var fields = HTTPFields()
        fields[.vary] = vary
        let rule = VaryRule(fields)

        #expect(rule.matches(request, storedFor: request) == expected)
        #expect(rule.matchesNothing == !expected)
    }

    @Test func comparesTheNamedFieldsOnly() {
        let rule = VaryRule([.vary: "Accept, Cookie"])

        #expect(rule.matches([.accept: "image/*", .userAgent: "avatars/2"], storedFor: request))
        #expect(!rule.matches([.accept: "image/png"], storedFor: request))
        #expect(!rule.matches([.accept: "image/*", .cookie: "a=b"], storedFor: request))
        #expect(!rule.matches([:], storedFor: request))
    }
}
