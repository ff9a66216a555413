import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// The printed summary of a sync, or of the plan of a sync with `--dry-run`.
struct SyncSummary {
    /// The counts. In a dry run, images to fetch and to revalidate count as skipped.
    private var report: SyncReport
    /// The images that would be fetched and revalidated; `nil` after a real sync.
    private var planned: (toFetch: Int, toRevalidate: Int)?

    /// Whether the sync could reach private addresses, so that advising it would be useless.
    private var allowsPrivateNetwork = false
    /// Whether the sync ignored the pauses of hosts, so that advising it would be useless.
    private var ignoresPauses = false
    /// The run of the command of `--on-change`; `nil` if it was not run.
    private var hook: HookRun?

    /// The summary of a sync that has ended.
    init(
        _ report: SyncReport,
        hook: HookRun? = nil,
        allowsPrivateNetwork: Bool = false,
        ignoresPauses: Bool = false
    ) {
        (self.report, self.hook) = (report, hook)
        (self.allowsPrivateNetwork, self.ignoresPauses) = (allowsPrivateNetwork, ignoresPauses)
    }

    /// The summary of a dry run. Images to request count as skipped, so that the counts still add up to `wanted`.
    init(_ preview: SyncPreview, allowsPrivateNetwork: Bool) {
        self.allowsPrivateNetwork = allowsPrivateNetwork
        report = preview.asReport
        planned = (preview.toFetch, preview.toRevalidate)
    }

    /// The exit code of the sync. A dry run sends no request, so only its lists and keys can be at fault.
    ///
    /// - Parameter tolerance: the share of failures for which the code is 0, from 0 to 1.
    func exitCode(tolerating tolerance: Double) -> ExitCode {
        let failures = report.sources.compactMap(\.failure)
        if failures.contains(where: { $0.code == .unreadableList }) { return .couldNotRun }
        if !failures.isEmpty { return .unreached }
        let code: ExitCode =
            if planned == nil { report.outcome.exitCode } else {
                report.failed > 0 || report.unreadable > 0 ? .someFailed : .success
            }
        if code == .success, planned != nil, report.keptLeavers > 0 { return .someFailed }
        if code == .success, hook?.hasSucceeded == false { return .someFailed }
        let isTolerable =
            code == .someFailed && report.keptLeavers == 0 && failedShare <= tolerance && hook?.hasSucceeded != false
        return isTolerable ? .success : code
    }

    /// The share of the images and records that failed, or were not requested because the network was missing, from 0 to 1.
    private var failedShare: Double {
        let all = report.wanted + report.unreadable
        guard all > 0 else { return 0 }
        return Double(report.failed + report.unreadable + report.skippedBy.offline) / Double(all)
    }

    /// Whether `--prune` was given and unlinked no contact, because the lists were not read in full or name no contact.
    var hasKeptLeavers: Bool { report.hasKeptLeavers }

    /// A sentence about contacts that pruning did not unlink because they are too many; `nil` if there are none.
    var tooManyLeavers: String? {
        guard report.keptLeavers > 0 else { return nil }
        let count = Wording.count(report.keptLeavers, "contact")
        let verb = planned == nil ? "unlinked" : "would unlink"
        return
            "The sync \(verb) nothing: \(count) that a list or an address book named before, more than half, are gone from it. "
            + "Check it, and pass --prune-all to unlink the contacts."
    }

    // MARK: JSON

    /// The fields as `--json` prints them.
    var json: JSON {
        var fields = report.counts.mapValues { JSON($0) }
        fields["skippedBy"] = report.skippedBy.json
        fields["pausedHosts"] = report.skippedBy.pausedHostsJSON
        fields["slowedHosts"] = slowedHostsJSON
        fields["hosts"] = .array(report.details.hosts.map(Self.json))
        fields["sources"] = .array(report.sources.map(Self.json))
        fields["hook"] = hook?.json ?? .null
        fields["seconds"] = JSON(report.duration)
        fields["failures"] = .array(report.failures.prefix(Self.failuresInJSON).map(Self.json))
        fields["failureGroups"] = .array(report.details.failureGroups.map(Self.json))
        fields["changingQueries"] = .array(report.details.changingQueries.map(Self.json))
        fields["queryClashes"] = .array(report.details.queryClashes.map(Self.json))
        fields["hints"] = JSON(hints)
        if let planned {
            fields["toFetch"] = JSON(planned.toFetch)
            fields["toRevalidate"] = JSON(planned.toRevalidate)
        }
        return .object(fields)
    }

