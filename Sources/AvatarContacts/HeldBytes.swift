/// The bytes of one record, up to a limit: what goes beyond is counted as too much and not kept.
struct HeldBytes {
    private(set) var bytes: [UInt8] = []
    /// Whether there were more bytes than the limit; `bytes` then holds the first of them.
    private(set) var isTooLong = false
    /// The last byte that is not blank, kept or not.
    private(set) var lastVisible: UInt8?
    private let limit: Int

    /// No bytes, with room for `limit`.
    init(limit: Int) {
        self.limit = limit
    }

    mutating func append(_ more: ArraySlice<UInt8>) {
        lastVisible = more.last { !$0.isBlank } ?? lastVisible
        let fitting = more.prefix(limit - bytes.count)
        bytes.append(contentsOf: fitting)
        if fitting.count < more.count { isTooLong = true }
    }
}
