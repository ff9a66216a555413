import AvatarMaintenance
import AvatarStore
import AvatarFoundation

/// One line of progress: the amount done, bytes, speed, time left and failures.
struct ProgressLine {
    /// The progress reported last.
    private let progress: WorkProgress
    /// The speed within the phase, for the rate and the time left.
    private let pace: Pace
    /// The seconds since the phase began.
    private let seconds: Double
    /// The longest that the phase may take, in seconds; `nil` if there is no limit.
    private let timeLimit: Double?

    /// Makes a line from the `progress` and `pace` of a phase that began `seconds` ago.
    init(_ progress: WorkProgress, _ pace: Pace, seconds: Double, timeLimit: Double? = nil) {
        (self.progress, self.pace, self.seconds, self.timeLimit) = (progress, pace, seconds, timeLimit)
    }

    /// The line as text, as in `syncing: 1234 of 5000 entries, 12.4 MB, 310/s, 12 s left, 3 failed`.
    var text: String { "\(progress.phase): \(parts.joined(separator: ", "))" }

    /// The line with a bar before the text if both fit into `columns`, else the text, cut to `columns`.
    func bar(columns: Int) -> String {
        let width = min(24, columns - text.count - 4)
        guard let total = progress.total, total > 0, width >= 8 else { return String(text.prefix(max(0, columns))) }
        let filled = min(width, Int(Double(width) * Double(progress.done) / Double(total)))
        let body = String(repeating: "=", count: filled) + (filled < width ? ">" : "")
        return "[\(body)\(String(repeating: " ", count: width - body.count))]  \(text)"
    }

    /// The parts of the text that apply, in their order; an ellipsis if there are none yet.
    private var parts: [String] {
        var parts: [String] = []
        if progress.total != nil || progress.done > 0 { parts.append(progress.amount) }
        if let bytes = progress.bytesText { parts.append(bytes) }
        let isUnderWay = progress.total.map { progress.done < $0 } ?? true
        // Steps differ too much in size to predict the time of the next one.
        if isUnderWay, progress.unit != .steps, let perSecond = pace.perSecond, progress.done > 0 {
            parts.append(rate(perSecond))
            if let left = secondsLeft {
                parts.append("\(Wording.span(seconds: left)) left")
            }
        } else if isUnderWay, seconds >= 2, progress.total == nil || progress.unit == .steps {
            parts.append("\(Wording.span(seconds: Int(seconds))) so far")
        }
        if progress.failed > 0 { parts.append("\(progress.failed) failed") }
        return parts.isEmpty ? ["…"] : parts
    }

    /// The seconds until the phase ends at its present pace, at most until its time limit; `nil` if neither is known.
    private var secondsLeft: Int? {
        let limit = timeLimit.map { max(0, Int(($0 - seconds).rounded(.up))) }
        return [progress.total.flatMap(pace.secondsLeft), limit].compactMap(\.self).min()
    }

    /// The speed in the unit of the work: `310/s`, `4.2/s`, `12/min` or `1.2 MB/s`.
    private func rate(_ perSecond: Double) -> String {
        if progress.unit == .bytes { return Wording.size(Int(perSecond)) + "/s" }
        if perSecond < 1 { return Wording.number(perSecond * 60, digits: 0) + "/min" }
        return Wording.number(perSecond, digits: perSecond < 10 ? 1 : 0) + "/s"
    }
}

extension WorkProgress {
    /// The amount done and the total if it is known, as in `1234 of 5000 files` or `12.4 MB of 1.2 GB`.
    var amount: String {
        if unit == .bytes { return total.map { "\(Wording.size(done)) of \(Wording.size($0))" } ?? Wording.size(done) }
        return total.map { "\(done) of \($0) \(unit.rawValue)" } ?? "\(done) \(unit.rawValue)"
    }

    /// The bytes of the work beside its count, as in `12.4 MB`; `nil` if there are none, or if bytes are its unit.
    var bytesText: String? { bytes.flatMap { $0 > 0 && unit != .bytes ? Wording.size($0) : nil } }
}