    private static func json(_ source: SyncReport.Source) -> JSON {
        .object([
            "source": JSON(source.name),
            "kind": JSON(source.kind.rawValue),
            "cards": JSON(source.cards),
            "changed": JSON(source.changed),
            "removed": JSON(source.removed),
            "erased": JSON(source.erased),
            "unreadable": JSON(source.unreadable),
            "full": JSON(source.isFull),
            "requests": JSON(source.requests),
            "failure": JSON(source.failure?.message),
        ])
    }

    private static func json(_ query: ChangingQuery) -> JSON {
        .object([
            "host": JSON(query.host), "contacts": JSON(query.contacts), "sameBytes": JSON(query.sameBytes),
            "parameters": .array(query.parameters.map { JSON($0) }), "volatileQuery": JSON(query.setting),
        ])
    }

    private static func json(_ clash: QueryClash) -> JSON {
        .object([
            "host": JSON(clash.host), "contacts": JSON(clash.contacts),
            "examples": .array(clash.examples.map { JSON($0) }),
        ])
    }

    /// The most elements of the field `failures`. `failureGroups` has all failures.
    private static let failuresInJSON = 50

    /// The advice about failures and waiting images, as the text has it beside them.
    private var hints: [String] {
        var hints: [String] = []
        if !allowsPrivateNetwork, report.details.failureGroups.contains(where: { $0.kind == .forbiddenAddress }) {
            hints.append(AvatarStoreError.privateNetworkAdvice)
        }
        if let advice = report.skippedBy.pauseAdvice(ignoresPauses: ignoresPauses) {
            hints.append("Paused hosts: \(advice).")
        }
        if report.overBudget > 0 { hints.append(budgetWarning) }
        return hints + changingURLs + clashingURLs
    }

    /// A sentence about each host whose URLs change with each list.
    var changingURLs: [String] {
        report.details.changingQueries.map { query in
            let contacts = Wording.count(query.contacts, "contact")
            let bytes = query.sameBytes > 0 ? ", and the bytes are the same" : ""
            return """
                \(query.host): the URLs of \(contacts) differ from the stored ones in nothing but their query\(bytes). If it does \
                not tell images apart, keep them with `avatars config volatile-query "\(query.setting)"`.
                """
        }
    }

    /// A sentence about each host of which some URLs keep their volatile parameters.
    private var clashingURLs: [String] {
        report.details.queryClashes.map { clash in
            let examples = clash.examples.map { "\"\($0.prefix(80))\"" }.joined(separator: ", ")
            return """
                \(clash.host): `volatile-query` does not apply to \(Wording.count(clash.contacts, "contact")) (\(examples)\
                \(clash.contacts > clash.examples.count ? ", …" : "")), because another contact has the same URL without these \
                parameters.
                """
        }
    }

    /// The hosts that asked for fewer requests, in the order of their names.
    private var slowedHosts: [(name: String, host: SyncDetails.SlowedHost)] {
        report.details.slowedHosts.map { ($0.key, $0.value) }.sorted { $0.name < $1.name }
    }

    /// The field `slowedHosts`.
    private var slowedHostsJSON: JSON {
        .array(
            slowedHosts.map { name, host in
                .object([
                    "host": JSON(name), "seconds": JSON(host.waited), "refused": JSON(host.refused),
                ])
            }
        )
    }

    /// An element of the field `hosts`.
    private static func json(_ host: SyncDetails.Host) -> JSON {
        .object([
            "host": JSON(host.name), "requests": JSON(host.requests), "mostAtOnce": JSON(host.mostAtOnce),
            "connections": JSON(host.connections), "protocol": JSON(host.isMultiplexed ? "HTTP/2" : "HTTP/1.1"),
        ])
    }

    /// An element of the field `failures`.
    private static func json(_ failure: SyncReport.Failure) -> JSON {
        .object([
            "key": JSON(failure.key), "kind": JSON(failure.kind.rawValue), "message": JSON(failure.message),
            "contact": JSON(failure.contact), "list": JSON(failure.list), "line": JSON(failure.line),
            "record": JSON(failure.record),
        ])
    }

    /// An element of the field `failureGroups`.
    private static func json(_ group: FailureGroup) -> JSON {
        .object([
            "host": JSON(group.host), "kind": JSON(group.kind.rawValue), "count": JSON(group.count),
            "message": JSON(group.message),
        ])
    }

    // MARK: Text

