import AvatarStore
import AvatarStoreTesting

extension Demonstration {
    func shrinkTheBudget() async throws {
        let budget = 2_000_000
        let target = 1_000_000
        page.heading("The budget shrinks")
        page.text(
            """
            What came from an origin can come again: the least recently used goes first, down to 90 % of the budget. \
            A document stays until it is removed.
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
            "both limits are kept, on disk too, and no entry is forgotten",
            lowered.bytes <= budget / 10 * 9 && small.bytes <= target
                && [full, lowered, small].allSatisfy { $0.onDisk == $0.bytes && $0.entries == full.entries },
            otherwise: "\(lowered.onDisk) and \(small.onDisk) bytes are on disk, of \(small.entries) entries"
        )
        page.check(
            "\(guest.name)'s picture, used last, is still there, and so is our document",
            try store.storedAvatar(for: guestURL) != nil && store.storedAvatar(for: key)?.bytes == logo,
            otherwise: "one of them is gone"
        )
    }

    /// The index's word on the class `caches`, and the disk's.
    private struct Usage {
        let entries: Int
        let files: Int
        let bytes: Int
        let onDisk: Int
        let evicted: Int
        let documents: Int
    }

    private func usage() throws -> Usage {
        let statistics = try store.statistics()
        let disk = try cachedFiles()
        return Usage(
            entries: statistics.entries,
            files: disk.files.count,
            bytes: statistics.cachesBytes,
            onDisk: disk.bytes,
            evicted: statistics.states["evicted"] ?? 0,
            documents: statistics.files - disk.files.count
        )
    }

    private func row(_ when: String, _ usage: Usage) -> [String] {
        [
            when, Figures.count(usage.files), Figures.bytes(usage.bytes), Figures.count(usage.evicted),
            "\(usage.documents)",
        ]
    }
}
