import AvatarStore

extension Demonstration {
    func goOffline() async throws {
        page.heading("All origins are down")
        page.text("Connections are refused from here on. Reading what is stored needs none.")
        let stored = try StoredPicture(guestURL, in: store)
        let before = try cachedFiles()
        try await origins.stop()
        try await readInVain(stored)
        try await syncInVain(before)
    }

    private func readInVain(_ stored: StoredPicture) async throws {
        let read = try await store.avatar(for: guestURL)
        page.check(
            "\(guest.name)'s picture comes out, the same \(Figures.count(stored.bytes.count)) bytes",
            read.bytes == stored.bytes,
            otherwise: "\(read.bytes.count) bytes, or others"
        )
        let reloaded = try await store.avatar(for: guestURL, options: FetchOptions(policy: .reload))
        page.check(
            "asked for anew it comes out all the same, marked stale (unreachable)",
            reloaded.bytes == stored.bytes && reloaded.isStale && reloaded.failure == .unreachable,
            otherwise: "\(reloaded.bytes.count) bytes, \(reloaded.failure?.rawValue ?? "no failure")"
        )
    }

    private func syncInVain(_ before: FolderSnapshot) async throws {
        let attempts = 25
        let report = try await sync(includingFresh: true, limit: attempts)
        let message = report.failures.first?.message ?? "none"
        page.text("sync --all --limit \(attempts) has \(report.failed) failures to report, such as \(message)")
        let after = try cachedFiles()
        // A host that failed five times is left alone: the rest is skipped.
        let areExpected = report.failed > 0 && report.failures.allSatisfy { $0.kind == .unreachable }
        page.check(
            "nothing is lost by that: the \(Figures.count(before.files.count, "file")) are as they were",
            after == before && areExpected,
            otherwise: "\(after.files.count) files, or others; \(report.failed) of \(attempts) attempts failed"
        )
    }
}