    /// The summary as a table, without the counts that are zero.
    var text: TerminalText {
        var facts = Facts()
        addContacts(to: &facts)
        facts.add("images", "\(report.wanted)")
        facts.add("  fetched", "\(report.fetched)\(changes), \(traffic)", ifAny: report.fetched, colour: .green)
        if let planned {
            facts.add("  to fetch", "\(planned.toFetch)")
            facts.add("  to revalidate", "\(planned.toRevalidate)")
        }
        facts.add("  not modified", "\(report.notModified)", ifAny: report.notModified, colour: .green)
        facts.add("  of them shared", "\(report.shared)", ifAny: report.shared, colour: .green)
        facts.add("  fresh", "\(report.fresh)", ifAny: report.fresh, colour: .green)
        facts.add("  of them ignored", "\(report.ignored)", ifAny: report.ignored)
        addWaiting(to: &facts)
        addSlowed(to: &facts)
        facts.add("  over budget", "\(report.overBudget)", ifAny: report.overBudget, colour: .magenta)
        facts.add("  failed", "\(report.failed)", ifAny: report.failed, colour: .red)
        facts.add("evicted", Wording.count(report.evicted, "file"), ifAny: report.evicted)
        if let hook { facts.add("on change", hook.summary, colour: hook.hasSucceeded ? .green : .red) }
        if planned == nil { facts.add("took", Wording.number(report.duration / .seconds(1), digits: 1) + " s") }
        return facts.text
    }

    /// Adds the images that wait for a later sync: JSON calls them `skipped`, without the planned ones.
    private func addWaiting(to facts: inout Facts) {
        let waiting = report.skipped - (planned.map { $0.toFetch + $0.toRevalidate } ?? 0)
        guard waiting > 0 else { return }
        for (number, line) in report.skippedBy.waitingLines(ignoresPauses: ignoresPauses).enumerated() {
            facts.add(number == 0 ? "  waiting" : "", number == 0 ? "\(waiting): \(line)" : line, colour: .magenta)
        }
    }

    /// The most slowed hosts that the summary names.
    private static let slowedForPeople = 3

    /// Adds the hosts that asked for fewer requests: the reason why a sync took longer.
    private func addSlowed(to facts: inout Facts) {
        for (number, slowed) in slowedHosts.prefix(Self.slowedForPeople).enumerated() {
            let waited = Wording.number(slowed.host.waited / .seconds(1), digits: 1) + " s"
            let refused = Wording.count(slowed.host.refused, "request")
            let line = "\(slowed.name) refused \(refused); the sync waited \(waited) for it"
            facts.add(number == 0 ? "slowed" : "", line)
        }
        let rest = slowedHosts.count - Self.slowedForPeople
        if rest > 0 { facts.add("", "… and \(Wording.count(rest, "more host"))") }
    }

