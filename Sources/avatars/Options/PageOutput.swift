import ArgumentParser
import AvatarStore

/// The output of a command that lists items page by page: a table below its headings, or with `--json` one object per line.
struct PageOutput {
    private let table: Table
    private let isJSON: Bool
    /// The number of items printed so far.
    private(set) var count = 0

    /// An output in the form of `options`.
    init(_ table: Table, _ options: OutputOptions) {
        self.table = table
        isJSON = options.json
    }

    /// Prints items, below the headings if they are the first ones.
    ///
    /// - Parameters:
    ///   - items: The items of one page.
    ///   - fields: The fields of an item, as `--json` prints them.
    ///   - row: The cells of an item.
    mutating func print<Item>(
        _ items: [Item],
        fields: (Item) -> [String: JSON],
        row: (Item) -> [Table.Cell]
    ) throws {
        guard !items.isEmpty else { return }
        var bytes = count == 0 && !isJSON ? table.heading.bytes : []
        for item in items {
            bytes += isJSON ? try JSON.object(fields(item)).line : table.line(row(item)).bytes
            guard bytes.count > 1 << 16 else { continue }
            try Console.output.write(bytes)
            bytes = []
        }
        try Console.output.write(bytes)
        count += items.count
    }

    /// Prints where the next page starts: a last line with `--json`, else a note about more `things`.
    func printEnd(next: String?, of things: String, _ store: StoreOptions) throws {
        if isJSON {
            try Console.output.write(JSON.object(["next": JSON(next)]).line)
        } else if let next {
            store.note("there may be more \(things): continue with --after \(ShellWord.quoted(next))")
        }
    }

    /// Runs `body`, which reads a page.
    ///
    /// - Throws: `ValidationError` if `--after` is not a place that a page printed; any other error of `body`.
    static func page<Page>(_ body: () throws -> Page) throws -> Page {
        do {
            return try body()
        } catch let error as AvatarStoreError where error.code == .invalidConfiguration {
            throw ValidationError(error.message)
        }
    }
}
