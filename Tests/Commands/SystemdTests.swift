import Foundation
import ProgramRunning
import Testing

@testable import avatars

/// The sample units in `Examples/systemd`.
@Suite struct SystemdTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Examples/systemd").standardized.path(percentEncoded: false)
    private static let program = "/usr/local/bin/avatars"

    private static var units: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    private static func text(_ unit: String) throws -> String {
        try String(contentsOfFile: folder + "/" + unit, encoding: .utf8)
    }

    @Test func eachTimerHasItsService() throws {
        let units = try Self.units

        #expect(units.contains("avatars-sync.timer"))
        for timer in units where timer.hasSuffix(".timer") {
            #expect(units.contains(timer.replacing(".timer", with: ".service")))
        }
    }

    @Test func theCommandsThatUnitsRunCanBeParsed() throws {
        var count = 0
        for unit in try Self.units {
            for line in try Self.text(unit).split(separator: "\n") where line.hasPrefix("Exec") {
                let command = try #require(line.split(separator: Self.program).last)
                let arguments = command.prefix { !">&';".contains($0) }.split(separator: " ").map(String.init)
                _ = try Avatars.parseAsRoot(arguments)
                count += 1
            }
        }
        #expect(count == 4)
    }

    #if os(Linux)
    private static let analyser = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser))) func unitsAreSound() async throws {
        let workplace = try Workplace()
        // The program need not be installed to look at them.
        for unit in try Self.units {
            try workplace.write(unit, try Self.text(unit).replacing(Self.program, with: "/bin/true"))
        }

        let run = try await workplace.shell("systemd-analyze verify --man=no ./*.service ./*.timer")

        #expect(run.status == 0)
        #expect(run.messages.isEmpty)
    }
    #endif
}
