/// Which hosts and ports images may be fetched from, by what a URL says. Default: all.
///
/// Judged before a request is sent, and at each redirect. What a name resolves to is the address policy's to judge.
public struct HostRules: Hashable, Sendable {
    /// Only these hosts, if there are any.
    public var allowed: [HostPattern] = []
    /// None of these, whatever else is allowed.
    public var denied: [HostPattern] = []
    /// Only these ports, if there are any.
    public var ports: [ClosedRange<Int>] = []

    /// All hosts and ports.
    public init() {}

    /// Why no request may be sent to `host`, in words that follow its name; `nil` if one may.
    package func refusal(of host: HostName) -> String? {
        if denied.contains(where: { $0.matches(host) }) { return "is on the list of hosts that are not contacted" }
        if !allowed.isEmpty, !allowed.contains(where: { $0.matches(host) }) {
            return "is not on the list of hosts that may be contacted"
        }
        if !ports.isEmpty, !ports.contains(where: { $0.contains(host.port) }) {
            return "is asked for at a port that may not be contacted"
        }
        return nil
    }
}
