import AvatarCore
import HTTPTypes
import Testing

/// RFC 9111 section 4.1 and RFC 9110 section 12.5.5.
struct VaryRuleTests {
    @Test(
        arguments: [
            // Vary lines; whether no request is known to match, whether anything of the request has to be kept.
            ([], false, false), ([""], false, false), (["Accept"], false, true), (["accept, ORIGIN"], false, true),
            (["*"], true, false), (["Accept, *"], true, false), (["Accept", "*"], true, false),
            (["\"*\""], false, false),
            ([" , ,Accept,"], false, true), (["not,a?"], false, true), (["a?"], false, false),
        ] as [([String], Bool, Bool)]
    )
    func readsWhatTheResponseWasChosenBy(_ lines: [String], _ matchesNothing: Bool, _ isKept: Bool) {
        let rule = VaryRule(HTTPFields(lines: lines.map { "Vary: \($0)" }))

        #expect(rule.matchesNothing == matchesNothing)
        #expect((rule.selection(of: [.accept: "image/*"]) != nil) == isKept)
    }
}
