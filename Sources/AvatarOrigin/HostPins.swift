import AvatarOriginRules

/// The addresses that libcurl was told for hosts. It keeps them until it is told others.
struct HostPins {
    /// The maximum number of hosts that libcurl keeps.
    private static let mostHosts = 4_096

    private var known: [String: Hop.Pin] = [:]

    /// The entries of CURLOPT_RESOLVE for those of `pins` that libcurl does not know, each with a zero byte at its end.
    mutating func missing(_ pins: [Hop.Pin]) -> [UInt8] {
        var entries: [UInt8] = []
        for pin in pins where known[pin.host] != pin {
            if known.count >= Self.mostHosts {
                for host in known.keys { add("-\(host)", to: &entries) }
                known = [:]
            }
            add(pin.entry, to: &entries)
            known[pin.host] = pin
        }
        return entries
    }

    /// Forgets `pins`, because the request that was to tell them did not begin.
    mutating func forget(_ pins: [Hop.Pin]) {
        for pin in pins { known[pin.host] = nil }
    }

    private func add(_ entry: String, to entries: inout [UInt8]) {
        entries += entry.utf8
        entries.append(0)
    }
}
