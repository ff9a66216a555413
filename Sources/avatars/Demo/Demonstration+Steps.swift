import AvatarLoopback
import AvatarMaintenance
import AvatarStore

/// The steps, in the order in which they run.
extension Demonstration {
    // MARK: First sync

    /// Fills the empty store, and checks the counts of images and failures.
    func showFirstSync() async throws {
        page.heading("First sync: the store is empty")
        page.text("Each image is fetched once. A failed image does not delay the others.")
        let progress = page.progressLine()
        progress.begin(total)
        firstSync = try await sync { progress.show($0) }
        progress.end()
        let files = try cachedFiles()
        describe(firstSync, files)
        tabulate(firstSync.failures)
        checkFirstSync()
    }

    /// Prints the numbers of the first sync.
    private func describe(_ report: SyncReport, _ files: FolderSnapshot) {
        page.text(
            """
            \(Figures.count(report.withoutImage)) contacts have no image; the others name \
            \(Figures.count(report.wanted)) different images. \(Figures.count(report.fetched)) arrived in \
            \(Figures.time(report.duration)) (\(Figures.bytes(files.bytes)) in \
            \(Figures.count(files.files.count, "file")); equal images share a file), \
            \(Figures.count(report.failed)) failed:
            """
        )
    }

    /// One row for each kind of failure, with its shortest message as the example.
    private func tabulate(_ failures: [SyncReport.Failure]) {
        let kinds = Dictionary(grouping: failures, by: \.kind).sorted {
            ($1.value.count, $0.key.rawValue) < ($0.value.count, $1.key.rawValue)
        }
        let rows = kinds.map { kind, failures in
            let shortest = failures.min { gist(of: $0).count < gist(of: $1).count }
            return [
                kind.rawValue, Figures.count(failures.count), shortest.map(contactName) ?? "",
                shortest.map(gist) ?? "",
            ]
        }
        page.table(rows, header: ["kind", "#", "for example", ""], rightAligned: [1])
    }

    /// The name of the contact whose image failed; empty if no contact has the URL.
    private func contactName(of failure: SyncReport.Failure) -> String {
        contacts.first { origins.url(of: $0) == failure.key }?.name ?? ""
    }

    /// The message without the URL at its beginning and the details at its end.
    private func gist(of failure: SyncReport.Failure) -> String {
        let words = failure.message.drop { $0 != " " }.dropFirst().prefix { !",:".contains($0) }
        return String(words.hasSuffix(".") ? words.dropLast() : words)
    }

    /// Compares the report of the first sync with the images in the list.
    private func checkFirstSync() {
        let urls = Set(contacts.compactMap { origins.url(of: $0) })
        let redirects = contacts.filter { $0.image == .moved }.count
        page.check(
            "\(Figures.count(urls.count + redirects)) requests: one for each image and each of \(redirects) redirects",
            origins.requestCount == urls.count + redirects,
            otherwise: "\(origins.requestCount)"
        )
        let expected = contacts.compactMap(\.image.failure).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        let actual = firstSync.failures.reduce(into: [:]) { $0[$1.kind, default: 0] += 1 }
        page.check(
            "exactly the broken images failed, each with the right kind of failure",
            actual == expected && firstSync.fetched == urls.count - firstSync.failed,
            otherwise: "\(actual) instead of \(expected)"
        )
    }

    // MARK: Later syncs

    /// Syncs again at once, and checks that no request is sent.
    func showSecondSync() async throws {
        page.heading("The same sync again")
        page.text("Stored images are still fresh; failed ones wait for their next check.")
        let report = try await sync()
        let requests = origins.requestCount
        page.check(
            """
            the origins saw 0 requests: \(Figures.count(firstSync.fetched)) fresh, \
            \(Figures.count(firstSync.failed)) waiting, in \(Figures.time(report.duration))
            """,
            requests == 0 && report.fresh == firstSync.fetched && report.skipped == firstSync.failed,
            otherwise: "\(requests) requests, \(report.fresh) fresh, \(report.skipped) waiting"
        )
    }

