import AvatarFoundation
import AvatarStore
import NIOCore

/// The limits of a server and of each of its connections.
struct ServerLimits: Sendable {
    /// The number of connections at once. Further ones wait in the system's queue, until connections that wait for a request are
    /// closed.
    var connections = 1000
    /// The number of connections at once from one client (`OpenConnections.client(at:)`); 0 for any number.
    var connectionsPerClient = 64
    /// The time for which a connection may wait for a request if the others leave no room for a new one.
    var leastWait = TimeAmount.seconds(1)
    /// The bytes of a request's target and fields.
    var headerBytes = 16 << 10
    /// The fields of a request.
    var headerFields = 100
    /// The bytes of a request's content, which is dropped.
    var contentBytes = 1 << 20
    /// The time for a request to arrive, from the connection or the response before it.
    var headTime = TimeAmount.seconds(10)
    /// The time in which a client must take bytes that wait for it.
    var sendTime = TimeAmount.seconds(20)
    /// The time for responses under way after a shutdown has begun.
    var shutdownTime = Duration.milliseconds(3500)

    /// The number of connections that may have events without an end, so that others are served beside them.
    var eventStreams: Int { max(1, connections / 2) }

    /// The descriptors that the program needs beside those of connections: for the index, the store and a sync.
    private static let reserve = 256

    /// Raises the limit on open files as far as the connections need it: each has a socket and a file. If the system does
    /// not allow that, fewer connections are taken.
    ///
    /// - Returns: a warning, if fewer are taken.
    mutating func fitDescriptors() -> String? {
        var limit = rlimit()
        let needed = rlim_t(2 * connections + Self.reserve)
        guard Self.get(&limit), limit.rlim_cur < needed else { return nil }
        limit.rlim_cur = min(needed, limit.rlim_max)
        _ = Self.set(limit)
        guard Self.get(&limit), limit.rlim_cur < needed else { return nil }
        connections = max(8, (Int(limit.rlim_cur) - Self.reserve) / 2)
        return
            "The limit of \(limit.rlim_cur) open files allows \(connections) connections at once. Raise it to \(needed) with "
            + "`ulimit -n \(needed)`, or LimitNOFILE= in a systemd unit."
    }

    private static func get(_ limit: inout rlimit) -> Bool {
        #if canImport(Glibc)
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        #else
        getrlimit(RLIMIT_NOFILE, &limit) == 0
        #endif
    }

    private static func set(_ limit: rlimit) -> Bool {
        withUnsafePointer(to: limit) { limit in
            #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), limit) == 0
            #else
            setrlimit(RLIMIT_NOFILE, limit) == 0
            #endif
        }
    }
}
