extension String {
    /// The text without white space around it.
    var trimmed: String {
        guard let last = lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(self[...last].drop(while: \.isWhitespace))
    }
}

extension Sequence<String> {
    /// Each text once, where it comes first, without empty ones.
    var uniqueTexts: [String] {
        var seen: Set<String> = [""]
        return filter { seen.insert($0).inserted }
    }
}
