import AvatarCore
import AvatarOriginRules
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ConnectFailureTests {
    @Test(
        arguments: [
            ([], false, true, FailureKind.unreachable),
            ([ECONNREFUSED], false, true, .unreachable),
            ([ECONNREFUSED], false, false, .unreachable),
            ([ETIMEDOUT], false, true, .unreachable),
            ([], true, true, .timeout),
            ([ENETUNREACH], true, true, .timeout),
            // No socket could be made. That says nothing about the host.
            ([EMFILE], false, true, .tooManyOpenFiles),
            ([ECONNREFUSED, ENFILE], false, false, .tooManyOpenFiles),
            // A host with IPv6 alone, seen from a network with IPv4 alone.
            ([ENETUNREACH], false, true, .unreachable),
            ([EADDRNOTAVAIL, ENETUNREACH], false, true, .unreachable),
            // A host with both, of which one refuses.
            ([ENETUNREACH, ECONNREFUSED], false, true, .unreachable),
            ([ENETUNREACH, ECONNREFUSED], false, false, .unreachable),
            ([ENETUNREACH], false, false, .offline),
            ([EHOSTUNREACH], false, false, .offline),
            ([EHOSTUNREACH], false, true, .unreachable),
            ([ENETDOWN, EADDRNOTAVAIL], false, false, .offline),
        ] as [([CInt], Bool, Bool, FailureKind)]
    )
    func onlyWithoutAnyRouteThereIsNoNetwork(
        codes: [CInt],
        hasTimedOut: Bool,
        hasRoute: Bool,
        expected: FailureKind
    ) {
        let failure = ConnectFailure(codes: codes, hasTimedOut: hasTimedOut)
        #expect(failure.judge(hasRoute: { hasRoute }).0 == expected)
    }
}
