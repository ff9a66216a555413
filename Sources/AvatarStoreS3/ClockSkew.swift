import AvatarCore

/// The difference between the clock of this machine and that of a service, from the Date field of a response.
struct ClockSkew {
    /// A sentence about a difference that makes signatures invalid; `nil` for a smaller or unknown one.
    let text: String?

    /// Services accept a difference of 5 to 15 minutes.
    private static let tolerance: Int64 = 300

    init(date: String, now: Timestamp) {
        guard let seconds = HTTPDate.parse(date, now: now)?.seconds(since: now), abs(seconds) >= Self.tolerance else {
            text = nil
            return
        }
        let (count, unit) = abs(seconds) < 7_200 ? (abs(seconds) / 60, "minutes") : (abs(seconds) / 3_600, "hours")
        let direction = seconds > 0 ? "behind" : "ahead of"
        text = "The clock of this machine is \(count) \(unit) \(direction) the service's. Set it."
    }
}
