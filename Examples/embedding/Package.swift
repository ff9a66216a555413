// swift-tools-version: 6.2
import PackageDescription

// The examples of all pages, in a package outside. `scripts/embedding` copies this file to a folder with a link to them.
let package = Package(
    name: "PageExamples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "AvatarStore", path: "../../..", traits: ["Standard", "OpenCombine"]),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: [
        .testTarget(
            name: "PageExampleTests",
            dependencies: [
                .product(name: "AvatarAddressBooks", package: "AvatarStore"),
                .product(name: "AvatarContacts", package: "AvatarStore"),
                .product(name: "AvatarMaintenance", package: "AvatarStore"),
                .product(name: "AvatarFrontEnds", package: "AvatarStore"),
                .product(name: "AvatarProviders", package: "AvatarStore"),
                .product(name: "AvatarPublisher", package: "AvatarStore"),
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarStoreHTTP", package: "AvatarStore"),
                .product(name: "AvatarStoreService", package: "AvatarStore"),
                .product(name: "AvatarStoreTesting", package: "AvatarStore"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "OpenCombine", package: "OpenCombine"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .define("OpenCombine"),
            ]
        )
    ]
)
