package import AvatarCore
import AvatarFoundation

extension Timestamp {
    /// The second in the time zone of the system, with its offset, for texts that people read: `2026-11-26 13:54:20 +0100`.
    package var localText: String {
        var seconds = time_t(milliseconds.dividedRoundingDown(by: 1000))
        var parts = tm()
        // It fails only for years that do not fit an `int`.
        guard localtime_r(&seconds, &parts) != nil else { return iso8601 }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            let length = strftime(buffer.baseAddress, buffer.count, "%Y-%m-%d %H:%M:%S %z", &parts)
            return length > 0 ? String(decoding: UnsafeRawBufferPointer(buffer).prefix(length), as: UTF8.self) : iso8601
        }
    }
}