    /// Revalidates all images, and checks that no image is sent and no file written.
    func showRevalidation() async throws {
        page.heading("sync --all: has anything changed?")
        page.text("Fresh images are revalidated too, by their ETag or Last-Modified.")
        let before = try cachedFiles()
        let report = try await sync(includingFresh: true)
        let after = try cachedFiles()
        page.check(
            """
            \(Figures.count(firstSync.fetched)) times 304 in \(Figures.time(report.duration)); \
            the origins sent 0 bytes of images
            """,
            report.notModified == firstSync.fetched && origins.bytesSent == 0,
            otherwise: "\(report.notModified) times, \(origins.bytesSent) bytes"
        )
        page.check(
            "no file was written: \(Figures.count(before.files.count, "name")) in caches/, sizes and times as before",
            after == before,
            otherwise: "\(after.files.count) names, or other sizes or times"
        )
    }

    /// Replaces one image at its URL, and checks when the store serves the new one.
    func showChangedImage() async throws {
        page.heading("\(guest.name) has a new image")
        page.text("The URL is the same. The store serves the old image until it revalidates.")
        let old = try StoredImage(guestURL, in: store)
        origins.replaceImage(of: guest)
        _ = try await sync()
        let meanwhile = try StoredImage(guestURL, in: store)
        let report = try await sync(includingFresh: true)
        let new = try StoredImage(guestURL, in: store)
        page.table(
            [row("before", old), row("after a sync", meanwhile), row("after sync --all", new)],
            rightAligned: [1]
        )
        page.check(
            "1 image changed, \(Figures.count(firstSync.fetched - 1)) did not",
            meanwhile == old && new != old && report.changed == 1 && report.notModified == firstSync.fetched - 1,
            otherwise: "\(report.changed) and \(report.notModified), or in the wrong sync"
        )
    }

    /// The row of a table for an image at one time.
    private func row(_ when: String, _ image: StoredImage) -> [String] {
        [when, Figures.count(image.bytes.count, "byte"), "sha256 \(image.sha256.prefix(16))…"]
    }

    // MARK: Outage

    /// Stops all origins, then reads and syncs.
    func showOutage() async throws {
        page.heading("All origins are down")
        page.text("From here on every connection is refused. Stored images need no connection.")
        let stored = try StoredImage(guestURL, in: store)
        let before = try cachedFiles()
        try await origins.stop()
        try await readDuringOutage(stored)
        try await syncDuringOutage(before)
    }

    /// Reads the guest's image with the default policy, then with `reload`, and checks that both give the stored
    /// bytes.
    private func readDuringOutage(_ stored: StoredImage) async throws {
        let read = try await store.avatar(for: guestURL)
        page.check(
            "\(guest.name)'s image is served, the same \(Figures.count(stored.bytes.count)) bytes",
            read.bytes == stored.bytes,
            otherwise: "\(read.bytes.count) bytes, or different ones"
        )
        let reloaded = try await store.avatar(for: guestURL, options: FetchOptions(policy: .reload))
        page.check(
            "a forced reload serves it too, marked as stale (unreachable)",
            reloaded.bytes == stored.bytes && reloaded.isStale && reloaded.failure == .unreachable,
            otherwise: "\(reloaded.bytes.count) bytes, \(reloaded.failure?.rawValue ?? "no failure")"
        )
    }

    /// Tries 25 images, and checks that each failure is `unreachable` and every file is as before.
    private func syncDuringOutage(_ before: FolderSnapshot) async throws {
        let attempts = 25
        let report = try await sync(includingFresh: true, limit: attempts)
        let message = report.failures.first?.message ?? "none"
        page.text("sync --all --limit \(attempts) reports \(report.failed) failures, such as: \(message)")
        let after = try cachedFiles()
        // A host is paused after five failures in a row, so not every attempt becomes a request.
        let areExpected = report.failed > 0 && report.failures.allSatisfy { $0.kind == .unreachable }
        page.check(
            "nothing is lost: the \(Figures.count(before.files.count, "file")) are unchanged",
            after == before && areExpected,
            otherwise: "\(after.files.count) files, or changed ones; \(report.failed) of \(attempts) attempts failed"
        )
    }

    // MARK: Budget

