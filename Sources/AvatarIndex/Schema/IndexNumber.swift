import AvatarSQLite

/// The numbers that each kind of column may have. A program never writes others; a damaged index may have any.
enum IndexNumber {
    /// Row ids and the numbers of changes, so that a sum with any count stays within 64 bits.
    static let id: ClosedRange<Int64> = 0...(1 << 62)
    /// Counts, pixels and versions.
    static let count: ClosedRange<Int64> = 0...(1 << 53)
    /// The bytes of one file: `Setting.maximumImageBytes` is at most 1 TiB.
    static let bytes: ClosedRange<Int64> = 0...(1 << 40)
    /// The bytes of all files.
    static let sum: ClosedRange<Int64> = 0...(1 << 60)
    /// Times in milliseconds. A later one than any date counts as never.
    static let milliseconds: ClosedRange<Int64> = -(1 << 53)...(.max)
    /// Times of use in microseconds.
    static let microseconds: ClosedRange<Int64> = -(1 << 60)...(1 << 60)
    /// Requests at once.
    static let window: ClosedRange<Int64> = 1...4096
    /// The bits of the named lists.
    static let lists: ClosedRange<Int64> = 0...(1 << 62 - 1)
    /// Yes or no, and the two storage classes.
    static let flag: ClosedRange<Int64> = 0...1
}

extension Row {
    /// The count of a column; 0 for NULL.
    func count(_ name: StaticString) -> Int { Int(integer(name, in: IndexNumber.count)) }

    /// The bytes of one file.
    func bytes(_ name: StaticString) -> Int { Int(integer(name, in: IndexNumber.bytes)) }

    /// The bytes of several files.
    func sum(_ name: StaticString) -> Int { Int(integer(name, in: IndexNumber.sum)) }
}
