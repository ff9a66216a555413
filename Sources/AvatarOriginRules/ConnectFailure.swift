package import AvatarCore
import AvatarFoundation

/// The reason why no connection came up, from the system error of each address of the host.
package struct ConnectFailure {
    /// The error numbers (errno), one for each address that was tried.
    package var codes: [CInt]
    /// Whether an address did not respond within the connect timeout.
    package var hasTimedOut: Bool

    /// A failure with these errors. Default: no address ran into the connect timeout.
    package init(codes: [CInt], hasTimedOut: Bool = false) {
        self.codes = codes
        self.hasTimedOut = hasTimedOut
    }

    /// The kind of the failure, and the reason in words.
    ///
    /// An error of an address that was reached tells more than a missing route, which may only mean that this machine
    /// has no IPv6. If no address has a route, either the host or the network may be the cause; `hasRoute` decides.
    ///
    /// - Parameter hasRoute: returns whether this machine has a route to the internet. Called only if no address has
    ///   one.
    package func judge(hasRoute: () -> Bool) -> (FailureKind, String) {
        if codes.contains(where: Self.isShortage) { return FailureWording.tooManyOpenFiles }
        if let told = codes.first(where: { !Self.isWithoutRoute($0) }) { return (.unreachable, Self.words(told)) }
        if hasTimedOut { return (.timeout, "no connection within the connect timeout") }
        guard !codes.isEmpty else { return (.unreachable, "the host name cannot be resolved") }
        return hasRoute() ? (.unreachable, "there is no route to the host") : (.offline, "there is no network")
    }

    /// Whether the error number means that there is no route for packets.
    package static func isWithoutRoute(_ code: CInt) -> Bool {
        [ENETUNREACH, ENETDOWN, EHOSTUNREACH, EHOSTDOWN, EADDRNOTAVAIL].contains(code)
    }

    /// Whether the error number means that the process or the system has too many open files.
    package static func isShortage(_ code: CInt) -> Bool { code == EMFILE || code == ENFILE }

    private static func words(_ code: CInt) -> String {
        switch code {
        case ECONNREFUSED: "the connection was refused"
        case ECONNRESET, EPIPE: "the connection was reset"
        default: "no connection (\(String(cString: strerror(code))))"
        }
    }
}
