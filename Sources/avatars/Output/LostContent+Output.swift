import AvatarStore

extension LostContent {
    var json: JSON {
        .object([
            "contacts": JSON(contacts),
            "settings": JSON(settings),
            "cachedImages": JSON(cachedImages),
            "documents": JSON(documents),
            "documentCount": JSON(documentCount),
        ])
    }

    /// The lost content, and how to get it back; empty if nothing is lost.
    var text: String {
        guard !isNothing else { return "" }
        var facts = Facts()
        if contacts != 0 { facts.add("contacts", "\(number(contacts)): sync your contact lists again", .red) }
        if settings != 0 { facts.add("settings", "\(number(settings)): set them again with avatars config", .red) }
        if cachedImages > 0 {
            facts.add("cached images", "\(cachedImages): the next sync fetches those that a list names", .red)
        }
        for (place, path) in documents.enumerated() {
            facts.add(place == 0 ? "documents" : "", place == 0 ? "\(documentCount), kept as \(path)" : path, .red)
        }
        if documentCount > documents.count { facts.add("", "… and \(documentCount - documents.count) more", .red) }
        return "The index was made again from the files. Not recovered:\n" + facts.text
    }

    private func number(_ count: Int?) -> String {
        count.map { "\($0)" } ?? "all, number unknown"
    }
}