    /// Adds the counts of contacts and records; nothing without a list and an address book. One that is empty may have unlinked
    /// contacts.
    private func addContacts(to facts: inout Facts) {
        let counts = report.contacts + report.unreadable + report.unlinked + report.removed
        guard counts > 0 || !report.sources.isEmpty else { return }
        let remarks = [(report.withoutImage, "without an image"), (report.unreadable, "unreadable")]
            .filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }
        facts.add("contacts", "\(report.contacts)" + remarks.joined())
        let read = report.sources.reduce(into: (cards: 0, changed: 0, removed: 0)) { sum, source in
            sum = (sum.cards + source.cards, sum.changed + source.changed, sum.removed + source.removed)
        }
        if !report.sources.isEmpty {
            let erased = report.sources.reduce(0) { $0 + $1.erased }
            let note = erased > 0 ? ", \(erased) of erased contacts left out (--full reads them)" : ""
            facts.add("cards", "\(read.cards), \(read.changed) read, \(read.removed) gone\(note)")
        }
        facts.add("duplicates", Wording.count(report.duplicates, "record"), ifAny: report.duplicates)
        facts.add("saved", Wording.count(report.saved, "photo"), ifAny: report.saved)
        facts.add("unlinked", Wording.count(report.unlinked, "contact"), ifAny: report.unlinked)
        let unused = Wording.count(report.removed, "image") + " without a contact (keep-unowned is false)"
        facts.add("removed", unused, ifAny: report.removed)
    }

    /// How many of the fetched images changed and how many were not stored, as in `, 3 changed, 1 not stored`.
    private var changes: String {
        [(report.changed, "changed"), (report.unstored, "not stored")].filter { $0.0 > 0 }
            .map { ", \($0.0) \($0.1)" }.joined()
    }

    /// The bytes received and the requests sent, as in `1.2 MB in 40 requests`.
    private var traffic: String {
        "\(Wording.size(report.bytesReceived)) in \(Wording.count(report.requests, "request"))"
    }

    // MARK: Standard error

    /// The most failures that `reportFailures` names.
    private static let namedFailures = 10

    /// The most groups that `reportFailures` names.
    private static let namedGroups = 5

    /// Prints an error for each of the first failures, and one with the groups if there are more. Refused addresses share one
    /// error, because one option allows them all.
    func reportFailures() {
        let refused = report.failures.filter { $0.kind == .forbiddenAddress }
        for failure in report.failures.lazy.filter({ $0.kind != .forbiddenAddress }).prefix(Self.namedFailures) {
            Message.error(Self.sentence(failure))
        }
        let groups = report.details.failureGroups.filter { $0.kind != .forbiddenAddress }
        let rest = groups.reduce(0) { $0 + $1.count } - Self.namedFailures
        if rest > 0 {
            let named = groups.prefix(Self.namedGroups).map { group in
                "\(group.count) \(group.kind)\(group.host.map { " at \($0)" } ?? "")"
            }
            let others = groups.count - named.count
            let more = others > 0 ? " and \(Wording.count(others, "other group")); --json names all" : ""
            Message.error("… and \(rest) more. In all: \(named.joined(separator: ", "))\(more).")
        }
        guard let first = refused.first else { return }
        let refusedCount = report.details.failureGroups.filter { $0.kind == .forbiddenAddress }.reduce(0) {
            $0 + $1.count
        }
        let advice = allowsPrivateNetwork ? "" : " " + AvatarStoreError.privateNetworkAdvice
        let many = "\(first.kind): \(refusedCount) images, the first: \(first.message)"
        Message.error((refusedCount > 1 ? many : Self.sentence(first)) + advice)
    }

    /// The error for one failure: its kind, its contact and its record if they are known, and its message.
    private static func sentence(_ failure: SyncReport.Failure) -> String {
        let contact = failure.contact.map { "contact \($0)" }
        // Messages about a record begin with its place.
        let isOfURL = failure.kind == .unsupportedURL || failure.host != nil
        let line = failure.line.map { ListPlace(list: failure.list, line: $0, record: failure.record).description }
        let place = isOfURL ? line ?? failure.list : nil
        let origin = [contact, place].compactMap(\.self).joined(separator: ", ")
        return "\(failure.kind)\(origin.isEmpty ? "" : " (\(origin))"): \(failure.message)"
    }

    /// Prints errors about address books that could not be read and the command of `--on-change`, and warnings: contacts with
    /// several records, images for which the budget had no room, and volatile parameters that are kept.
    func reportProblems() {
        for failure in report.sources.compactMap(\.failure) { Message.error(failure.messageWithAdvice) }
        if let failure = hook?.failureSentence { Message.error(failure) }
        if report.duplicates > 0 { Message.warning(duplicateWarning) }
        if report.overBudget > 0 { Message.warning(budgetWarning) }
        for sentence in clashingURLs { Message.warning(sentence) }
    }

    /// The warning that the budget is too small.
    private var budgetWarning: String {
        let images = Wording.count(report.overBudget, "image")
        return "The budget has no room for \(images). `avatars config budget` shows and sets it."
    }

    /// The warning that names contacts with several records and where these are.
    private var duplicateWarning: String {
        let contacts = report.details.duplicateContacts.map { duplicate in
            // In a list of URLs a contact's id is its URL.
            let isURL = duplicate.contact.contains("://")
            let id = "\"\((isURL ? AvatarKey.redact(duplicate.contact) : duplicate.contact).prefix(80))\""
            guard !duplicate.places.isEmpty else { return id }
            return "\(id) (\(duplicate.places.map(\.description).joined(separator: ", ")))"
        }
        let isCut = report.details.duplicateContacts.count == SyncDetails.largestDuplicateCount
        return """
            Contacts with more than one record: \(contacts.joined(separator: ", "))\(isCut ? " and perhaps others" : ""). The last \
            record of each wins; \(Wording.count(report.duplicates, "other record")) \
            \(report.duplicates == 1 ? "was" : "were") ignored.
            """
    }
}

extension Facts {
    /// Adds a line, unless `count` is 0.
    fileprivate mutating func add(_ name: String, _ value: String, ifAny count: Int, colour: Colour? = nil) {
        if count > 0 { add(name, value, colour: colour) }
    }
}
