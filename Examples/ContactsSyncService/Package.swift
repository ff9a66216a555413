// swift-tools-version: 6.2
import PackageDescription

// A package of its own, like a service that embeds the library.
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

let package = Package(
    name: "ContactsSyncService",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "AvatarStore", path: "../.."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", .upToNextMinor(from: "1.37.0")),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2"),
    ],
    targets: [
        .executableTarget(
            name: "ContactsSyncService",
            dependencies: [
                .product(name: "AvatarAddressBooks", package: "AvatarStore"),
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarStoreHTTP", package: "AvatarStore"),
                .product(name: "AvatarStoreService", package: "AvatarStore"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "ContactsSyncServiceTests",
            dependencies: [
                "ContactsSyncService",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "AvatarMaintenance", package: "AvatarStore"),
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarStoreTesting", package: "AvatarStore"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            swiftSettings: swiftSettings
        ),
    ]
)
