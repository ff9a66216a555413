package import Foundation

/// The lines that another program prints.
package struct LineBuffer {
    private let handle: FileHandle
    private var text = Data()

    package init(_ handle: FileHandle) {
        self.handle = handle
    }

    package mutating func next() throws -> String {
        while true {
            if let end = text.firstIndex(of: 10) {
                defer { text = Data(text[(end + 1)...]) }
                return String(decoding: text[..<end], as: UTF8.self)
            }
            let more = handle.availableData
            guard !more.isEmpty else { throw BenchmarkError("The program closed its output before the expected line.") }
            text += more
        }
    }
}
