/// The word that a mistyped one most likely means.
enum Spelling {
    /// The word of `words` with the least distance to `text`, if at most two letters are wrong and at least one is right.
    static func nearest(to text: String, among words: [String]) -> String? {
        let distances = words.map { (word: $0, distance: distance(from: Array(text), to: Array($0))) }
        guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= 2 && best.distance < text.count ? best.word : nil
    }

    /// The least number of letters to insert, delete, replace or swap with a neighbour to turn `source` into `target`
    /// (optimal string alignment).
    private static func distance(from source: [Character], to target: [Character]) -> Int {
        var before: [Int] = []
        var last = Array(0...target.count)
        for (row, letter) in source.enumerated() {
            var current = [row + 1]
            for (column, other) in target.enumerated() {
                var least = min(last[column] + (letter == other ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, letter == target[column - 1], source[row - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, last) = (last, current)
        }
        return last[target.count]
    }
}
