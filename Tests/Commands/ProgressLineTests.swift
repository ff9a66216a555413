import AvatarMaintenance
import AvatarStore
import Testing

@testable import avatars

/// The text of a progress line.
@Suite(.timeLimit(.minutes(5))) struct ProgressLineTests {
    /// A steady pace of ten a second over a minute.
    private static var pace: Pace {
        var pace = Pace(at: 0)
        for second in 1...60 { pace.note(10 * second, at: Double(second)) }
        return pace
    }

    private static func text(bytes: Int?, timeLimit: Double?, total: Int? = 3600) -> String {
        let progress = WorkProgress(.syncing, .entries, done: 600, of: total, bytes: bytes)
        return ProgressLine(progress, pace, seconds: 48, timeLimit: timeLimit).text
    }

    @Test func bytesAreShown() {
        #expect(Self.text(bytes: 12_400_000, timeLimit: nil).hasPrefix("syncing: 600 of 3600 entries, 12.4 MB, 10/s, "))
        #expect(!Self.text(bytes: 0, timeLimit: nil).contains(" B"))
    }

    @Test("the time left is never more than the time limit leaves")
    func timeLimit() {
        #expect(Self.text(bytes: nil, timeLimit: nil).hasSuffix(", 5 min left"))
        #expect(Self.text(bytes: nil, timeLimit: 60).hasSuffix(", 12 s left"))
        #expect(Self.text(bytes: nil, timeLimit: 30).hasSuffix(", 0 s left"))
        #expect(Self.text(bytes: nil, timeLimit: 3600).hasSuffix(", 5 min left"))
        #expect(Self.text(bytes: nil, timeLimit: 60, total: nil).hasSuffix(", 12 s left"))
    }
}
