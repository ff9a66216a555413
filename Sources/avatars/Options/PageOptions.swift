import ArgumentParser

/// The options of commands that list everything, or one page of it.
struct PageOptions: ParsableArguments {
    /// The maximum number of items; `nil` to list all, page by page.
    @Option(help: ArgumentHelp("List at most N, then print where the next page starts.", valueName: "n"))
    var limit: Int?

    /// The end of an earlier page in the same order; `nil` to begin at the start.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Continue after a page: the \"next\" that it printed.", valueName: "next")
    )
    var after: String?

    /// The number of items to read next, of which a page in the index has at most `size`.
    func count(behind printed: Int, in size: Int) -> Int { min(size, (limit ?? .max) - printed) }

    /// Whether there is something to read behind `printed` items and `next`, the end of the last page.
    func goesOn(behind printed: Int, next: String?) -> Bool { next != nil && printed < limit ?? .max }

    /// - Throws: `ValidationError` if `--limit` is below 1.
    func validate() throws {
        if let limit, limit < 1 { throw ValidationError("--limit must be at least 1, not \(limit).") }
    }
}