    /// Lowers the budget, and compares the size by the index with the size on disk.
    func showShrinkingBudget() async throws {
        let budget = 2_000_000
        let target = 1_000_000
        page.heading("The budget shrinks")
        page.text(
            """
            Fetched images are evicted, least recently used first, down to 90 % of the budget. \
            Documents stay until they are removed.
            """
        )
        let logo = SampleImage.identicon(for: Self.documentName, side: 200)
        let key = try await store.save(logo, named: Self.documentName)
        let full = try usage()
        try await store.set(.budget, to: Int64(budget))
        let lowered = try usage()
        try await store.trim(to: target)
        let small = try usage()
        page.table(
            [row("before", full), row("config budget 2MB", lowered), row("trim --budget 1MB", small)],
            header: ["", "files", "bytes", "evicted", "documents"],
            rightAligned: [1, 2, 3, 4]
        )
        page.check(
            "the store keeps both limits, on disk too, and forgets no entry",
            lowered.bytes <= budget / 10 * 9 && small.bytes <= target
                && [full, lowered, small].allSatisfy { $0.onDisk == $0.bytes && $0.entries == full.entries },
            otherwise: "\(lowered.onDisk) and \(small.onDisk) bytes are on disk, of \(small.entries) entries"
        )
        page.check(
            "\(guest.name)'s image, used last, is still stored, and so is our document",
            try store.storedAvatar(for: guestURL) != nil && store.storedAvatar(for: key)?.bytes == logo,
            otherwise: "one of them is gone"
        )
    }

    /// The size of the storage class `caches` according to the index, and according to the disk.
    private struct Usage {
        /// All entries of the index, evicted ones included.
        let entries: Int
        /// Files in `caches` according to the disk.
        let files: Int
        /// Bytes according to the index.
        let bytes: Int
        /// Bytes according to the disk.
        let onDisk: Int
        /// Entries whose file was evicted.
        let evicted: Int
        /// Files in `documents`: all files of the index without those of `caches` on disk.
        let documents: Int
    }

    /// Measures the index and the disk now.
    private func usage() throws -> Usage {
        let statistics = try store.statistics()
        let disk = try cachedFiles()
        return Usage(
            entries: statistics.entries,
            files: disk.files.count,
            bytes: statistics.cachesBytes,
            onDisk: disk.bytes,
            evicted: statistics.states[.evicted] ?? 0,
            documents: statistics.files - disk.files.count
        )
    }

    /// The row of a table for the sizes at one time.
    private func row(_ when: String, _ usage: Usage) -> [String] {
        [
            when, Figures.count(usage.files), Figures.bytes(usage.bytes), Figures.count(usage.evicted),
            "\(usage.documents)",
        ]
    }

    // MARK: Index

    /// Prints one entry in each state.
    func showIndex() throws {
        page.heading("The index")
        let statistics = try store.statistics()
        let states = statistics.states.sorted { ($1.value, $0.key.rawValue) < ($0.value, $1.key.rawValue) }
        page.text(
            """
            \(states.map { "\(Figures.count($0.value)) \($0.key.rawValue)" }.joined(separator: ", ")); \
            \(Figures.bytes(statistics.cachesBytes)) of \(Figures.bytes(statistics.budgetBytes)) in use. Some entries:
            """
        )
        let rows = try [AvatarState.own, .fresh, .failing, .gone, .evicted].flatMap(firstRow)
        page.table(rows, header: ["state", "size", "contact", "key"], rightAligned: [1])
        if let file = try store.details(for: AvatarKey(url: guestURL))?.overview.localFile {
            page.text("\(guest.name)'s image is the file \(file).")
        }
        page.check(
            "\(Figures.count(firstSync.wanted + 1)) entries: one for each image of the list, and our own",
            statistics.entries == firstSync.wanted + 1 && statistics.states.values.reduce(0, +) == statistics.entries,
            otherwise: "\(statistics.entries)"
        )
    }

    /// The row of the first entry in `state`; empty if no entry is in it.
    private func firstRow(inState state: AvatarState) throws -> [[String]] {
        var query = AvatarListQuery()
        query.state = state
        query.limit = 1
        return try store.list(query).items.map { item in
            [
                item.state.rawValue, item.sizeBytes.map(Figures.bytes) ?? "-",
                DemoPage.cut(contactNames(of: item), to: 19),
                item.key.rawValue,
            ]
        }
    }

    /// The names of the contacts that use the image.
    private func contactNames(of item: AvatarListItem) -> String {
        guard let first = item.contacts.first else { return "-" }
        return name(ofContact: first) + (item.contacts.count == 1 ? "" : " +\(item.contacts.count - 1)")
    }
}
