import AvatarStore

extension Demonstration {
    func syncForTheFirstTime() async throws {
        page.heading("First sync: nothing is stored yet")
        page.text("Each image is fetched once; what cannot be had is reported and delays nobody.")
        let progress = page.progressLine()
        progress.begin(total)
        firstSync = try await sync { progress.show($0) }
        progress.end()
        let files = try cachedFiles()
        describe(firstSync, files)
        tabulate(firstSync.failures)
        checkFirstSync()
    }

    private func describe(_ report: SyncReport, _ files: FolderSnapshot) {
        page.text(
            """
            \(Figures.count(report.withoutImage)) people have no picture; the others name \
            \(Figures.count(report.wanted)) different images. \(Figures.count(report.fetched)) came in \
            \(Figures.seconds(report.seconds)) (\(Figures.bytes(files.bytes)) in \
            \(Figures.count(files.files.count, "file")), equal bytes once), \
            \(Figures.count(report.failed)) could not be had:
            """
        )
    }

    /// A row for each kind, with the failure that takes the fewest words.
    private func tabulate(_ failures: [SyncReport.Failure]) {
        let kinds = Dictionary(grouping: failures, by: \.kind).sorted {
            ($1.value.count, $0.key.rawValue) < ($0.value.count, $1.key.rawValue)
        }
        let rows = kinds.map { kind, failures in
            let shortest = failures.min { sentence($0).count < sentence($1).count }
            return [
                kind.rawValue, Figures.count(failures.count), shortest.map(person) ?? "",
                shortest.map(sentence) ?? "",
            ]
        }
        page.table(rows, header: ["kind", "#", "for example", ""], rightAligned: [1])
    }

    private func person(_ failure: SyncReport.Failure) -> String {
        people.first { origins.url(of: $0) == failure.key }?.name ?? ""
    }

    /// The gist of the message: without the URL at its beginning, and the particulars at its end.
    private func sentence(_ failure: SyncReport.Failure) -> String {
        let words = failure.message.drop { $0 != " " }.dropFirst().prefix { !",:".contains($0) }
        return String(words.hasSuffix(".") ? words.dropLast() : words)
    }

    private func checkFirstSync() {
        let urls = Set(people.compactMap { origins.url(of: $0) })
        let redirects = people.filter { $0.picture == .moved }.count
        page.check(
            "\(Figures.count(urls.count + redirects)) requests: one for each image and each of \(redirects) redirects",
            origins.requestCount == urls.count + redirects,
            otherwise: "\(origins.requestCount)"
        )
        let expected = people.compactMap(\.picture.failure).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let actual = firstSync.failures.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
        page.check(
            "what had to fail did, each for its own reason, and nothing else",
            actual == expected && firstSync.fetched == urls.count - firstSync.failed,
            otherwise: "\(actual) instead of \(expected)"
        )
    }
}
