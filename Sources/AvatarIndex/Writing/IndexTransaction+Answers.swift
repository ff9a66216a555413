package import AvatarCore

extension IndexTransaction {
    /// When the request was sent whose answer brought or last confirmed the entry's image; `nil` if there was none.
    package func requestTime(of id: Int64) throws -> Timestamp? {
        let row = try fetchRow("SELECT response_ms - coalesce(response_delay_ms, 0) FROM avatar WHERE id = ?", [id])
        return (row?[0] as Int64?).map(Timestamp.init(milliseconds:))
    }
}
