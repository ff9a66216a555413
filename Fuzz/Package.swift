// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that nobody who uses the library builds it. `scripts/fuzz` builds and runs it.
let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "AvatarStore", path: "..")],
    targets: [
        .executableTarget(
            name: "ContactListFuzzer",
            dependencies: [.product(name: "AvatarContacts", package: "AvatarStore")],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                // The main function is libFuzzer's.
                .unsafeFlags(["-parse-as-library"]),
            ]
        )
    ]
)
