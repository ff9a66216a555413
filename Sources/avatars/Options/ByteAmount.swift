import ArgumentParser

/// A number of bytes as people write it: `500000`, `500B`, `200kB`, `64MB`, `64MiB`, `2GiB`.
enum ByteAmount {
    private static let units: [String: Int] = [
        "": 1, "B": 1, "kB": 1000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
    ]

    /// The bytes that `text` stands for.
    ///
    /// - Throws: `ValidationError` that names the forms.
    static func parse(_ text: String) throws -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let number = Int(digits), let unit = units[String(text[digits.endIndex...])] else {
            throw ValidationError("A byte amount is written 500000, 200kB, 64MB, 64MiB or 2GiB, not \"\(text)\".")
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit)
        guard !overflow else { throw ValidationError("\(text) is more than this program can count.") }
        return bytes
    }
}
