import Foundation

/// The output of `strace -f`: the calls of all threads and processes, in the order in which it saw them.
///
/// A thread is stopped before each call until `strace` has noted it, and again after it. So an event noted before the
/// end of one call and after the end of another happened between the two, even in different processes.
struct Trace {
    /// The calls in the order of their entries.
    private(set) var calls: [TracedCall] = []
    /// Entries and returns, in their order.
    private(set) var moments: [Moment] = []

    struct Moment {
        /// The number of the call.
        let call: Int
        let isEnd: Bool
    }

    init(file: String) throws {
        let text = try Data(contentsOf: URL(filePath: file))
        var unfinished: [ArraySlice<UInt8>: (number: Int, text: ArraySlice<UInt8>)] = [:]
        for line in [UInt8](text).split(separator: UInt8(ascii: "\n")) {
            let thread = line.prefix { $0 != UInt8(ascii: " ") }
            let rest = line.dropFirst(thread.count).drop { $0 == UInt8(ascii: " ") }
            if rest.starts(with: "<... ".utf8) {
                guard let entered = unfinished.removeValue(forKey: thread) else { continue }
                leave(entered.number, entered.text + Self.afterResumption(rest))
            } else if rest.suffix(Self.cut.utf8.count).elementsEqual(Self.cut.utf8) {
                let text = rest.dropLast(Self.cut.utf8.count)
                if let number = enter(text) { unfinished[thread] = (number, text) }
            } else if let number = enter(rest) {
                leave(number, rest)
            }
        }
    }

    private static let cut = " <unfinished ...>"

    private static func afterResumption(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        line.drop { $0 != UInt8(ascii: ">") }.dropFirst()
    }

    private mutating func enter(_ text: ArraySlice<UInt8>) -> Int? {
        guard var call = TracedCall(line: text) else { return nil }
        call.began = moments.count
        moments.append(Moment(call: calls.count, isEnd: false))
        calls.append(call)
        return calls.count - 1
    }

    private mutating func leave(_ number: Int, _ text: ArraySlice<UInt8>) {
        guard var call = TracedCall(line: text) else { return }
        call.began = calls[number].began
        call.ended = moments.count
        moments.append(Moment(call: number, isEnd: true))
        calls[number] = call
    }
}
