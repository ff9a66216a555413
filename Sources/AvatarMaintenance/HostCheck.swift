import AvatarProviders
import AvatarStore
package import AvatarCore
import AvatarFoundation
import AvatarIndex

/// A host that failed at its last request, or is paused.
package struct AilingHost: Sendable {
    /// Its name and port.
    package let name: String
    /// Its failures and pauses.
    let health: HostHealth
    /// The end of its pause; `nil` if it is not paused.
    package let until: Timestamp?
    /// The reason why it gets no or few requests, as the end of a sentence that begins with its name; `nil` if it gets all.
    private let reason: String?

    /// The host `name` at `now`; `nil` if it neither failed nor is paused.
    init?(_ name: String, _ health: HostHealth, at now: Timestamp) {
        (self.name, self.health, reason) = (name, health, health.reason(at: now))
        until = if case .nothing(let end) = health.admission(at: now) { end } else { nil }
        if until == nil, health.failure == nil { return nil }
    }

    /// Whether the host asked for its pause (Retry-After), so that it must not get a request.
    var mustNotBeAsked: Bool { until != nil && until == health.blockedUntil }

    /// A sentence about its restriction or its failures, and one about the last failure.
    var finding: String {
        let end = until.map { " until \($0.localText)" } ?? ""
        let kind = health.failure.map { " (\($0))" } ?? ""
        let failures = "failed \(health.failures == 1 ? "once" : "\(health.failures) times in a row")\(kind)"
        let last = health.message.map { " The last failure: \($0)" } ?? ""
        return "\(name) \(reason ?? failures)\(end).\(last)"
    }
}

extension AvatarStore {
    /// The hosts that failed at their last request, or are paused now, by name.
    package func ailingHosts() throws -> [AilingHost] {
        let now = clock.now()
        return try index.ailingHosts(at: now).sorted { $0.key < $1.key }.compactMap { name, health in
            AilingHost(name, health, at: now)
        }
    }

    /// An image of each of the first hosts that fail and may be asked, to be requested once.
    func hostTrials(limit: Int) throws -> [HostTrial] {
        let failing = try ailingHosts().filter { !$0.mustNotBeAsked && $0.health.failure != nil }
        return try failing.prefix(limit).compactMap { host in
            try index.lastFailedURL(of: host.name).map { HostTrial(host: host.name, url: $0) }
        }
    }
}

extension FailingHost {
    /// The entry of the statistics for `host`; `nil` if its last request did not fail.
    init?(_ host: AilingHost) {
        guard let kind = host.health.failure else { return nil }
        let health = host.health
        self.init(
            host: host.name,
            failures: health.failures,
            kind: kind,
            message: health.message,
            pausedUntil: host.until
        )
    }
}

/// The hosts that fail, as the index knows them.
enum HostCheck {
    /// The most hosts that are listed one by one.
    private static let mostListed = 20

    static func findings(_ hosts: [AilingHost]) -> [Diagnosis] {
        guard !hosts.isEmpty else { return [Diagnosis("hosts", .good, "No host fails or is paused.")] }
        let advice =
            "Wait, or run `avatars sync --ignore-pauses`, which still keeps a pause that the host asked for (Retry-After)."
        let listed = hosts.prefix(mostListed).map { host in
            Diagnosis("hosts", .warning, host.finding, host.until == nil ? nil : advice)
        }
        let others = hosts.count - listed.count
        guard others > 0 else { return listed }
        return listed + [
            Diagnosis(
                "hosts",
                .warning,
                "\(others) more \(others == 1 ? "host fails or is" : "hosts fail or are") paused."
            )
        ]
    }
}

/// One request to a host that failed, to see whether it responds now.
struct HostTrial: Sendable {
    /// Name and port.
    let host: String
    /// The image to request.
    let url: String

    /// The time for the request.
    private static let limit = Duration.seconds(10)

    /// The findings for `trials`, in their order. Sends all requests at once, with the client of `configuration`.
    static func findings(_ trials: [HostTrial], _ configuration: AvatarStore.Configuration) async -> [Diagnosis] {
        guard !trials.isEmpty else { return [] }
        let holder = OriginHolder(configuration)
        do {
            let client = try holder.client()
            let findings = await withTaskGroup(of: (Int, Diagnosis).self) { group in
                for (number, trial) in trials.enumerated() {
                    group.addTask { (number, await trial.finding(client)) }
                }
                return await group.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
            }
            try await holder.shutdown()
            return findings
        } catch {
            return [Diagnosis("hosts", .warning, "The hosts that fail could not be tried: \(error)")]
        }
    }

    private func finding(_ client: any OriginClient) async -> Diagnosis {
        do {
            let status = try await Deadlines.shared.run(Self.limit) {
                try await client.send(OriginRequest(url: url)) { $0.head.status }
            }
            guard let kind = FailureKind(status: status), kind.blame == .host else {
                let finding = "\(host) responds to a request now, with status \(status)."
                return Diagnosis("hosts", .good, finding, "`avatars sync --ignore-pauses` requests its images at once.")
            }
            return failing("\(host) responds with status \(status) (\(kind)).")
        } catch let error as OriginError {
            return failing(AvatarKey.redactURLs(in: error.message, keepsPaths: false))
        } catch is DeadlinePassed {
            return failing("\(host) did not respond within \(Self.limit).")
        } catch {
            return failing("\(host): the request failed (\(type(of: error))).")
        }
    }

    private func failing(_ sentence: String) -> Diagnosis {
        Diagnosis("hosts", .warning, "A request now fails too. \(sentence)")
    }
}
