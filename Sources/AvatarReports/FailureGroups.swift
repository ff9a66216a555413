public import AvatarCore

/// The failures of one kind at one host.
public struct FailureGroup: Sendable, Hashable {
    /// Name and port of the host; `nil` for records of a list, images without a URL, and the network.
    public var host: String?
    /// The kind of the failures.
    public var kind: FailureKind
    /// Their number.
    public var count: Int
    /// The message of the first one.
    public var message: String
}

/// All failures of a sync by host and kind, however many there are.
package struct FailureGroups: Sendable {
    private struct Name: Hashable {
        let host: String?
        let kind: FailureKind
    }

    private var groups: [Name: FailureGroup] = [:]

    /// The most groups with a host. Further hosts count as none.
    private static let mostGroups = 1000

    /// No failures.
    package init() {}

    /// Adds a failure of `kind` at `host`.
    package mutating func add(_ kind: FailureKind, _ message: String, atHost host: String?) {
        let isFull = groups.count >= Self.mostGroups && groups[Name(host: host, kind: kind)] == nil
        let host = isFull ? nil : host
        groups[
            Name(host: host, kind: kind),
            default: FailureGroup(host: host, kind: kind, count: 0, message: message)
        ].count += 1
    }

    /// The groups, those with the most failures first, then by host and kind.
    package var sorted: [FailureGroup] {
        groups.values.sorted {
            ($1.count, $0.host ?? "", $0.kind.rawValue) < ($0.count, $1.host ?? "", $1.kind.rawValue)
        }
    }
}
