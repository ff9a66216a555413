import AvatarCore

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Why no connection came up, by what the system said of each address of the host.
struct ConnectFailure {
    /// The error numbers, one for each address that was tried.
    var codes: [CInt]
    /// Whether an address was silent until the connect timeout.
    var hasTimedOut = false

    /// The failure kind, and the reason in words.
    ///
    /// Addresses that were tried say more than one of a protocol that this machine has no network for. Without a route
    /// to any, it may be the host's fault or the network's: that is what `hasRoute` is asked for, whether there is a way
    /// to the internet.
    func judge(hasRoute: () -> Bool) -> (FailureKind, String) {
        if let told = codes.first(where: { !Self.isWithoutRoute($0) }) { return (.unreachable, Self.words(told)) }
        if hasTimedOut { return (.timeout, "no connection within the connect timeout") }
        guard !codes.isEmpty else { return (.unreachable, "the host name cannot be resolved") }
        return hasRoute() ? (.unreachable, "there is no route to the host") : (.offline, "there is no network")
    }

    /// Whether the error number means that no packet got anywhere.
    static func isWithoutRoute(_ code: CInt) -> Bool {
        [ENETUNREACH, ENETDOWN, EHOSTUNREACH, EHOSTDOWN, EADDRNOTAVAIL].contains(code)
    }

    private static func words(_ code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET, EPIPE: "the connection was reset"
        default: "no connection (\(String(cString: strerror(code))))"
        }
    }
}
