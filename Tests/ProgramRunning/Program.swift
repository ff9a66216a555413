package import Foundation

/// The built program, in the folder of the test bundle.
package enum Program {
    package static var executable: URL {
        #if os(macOS)
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? Bundle.main
        return bundle.bundleURL.deletingLastPathComponent().appending(path: "avatars")
        #else
        return URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "avatars")
        #endif
    }
}

/// The exit code and the output of a program that has ended.
package struct Run {
    /// The exit code, or the negated number of the signal that killed it.
    package let status: Int32
    /// Standard output.
    package let bytes: [UInt8]
    /// Standard error.
    package let messages: String

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Throws if the exit code is not 0.
    package func requireSuccess() throws {
        guard status == 0 else { throw UnexpectedOutput(text: text, messages: messages) }
    }

    /// The JSON objects on standard output, one per line.
    package var objects: [JSONObject] {
        get throws { try lines.map(JSONObject.init) }
    }

    /// The single JSON document on standard output.
    package var object: JSONObject {
        get throws {
            guard lines.count == 1 else { throw UnexpectedOutput(text: text, messages: messages) }
            return try JSONObject(lines[0])
        }
    }
}

package struct UnexpectedOutput: Error {
    package let text: String
    package let messages: String
}
