import Foundation
import Testing

/// The rules without which a run of all tests may never end.
@Suite(.timeLimit(.minutes(5))) struct SuiteRuleTests {
    /// A suite hands its limit on to its tests. A test in an extension has that of the type.
    @Test func everyTestHasATimeLimit() throws {
        var count = 0
        for file in try Page.all(in: "Tests") {
            for declaration in file.text.components(separatedBy: "\n}\n") where declaration.contains("    @Test") {
                let lines = declaration.split(separator: "\n")
                let types = ["struct", "final class", "class", "actor", "enum"]
                let head = lines.firstIndex { line in
                    types.contains { line.hasPrefix($0 + " ") || line.hasPrefix("@Suite") && line.contains(") \($0) ") }
                }
                guard let head else { continue }
                count += 1
                let attributes = lines[...head].drop { !$0.hasPrefix("@Suite") }
                #expect(attributes.contains { $0.contains(".timeLimit(") }, "\(file.path): \(lines[head])")
            }
        }
        #expect(count > 300)
    }

    /// One thread waits for all of its programs in turn, so that one which is never reported stops all others.
    @Test func programsAreNotStartedWithFoundation() throws {
        let call = try Regex("[^a-zA-Z.]Process\\(\\)[^\"]")
        for folder in ["Sources", "Tests", "Examples", "Benchmarks/Sources", "Fuzz/Sources"] {
            for file in try Page.all(in: folder) where file.text.contains(call) { Issue.record("\(file.path)") }
        }
    }
}
