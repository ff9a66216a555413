import Foundation
import Testing

/// The public interface, compared with the recorded one: no change of it goes unnoticed.
///
/// `AVATARS_RECORD_INTERFACE=1 swift test --filter InterfaceTests` records the interface as it is.
@Suite(
    .enabled(if: SymbolGraph.isAvailable, "needs swift-symbolgraph-extract, which comes with the toolchain"),
    .timeLimit(.minutes(5))
)
struct InterfaceTests {
    static let modules = [
        "AvatarCore", "AvatarProviders", "AvatarReports", "AvatarOriginRules", "AvatarOrigin", "AvatarStore",
        "AvatarStoreService", "AvatarMaintenance",
        "AvatarContacts",
        "AvatarAddressBooks",
        "AvatarPlaceholder", "AvatarPlaceholderPNG", "AvatarFrontEnds", "AvatarPublisher", "AvatarStoreTesting",
        "AvatarLoopback", "AvatarStoreHTTP", "AvatarStoreS3", "AvatarRenditions",
    ]

    @Test(arguments: modules)
    func publicInterfaceIsTheRecordedOne_andDocumented(module: String) async throws {
        let symbols = try await SymbolGraph(module: module).symbols
        let lines = symbols.map(\.line).sorted()
        let file = URL(filePath: #filePath).appending(path: "../Recorded/\(module).txt").standardized
        if ProcessInfo.processInfo.environment["AVATARS_RECORD_INTERFACE"] != nil {
            try (lines.joined(separator: "\n") + "\n").write(to: file, atomically: true, encoding: .utf8)
        }

        let recorded = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map(String.init)

        #expect(Set(lines).subtracting(recorded).sorted() == [], "not recorded in \(file.lastPathComponent)")
        #expect(Set(recorded).subtracting(lines).sorted() == [], "recorded, and there no more")
        let silent = symbols.filter { $0.location != nil && !$0.isDocumented }
        #expect(silent.map(\.line).sorted() == [], "without a documentation comment")
    }
}
