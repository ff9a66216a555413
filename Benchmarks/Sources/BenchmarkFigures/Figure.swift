import Foundation

/// One measured comparison.
package struct Figure {
    /// The limit of a ratio.
    package enum Limit: CustomStringConvertible {
        case atLeast(Double)
        case atMost(Double)
        case exactly(Double)

        package func holds(for ratio: Double) -> Bool {
            switch self {
            case .atLeast(let bound): ratio >= bound
            case .atMost(let bound): ratio <= bound
            case .exactly(let value): ratio == value
            }
        }

        package var description: String {
            switch self {
            case .atLeast(let bound): ">= \(bound)"
            case .atMost(let bound): "<= \(bound)"
            case .exactly(let value): "= \(value)"
            }
        }
    }

    /// The operation. It identifies the figure in files, together with `against`.
    package let name: String
    /// The operation that it is compared with.
    package let against: String
    /// The median of the ratios of neighbouring rounds.
    package var ratio: Double?
    /// The limit; `nil` if the figure is only reported.
    package var limit: Limit?
    /// The measured values behind the ratio, by name.
    package var medians: [(name: String, value: Double)]

    package init(
        name: String,
        against: String,
        ratio: Double? = nil,
        limit: Limit? = nil,
        medians: KeyValuePairs<String, Double> = [:]
    ) {
        self.name = name
        self.against = against
        self.ratio = ratio
        self.limit = limit
        self.medians = medians.map { ($0, $1) }
    }

    /// `nil` where there is no limit.
    package var passes: Bool? { limit.map { $0.holds(for: ratio ?? .nan) } }

    package var json: [String: Any] {
        [
            "name": name, "against": against, "ratio": ratio.map(Self.rounded) ?? NSNull(),
            "limit": limit?.description ?? NSNull(), "passes": passes ?? NSNull(),
            "medians": Dictionary(uniqueKeysWithValues: medians.map { ($0.name, Self.rounded($0.value)) }),
        ]
    }

    private static func rounded(_ value: Double) -> Double { (value * 10_000).rounded() / 10_000 }
}

/// The figures of a run, as a table and as a file.
package struct FigureTable {
    package private(set) var figures: [Figure] = []

    package init() {}

    package mutating func add(_ more: [Figure]) {
        for figure in more { print(Self.text(figure)) }
        // Flushed, so that a redirected output shows each figure at once.
        fflush(nil)
        figures += more
    }

    package var passes: Bool { figures.allSatisfy { $0.passes != false } }

    package func show() {
        print("\n" + Self.line("work", "against", "ratio", "limit", "passes"))
        for figure in figures { print(Self.text(figure)) }
    }

    /// Puts the figures into the array at `path`, in place of those with the same names.
    package func write(to path: String) throws {
        let file = URL(fileURLWithPath: path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        let names = Set(figures.map { $0.name + "\n" + $0.against })
        var all: [[String: Any]] = []
        if FileManager.default.fileExists(atPath: path) {
            let old = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]] ?? []
            all = old.filter { !names.contains("\($0["name"] ?? "")\n\($0["against"] ?? "")") }
        }
        all += figures.map(\.json)
        var data = try JSONSerialization.data(withJSONObject: all, options: [.prettyPrinted, .sortedKeys])
        data.append(10)
        try data.write(to: file)
    }

    private static func text(_ figure: Figure) -> String {
        let medians = figure.medians.map { "\($0.name) \(number($0.value))" }.joined(separator: ", ")
        let passes = figure.passes.map { $0 ? "yes" : "NO" } ?? "-"
        let ratio = figure.ratio.map(number) ?? "-"
        let row = line(figure.name, figure.against, ratio, figure.limit?.description ?? "-", passes)
        return medians.isEmpty ? row : row + "\n    " + medians
    }

    private static func line(_ name: String, _ against: String, _ ratio: String, _ limit: String, _ passes: String)
        -> String
    {
        let cells = zip([name, against, ratio, limit, passes], [46, 44, 9, 9, 6])
        return cells.map { $0.padding(toLength: max($1, $0.count), withPad: " ", startingAt: 0) }.joined(separator: " ")
    }

    private static func number(_ value: Double) -> String {
        String(format: abs(value) < 100 && value != value.rounded() ? "%.3f" : "%.0f", value)
    }
}

/// The median of `values`; for an even count the mean of the two middle values.
package func median(_ values: [Double]) -> Double {
    guard !values.isEmpty else { return .nan }
    let sorted = values.sorted()
    return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
}
