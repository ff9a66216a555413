package import AvatarStoreTesting

/// The moment at which a worker kills itself with SIGKILL: before its `number`th file call of one kind, or some time
/// after it. As text it is, for instance, `before:rename:3:0`.
package struct KillPoint: Hashable, Sendable {
    package enum Moment: String, Sendable {
        case before
        case after
    }

    package var moment: Moment
    package var call: FaultyFileSystem.Call
    /// Counted from 1.
    package var number: Int
    /// Microseconds between the end of the call and the kill, in which the worker goes on.
    package var delay: Int

    package init(_ moment: Moment, _ call: FaultyFileSystem.Call, number: Int, delay: Int = 0) {
        self.moment = moment
        self.call = call
        self.number = number
        self.delay = delay
    }
}

extension KillPoint: LosslessStringConvertible {
    package var description: String { "\(moment.rawValue):\(call.rawValue):\(number):\(delay)" }

    package init?(_ description: String) {
        let words = description.split(separator: ":").map(String.init)
        guard words.count == 4, let moment = Moment(rawValue: words[0]),
            let call = FaultyFileSystem.Call(rawValue: words[1]), let number = Int(words[2]), let delay = Int(words[3])
        else { return nil }
        self.init(moment, call, number: number, delay: delay)
    }
}
