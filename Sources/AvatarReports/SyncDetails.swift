public import AvatarCore

/// The hosts and contacts behind the counts of a sync.
public struct SyncDetails: Sendable {
    /// A contact that the list has more than once. Its last record counts.
    public struct Duplicate: Sendable, Hashable {
        /// The contact's id.
        public var contact: String
        /// The places of its records in order, at most 10, as far as the list gives them. The last record counts.
        public var places: [ListPlace]
    }

    /// A host that asked for fewer requests. The sync waited for it, and spaced its requests from then on.
    public struct SlowedHost: Sendable, Hashable {
        /// The time during which the host got no request.
        public var waited: Duration
        /// Requests that the host refused. Their images were requested again.
        public var refused: Int
    }

    /// The requests of the sync to one host.
    public struct Host: Sendable, Hashable {
        /// Its name and port.
        public var name: String
        /// Images that were requested from it.
        public var requests: Int
        /// The most requests under way at once.
        public var mostAtOnce: Int
        /// Connections opened for them.
        public var connections: Int
        /// Whether it answered over HTTP/2.
        public var isMultiplexed: Bool

        package init(name: String, requests: Int, mostAtOnce: Int, connections: Int, isMultiplexed: Bool) {
            (self.name, self.requests, self.mostAtOnce) = (name, requests, mostAtOnce)
            (self.connections, self.isMultiplexed) = (connections, isMultiplexed)
        }
    }

    /// The contacts that the list has more than once, at most 20.
    public package(set) var duplicateContacts: [Duplicate] = []
    /// The hosts with most requests, at most 20, those with most requests first.
    public package(set) var hosts: [Host] = []
    /// Hosts that asked for fewer requests (429 or 503) and were waited for, by name and port; at most 100.
    public private(set) var slowedHosts: [String: SlowedHost] = [:]
    /// Hosts of which some URLs keep their volatile parameters (`VolatileQuery`), in the order of their names.
    public package(set) var queryClashes: [QueryClash] = []
    /// Hosts whose URLs in the list differ from the stored ones of the same contacts in nothing but their query, at most 10, those
    /// with most contacts first.
    public package(set) var changingQueries: [ChangingQuery] = []
    /// All failures by host and kind, the largest groups first. From the thousandth group on, further hosts count as none.
    public var failureGroups: [FailureGroup] { groups.sorted }
    /// The failures by host and kind.
    package var groups = FailureGroups()

    /// The most contacts with several records that are kept; all records are counted.
    package static let largestDuplicateCount = 20
    /// The most places that are kept for one contact.
    private static let mostPlaces = 10
    /// The most hosts in `hosts`.
    package static let largestHostCount = 20
    /// The most slowed hosts that are kept.
    private static let largestSlowedCount = 100

    /// Those of no work.
    package init() {}

    /// Adds a record of `contact` at `place`, after which another one of the same contact was read, the last so far at `last`.
    package mutating func noteDuplicate(of contact: String, at place: ListPlace?, last: ListPlace?) {
        let before = [place].compactMap(\.self)
        if let index = duplicateContacts.firstIndex(where: { $0.contact == contact }) {
            guard duplicateContacts[index].places.count < Self.mostPlaces,
                let end = duplicateContacts[index].places.indices.last
            else { return }
            duplicateContacts[index].places.insert(contentsOf: before, at: end)
        } else if duplicateContacts.count < Self.largestDuplicateCount {
            duplicateContacts.append(Duplicate(contact: contact, places: before + [last].compactMap(\.self)))
        }
    }

    /// Reports that the sync waits for `host`.
    package mutating func noteWait(for host: String, _ waited: Duration, refused: Int) {
        guard slowedHosts[host] != nil || slowedHosts.count < Self.largestSlowedCount else { return }
        slowedHosts[host] = SlowedHost(waited: waited, refused: refused)
    }
}

/// A host of which some URLs keep their volatile parameters (`VolatileQuery`), because the key without them may be that of
/// another contact's image.
public struct QueryClash: Sendable, Hashable {
    /// The host, as the setting names it.
    public var host: String
    /// The contacts with such a URL.
    public var contacts: Int
    /// The ids of the first of them, at most 3; in a list of bare URLs the URLs without their queries.
    public var examples: [String]

    package init(host: String, contacts: Int, examples: [String]) {
        (self.host, self.contacts, self.examples) = (host, contacts, examples)
    }
}

/// A host whose URLs in the list differ from the stored ones in nothing but their query, so that each list makes them new images.
public struct ChangingQuery: Sendable, Hashable {
    /// The name of the host.
    public var host: String
    /// The contacts with such a URL.
    public var contacts: Int
    /// Of the contacts that were looked at, those whose images have equal bytes under several such URLs.
    public var sameBytes: Int
    /// The parameters that differ, as the setting `volatile-query` takes them.
    public var parameters: [String]

    package init(host: String, contacts: Int, sameBytes: Int, parameters: [String]) {
        (self.host, self.contacts) = (host, contacts)
        (self.sameBytes, self.parameters) = (sameBytes, parameters)
    }

    /// The value of the setting `volatile-query` that keeps the images from then on.
    public var setting: String { "\(host) \(parameters.joined(separator: ","))" }
}
