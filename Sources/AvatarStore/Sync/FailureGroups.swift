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
struct FailureGroups: Sendable {
    private struct Name: Hashable {
        let host: String?
        let kind: FailureKind
    }

    private var groups: [Name: FailureGroup] = [:]

    /// The most groups with a host. Further hosts count as none.
    private static let mostGroups = 1000

    /// Adds a failure at `host`.
    mutating func add(_ failure: SyncReport.Failure) {
        let isFull = groups.count >= Self.mostGroups && groups[Name(host: failure.host, kind: failure.kind)] == nil
        let host = isFull ? nil : failure.host
        groups[
            Name(host: host, kind: failure.kind),
            default: FailureGroup(host: host, kind: failure.kind, count: 0, message: failure.message)
        ].count += 1
    }

    /// The groups, those with the most failures first, then by host and kind.
    var sorted: [FailureGroup] {
        groups.values.sorted {
            ($1.count, $0.host ?? "", $0.kind.rawValue) < ($0.count, $1.host ?? "", $1.kind.rawValue)
        }
    }
}
