import Foundation
import ProgramRunning
import Testing

@testable import avatars

/// The sample units in `Examples/systemd`.
@Suite(.timeLimit(.minutes(5))) struct SystemdTests {
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
                for command in line.split(separator: Self.program).dropFirst() {
                    _ = try Avatars.parseAsRoot(
                        Self.words(command.prefix { !">&';".contains($0) }.split(separator: " "))
                    )
                    count += 1
                }
            }
        }
        #expect(count == 5)
    }

    /// The words of a command as systemd passes them. A unit writes a percent sign as `%%`.
    private static func words(_ words: some Sequence<Substring>) -> [String] {
        words.map { String($0).replacing("%%", with: "%") }
    }

    @Test func installationNamesAllFiles() throws {
        let names = try Self.units.map { $0.prefix { $0 != "." } }

        #expect(Set(names) == ["avatars-sync", "avatars-maintenance", "avatars-serve"])
        #expect(try Self.text("avatars-sync.service").contains("copy avatars-sync.* and avatars-maintenance.* to"))
        #expect(
            try Self.text("avatars-serve.service").contains("enable --now avatars-serve.socket avatars-serve.service")
        )
    }

    @Test(arguments: [0, 1, 2])
    func compactRunsWhateverVerifyFinds(found: Int32) async throws {
        let workplace = try Workplace()
        try workplace.write("avatars", "#!/bin/sh\necho $1 >>calls; [ $1 = verify ] && exit \(found); exit 0\n")
        let script = try Self.script("ExecStart=", of: "avatars-maintenance.service", with: workplace)

        let run = try await workplace.shell("chmod +x avatars; \(script)")

        #expect(run.status == found)
        #expect(String(decoding: try workplace.read("calls"), as: UTF8.self) == "verify\ncompact\n")
    }

    @Test func metricsAreWrittenWhereTheNodeExporterReads() async throws {
        let workplace = try Workplace()
        let folder = "/var/lib/prometheus/node-exporter"
        try workplace.write("avatars", "#!/bin/sh\necho avatars_entries 3\n")
        try workplace.write("runuser", "#!/bin/sh\nshift 3; exec \"$@\"\n")
        let line = try Self.script("ExecStopPost=-+", of: "avatars-sync.service", with: workplace)
        #expect(line.contains(folder))
        let script = line.replacing(folder, with: workplace.path("collected"))

        let without = try await workplace.shell("chmod +x avatars runuser; PATH=.:$PWD:$PATH; \(script)")
        let run = try await workplace.shell("mkdir collected; PATH=$PWD:$PATH; \(script)")

        #expect(without.status == 0 && without.messages.isEmpty)
        #expect(run.status == 0)
        #expect(try workplace.read("collected/avatars.prom") == Array("avatars_entries 3\n".utf8))
    }

    /// The shell command of a unit, which runs the `avatars` of `workplace`.
    private static func script(_ key: String, of unit: String, with workplace: Workplace) throws -> String {
        let line = try #require(try text(unit).split(separator: "\n").first { $0.hasPrefix(key) })
        // A unit writes a dollar as `$$`.
        return String(line.dropFirst(key.count)).replacing("$$", with: "$").replacing(
            program,
            with: workplace.path("avatars")
        )
    }

    /// The command of the sync's unit with another list, and the exit codes that the unit takes for success.
    private static func sync(_ list: String) throws -> (arguments: [String], successes: Set<Int32>) {
        let lines = try text("avatars-sync.service").split(separator: "\n")
        let command = try #require(lines.first { $0.hasPrefix("ExecStart=") })
        let codes = try #require(lines.first { $0.hasPrefix("SuccessExitStatus=") })
        let arguments = words(command.split(separator: " ").dropFirst()).map { $0.hasPrefix("/var/") ? list : $0 }
        return (arguments, Set(codes.split { "= ".contains($0) }.compactMap { Int32($0) } + [0]))
    }

    /// The unit fails if 50 of 50 images are refused or no host responds, and succeeds if a few images fail.
    @Test(arguments: [(50, 50, false), (50, 3, true)])
    func unitFailsIfMostImagesFail(images: Int, failing: Int, succeeds: Bool) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.txt", origin.list(images))
            for number in 1...failing { origin.setResponse(.status(403), for: "/p/\(number).png") }
            let unit = try Self.sync("people.txt")

            let run = try await workplace.start(unit.arguments + ["--allow-private-network"]).end()

            #expect(unit.successes.contains(run.status) == succeeds, "\(run.status)")
            #expect(!unit.successes.contains(69) && !unit.successes.contains(2))
            // People read the journal.
            #expect(run.text.contains("failed"), "\(run.text)")
            #expect(run.messages.contains(" of 50 entries"), "\(run.messages)")
        }
    }

    #if os(Linux)
    private static let analyser = "/usr/bin/systemd-analyze"

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser))) func unitsAreSound() async throws {
        let workplace = try Workplace()
        // The check works without an installed program.
        for unit in try Self.units {
            try workplace.write(unit, try Self.text(unit).replacing(Self.program, with: "/bin/true"))
        }

        let run = try await workplace.shell("systemd-analyze verify --man=no ./*.service ./*.timer ./*.socket")

        #expect(run.status == 0)
        #expect(run.messages.isEmpty)
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyser)))
    func serverIsConfined() async throws {
        let workplace = try Workplace()
        let unit = try Self.text("avatars-serve.service").replacing(Self.program, with: "/bin/true")
        try workplace.write("avatars-serve.service", unit)

        // The level is between 0 and 10. systemd calls up to 2 safe enough.
        let run = try await workplace.shell(
            "systemd-analyze security --offline=true --threshold=15 ./avatars-serve.service"
        )

        #expect(run.status == 0, "\(run.text.suffix(200))")
    }
    #endif
}
