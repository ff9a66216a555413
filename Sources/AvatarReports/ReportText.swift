package import AvatarCore

/// The text of reports, for logs and debuggers: one or two lines, however much went wrong.
package enum ReportText {
    /// The counts that are not 0, as in `3 fetched, 1 failed`; `nothing` if all are.
    package static func counts(_ counts: [(count: Int, noun: String)]) -> String {
        let words = counts.filter { $0.count > 0 }.map { count($0.count, $0.noun) }
        return words.isEmpty ? "nothing" : words.joined(separator: ", ")
    }

    /// A number with its noun, which is given in the plural, as in `1 file evicted` for `files evicted`.
    package static func count(_ count: Int, _ noun: String) -> String {
        guard count == 1 else { return "\(count) \(noun)" }
        return "1 " + noun.split(separator: " ").map { singulars[String($0)] ?? String($0) }.joined(separator: " ")
    }

    private static let singulars = [
        "bytes": "byte", "contacts": "contact", "documents": "document", "duplicates": "duplicate", "entries": "entry",
        "faults": "fault", "files": "file", "images": "image", "keys": "key", "photos": "photo", "pictures": "picture",
        "requests": "request",
    ]

    /// A line with the kinds of `failures`, the most frequent first, and the first message of that one. Empty without
    /// failures.
    ///
    /// - Parameter failures: the failures that the report lists.
    package static func failures(_ failures: [(kind: FailureKind, message: String)]) -> String {
        let kinds = Dictionary(grouping: failures, by: \.kind).map { (count: $0.value.count, noun: $0.key.rawValue) }
            .sorted { ($1.count, $0.noun) < ($0.count, $1.noun) }
        guard let first = failures.first(where: { $0.kind.rawValue == kinds.first?.noun }) else { return "" }
        return "\nfailures: \(counts(kinds)); the first: \(first.message)"
    }

    /// `duration` in seconds, as in `1.250 s`.
    package static func time(_ duration: Duration) -> String {
        let milliseconds = Int((duration / .milliseconds(1)).rounded())
        let fraction = String(milliseconds % 1000 + 1000).dropFirst()
        return "\(milliseconds / 1000).\(fraction) s"
    }
}
