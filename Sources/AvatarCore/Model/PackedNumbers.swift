/// The numbers of a table, in ASCII: five bits in a character from `0` on, the highest first. Where the sixth bit is set, more
/// follow. Line ends are skipped.
///
/// A literal costs a start of the program nothing; only the first use of a table reads it.
package struct PackedNumbers: Sequence, IteratorProtocol {
    private var text: Substring.UTF8View

    package init(_ text: StaticString) {
        self.text = text.description[...].utf8
    }

    package mutating func next() -> Int? {
        var number: Int?
        while let character = text.popFirst() {
            guard character >= UInt8(ascii: "0") else { continue }
            let bits = Int(character - UInt8(ascii: "0"))
            number = (number ?? 0) << 5 | bits & 31
            if bits & 32 == 0 { break }
        }
        return number
    }
}

/// Ranges of code points with a number for each. All code points from 0x80 on are in one.
struct ScalarClasses: Sendable {
    /// The first code points of the ranges, in order.
    private var starts: [UInt32] = []
    private var classes: [Int] = []

    /// - Parameter packed: the length of each range and its number.
    init(packed: StaticString) {
        var numbers = PackedNumbers(packed)
        var start = UInt32(0x80)
        while let length = numbers.next(), let number = numbers.next() {
            starts.append(start)
            classes.append(number)
            start += UInt32(length)
        }
    }

    /// The number of `scalar`, which is not ASCII.
    subscript(scalar: Unicode.Scalar) -> Int {
        classes[starts.lastPlace(upTo: scalar.value) ?? 0]
    }
}

/// A set of code points from 0x80 on.
package struct ScalarSet: Sendable {
    /// The bounds of the ranges, in order.
    private var starts: [UInt32] = []
    private var ends: [UInt32] = []

    /// - Parameter packed: for each range its distance from the range before, and its length less one.
    package init(packed: StaticString) {
        var numbers = PackedNumbers(packed)
        var start = UInt32(0x80)
        while let distance = numbers.next(), let length = numbers.next() {
            start += UInt32(distance)
            starts.append(start)
            start += UInt32(length) + 1
            ends.append(start)
        }
    }

    package func contains(_ scalar: Unicode.Scalar) -> Bool {
        guard let place = starts.lastPlace(upTo: scalar.value) else { return false }
        return scalar.value < ends[place]
    }
}

/// The code points, from 0x80 on, that become others.
package struct ScalarMapping: Sendable {
    /// Code points that all move by one distance: each, or each second one; or a single one that becomes several.
    private struct Run {
        let first: UInt32
        let last: UInt32
        let step: UInt32
        let distance: Int
        let text: [Unicode.Scalar]
    }

    private var starts: [UInt32] = []
    private var runs: [Run] = []

    /// - Parameter packed: for each run its distance from the run before, and its kind. For 0 and 1, which stand for each and
    ///   each second code point, the number of code points less one and the distance that they move follow; for others, the
    ///   code points of the text, whose number is the kind less two, each as the distance from the one before.
    package init(packed: StaticString) {
        var numbers = PackedNumbers(packed)
        var start = UInt32(0x80)
        while let gap = numbers.next(), let kind = numbers.next() {
            start += UInt32(gap)
            let run =
                kind < 2
                ? Self.run(from: start, step: UInt32(kind) + 1, &numbers) : Self.text(of: start, kind - 2, &numbers)
            starts.append(start)
            runs.append(run)
            start = run.last + 1
        }
    }

    /// The code points that `scalar` becomes; `nil` if it stays.
    package subscript(scalar: Unicode.Scalar) -> [Unicode.Scalar]? {
        guard let place = starts.lastPlace(upTo: scalar.value) else { return nil }
        let run = runs[place]
        guard scalar.value <= run.last, (scalar.value - run.first).isMultiple(of: run.step) else { return nil }
        return run.text.isEmpty ? Unicode.Scalar(UInt32(Int(scalar.value) + run.distance)).map { [$0] } : run.text
    }

    private static func run(from first: UInt32, step: UInt32, _ numbers: inout PackedNumbers) -> Run {
        let last = first + UInt32(numbers.next() ?? 0) * step
        return Run(first: first, last: last, step: step, distance: signed(numbers.next() ?? 0), text: [])
    }

    private static func text(of scalar: UInt32, _ count: Int, _ numbers: inout PackedNumbers) -> Run {
        var value = Int(scalar)
        var text: [Unicode.Scalar] = []
        for _ in 0..<count {
            value += signed(numbers.next() ?? 0)
            if let scalar = Unicode.Scalar(UInt32(value)) { text.append(scalar) }
        }
        return Run(first: scalar, last: scalar, step: 1, distance: 0, text: text)
    }

    /// Even numbers stand for 0, 1, 2 and so on, odd ones for -1, -2 and so on.
    private static func signed(_ number: Int) -> Int {
        number.isMultiple(of: 2) ? number / 2 : -(number + 1) / 2
    }
}

extension [UInt32] {
    /// The place of the last element up to `value` in an array in order; `nil` if the first is larger.
    fileprivate func lastPlace(upTo value: UInt32) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] <= value { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }
}
