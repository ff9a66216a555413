// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// A separate package, so that users of the library do not build it. `scripts/fuzz` builds and runs it.
//
// The sources of the modules under test are symbolic links, so the fuzzer reaches their `package` declarations. The
// store is not built, and the fuzzer opens no connection.
let package = Package(
    name: "Fuzz",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0")
    ],
    targets: [
        .target(name: "AvatarFoundation", swiftSettings: swiftSettings),
        .target(
            name: "AvatarCore",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AvatarProviders",
            dependencies: [
                "AvatarCore", "AvatarFoundation", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .target(name: "AvatarDigest", dependencies: ["COpenSSL"], swiftSettings: swiftSettings),
        .target(name: "AvatarImages", dependencies: ["AvatarCore"], swiftSettings: swiftSettings),
        .target(
            name: "AvatarContacts",
            dependencies: ["AvatarCore", "AvatarFoundation", "AvatarImages", "AvatarDigest"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AvatarOriginRules",
            dependencies: [
                "AvatarCore", "AvatarFoundation", "AvatarProviders", "CAvatarSystem",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "CAvatarCurl", dependencies: ["CCurl"], linkerSettings: [.linkedLibrary("curl")]),
        .target(name: "CAvatarSystem"),
        .target(
            name: "AvatarOrigin",
            dependencies: [
                "AvatarCore", "AvatarFoundation", "AvatarOriginRules", "AvatarProviders", "CAvatarCurl",
                "CAvatarSystem",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        // Feeds bytes to the callbacks of CAvatarCurl, which only libcurl can call otherwise.
        .target(name: "CAnswer", dependencies: ["CAvatarCurl", "CCurl"]),
        .executableTarget(
            name: "Fuzzer",
            dependencies: [
                "AvatarContacts", "AvatarCore", "AvatarImages", "AvatarOrigin", "AvatarOriginRules", "AvatarProviders",
                "CAnswer", "CAvatarCurl",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            // The main function is libFuzzer's.
            swiftSettings: swiftSettings + [.unsafeFlags(["-parse-as-library"])]
        ),
    ]
)
