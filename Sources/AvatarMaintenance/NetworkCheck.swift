import AvatarStore
import AvatarCore

#if HTTPOrigin
import AvatarOrigin
#endif

/// Checks the way to origins without a request: the route, the names of hosts, the address guard, proxies and certificates.
struct NetworkCheck {
    private let configuration: AvatarStore.Configuration
    /// The names of the hosts to look up.
    private let hosts: [String]

    init(_ configuration: AvatarStore.Configuration, hosts: [String]) {
        (self.configuration, self.hosts) = (configuration, hosts)
    }

    #if HTTPOrigin
    func findings() async -> [Diagnosis] {
        var findings = [await route(), trust]
        for host in hosts { findings.insert(await name(host), at: findings.count - 1) }
        return findings
    }

    /// Whether requests can leave the machine.
    private func route() async -> Diagnosis {
        let proxies = [configuration.http.proxies.https, configuration.http.proxies.http].compactMap(\.self)
        if let proxy = proxies.first { return await way(through: proxy) }
        guard NetworkRoute.leadsOut() else {
            return Diagnosis(
                "network",
                .warning,
                "This machine has no route to the internet.",
                "Only hosts of its own networks can be reached. Check the network, or set HTTPS_PROXY."
            )
        }
        return Diagnosis("network", .good, "This machine has a route to the internet.")
    }

    /// Whether `proxy` accepts connections.
    private func way(through proxy: ProxyServer) async -> Diagnosis {
        do {
            guard let reason = try await ConnectionTrial.failure(of: proxy.host) else {
                return Diagnosis("network", .good, "Requests go through the proxy \(proxy), which accepts connections.")
            }
            return Diagnosis(
                "network",
                .problem,
                "The proxy \(proxy) cannot be reached: \(reason).",
                "Check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY, and whether the proxy is running."
            )
        } catch {
            return Diagnosis("network", .warning, "The connection to the proxy \(proxy) was interrupted.")
        }
    }

    /// Whether `host` has addresses, and the guard allows all of them.
    private func name(_ host: String) async -> Diagnosis {
        let answer: NameLookup.Answer
        do {
            answer = try await NameLookup(.system).answer(for: HostName(name: host, port: 0).bareName)
        } catch {
            return Diagnosis("names", .warning, "The look-up of \"\(host)\" was interrupted.")
        }
        switch answer {
        case .noSuchName:
            return Diagnosis(
                "names",
                .problem,
                "The name \"\(host)\" does not exist.",
                "Check the URLs of its images, and the name servers in /etc/resolv.conf."
            )
        case .noAnswer:
            return Diagnosis(
                "names",
                .problem,
                "No name server responded to a query for \"\(host)\".",
                "Check the network, and the name servers in /etc/resolv.conf."
            )
        case .addresses(let addresses):
            let refused = addresses.filter { !configuration.http.guardPolicy.allows($0) }
            guard let first = refused.first else {
                let count = addresses.count == 1 ? "an allowed address" : "\(addresses.count) allowed addresses"
                return Diagnosis("names", .good, "\"\(host)\" has \(count).")
            }
            return Diagnosis(
                "names",
                .problem,
                "\"\(host)\" has the address \(first), which the address guard refuses.",
                "If you trust the host, use --allow-private-network, or for all later commands "
                    + "`avatars config allow-private-network true`."
            )
        }
    }

    /// Whether there are certificates for TLS.
    private var trust: Diagnosis {
        guard SystemTrust.isMissing else {
            return Diagnosis("trust", .good, "The system has certificates for TLS.")
        }
        return Diagnosis(
            "trust",
            .problem,
            "The system has no certificates for TLS, so no https request can succeed.",
            "Install them; on Debian the package is ca-certificates."
        )
    }
    #else
    func findings() async -> [Diagnosis] { [] }
    #endif
}
