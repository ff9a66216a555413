import AvatarStore

extension Demonstration {
    func readTheIndex() throws {
        page.heading("What the index says")
        let statistics = try store.statistics()
        let states = statistics.states.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        page.text(
            """
            \(states.map { "\(Figures.count($0.value)) \($0.key)" }.joined(separator: ", ")); \
            \(Figures.bytes(statistics.cachesBytes)) of \(Figures.bytes(statistics.budgetBytes)) in use. Some of it:
            """
        )
        let rows = try ["own", "fresh", "failing", "gone", "evicted"].flatMap(oneLine)
        page.table(rows, header: ["state", "size", "person", "key"], rightAligned: [1])
        if let file = try store.details(for: AvatarKey(url: guestURL))?.overview.localFile {
            page.text("\(guest.name)'s picture is the file \(file).")
        }
        page.check(
            "\(Figures.count(firstSync.wanted + 1)) entries: one for each image of the list, and our own",
            statistics.entries == firstSync.wanted + 1 && statistics.states.values.reduce(0, +) == statistics.entries,
            otherwise: "\(statistics.entries)"
        )
    }

    /// A line for the first entry in `state`, if there is one.
    private func oneLine(_ state: String) throws -> [[String]] {
        var query = AvatarListQuery()
        query.state = state
        query.limit = 1
        return try store.list(query).items.map { item in
            [item.state, item.sizeBytes.map(Figures.bytes) ?? "-", Page.cut(owners(of: item), to: 19), item.key]
        }
    }

    private func owners(of item: AvatarListItem) -> String {
        guard let first = item.owners.first else { return "-" }
        return name(ofContact: first) + (item.owners.count == 1 ? "" : " +\(item.owners.count - 1)")
    }
}
