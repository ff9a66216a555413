import Foundation

/// The ratios that must not get worse, with a margin: `Benchmarks/thresholds.json`, an array of `{name, against, limit}`.
package struct Thresholds {
    private struct Threshold: Decodable {
        let name: String
        let against: String
        /// The limit as text, such as `<= 1.5` or `>= 3`.
        let limit: String
    }

    private struct Result: Decodable {
        let name: String
        let against: String
        let ratio: Double?
    }

    /// Compares the figures in the file `results` with the thresholds in `path`, and prints each. A figure that was not
    /// measured fails its threshold.
    ///
    /// - Returns: Whether all thresholds hold.
    package static func hold(in results: String, thresholds path: String) throws -> Bool {
        let decoder = JSONDecoder()
        let thresholds = try decoder.decode([Threshold].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        let figures = try decoder.decode([Result].self, from: Data(contentsOf: URL(fileURLWithPath: results)))
        var isGood = true
        for threshold in thresholds {
            let figure = figures.first { $0.name == threshold.name && $0.against == threshold.against }
            let words = threshold.limit.split(separator: " ")
            guard words.count == 2, let bound = Double(words[1]) else {
                throw BenchmarkError(
                    "\(path): the limit \"\(threshold.limit)\" must be \"<= NUMBER\" or \">= NUMBER\"."
                )
            }
            let ratio = figure?.ratio ?? .nan
            let holds = words[0] == "<=" ? ratio <= bound : ratio >= bound
            print("\(holds ? "ok   " : "WORSE") \(threshold.name): \(ratio), \(threshold.limit)")
            isGood = isGood && holds
        }
        return isGood
    }
}
