/// Amounts of bytes as people read them.
package enum ByteSize {
    /// `822 B`, `12.4 MB`: decimal units, as disks and networks are sold.
    package static func text(_ bytes: Int) -> String {
        guard bytes >= 1000 else { return "\(bytes) B" }
        var unit = 1000
        for name in ["kB", "MB", "GB", "TB", "PB"] {
            // In tenths, rounded; 999.96 would be written as 1000.0.
            let tenths = (bytes / (unit / 100) + 5) / 10
            if tenths < 10_000 { return "\(tenths / 10).\(tenths % 10) \(name)" }
            unit *= 1000
        }
        let tenths = (bytes / (unit / 100) + 5) / 10
        return "\(tenths / 10).\(tenths % 10) EB"
    }
}
