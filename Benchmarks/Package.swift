// swift-tools-version: 6.2
import PackageDescription

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

// A package of its own, so that users of the library do not build it.
let package = Package(
    name: "Benchmarks",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(name: "AvatarStore", path: ".."),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", .upToNextMinor(from: "1.37.0")),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
    ],
    targets: [
        // The figures as a table and a file, and the programs to compare with.
        .target(
            name: "BenchmarkFigures",
            dependencies: [
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "SyncBenchmark",
            dependencies: [
                "BenchmarkFigures",
                .product(name: "AvatarMaintenance", package: "AvatarStore"),
                .product(name: "AvatarProviders", package: "AvatarStore"),
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarFrontEnds", package: "AvatarStore"),
                .product(name: "AvatarPublisher", package: "AvatarStore"),
                .product(name: "AvatarStoreS3", package: "AvatarStore"),
                .product(name: "AvatarStoreTesting", package: "AvatarStore"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux])),
            ],
            swiftSettings: swiftSettings
        ),
        // The work of a sync of new images with plain calls, as a floor.
        .executableTarget(
            name: "PlainSync",
            linkerSettings: [.linkedLibrary("curl"), .linkedLibrary("sqlite3"), .linkedLibrary("crypto")]
        ),
        // Round trips of a network in front of a server on loopback.
        .executableTarget(name: "DelayRelay"),
        // Reads. Its main is synchronous, so that callgrind can profile it.
        .executableTarget(
            name: "HitBenchmark",
            dependencies: [
                "BenchmarkFigures",
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarFrontEnds", package: "AvatarStore"),
            ],
            swiftSettings: swiftSettings
        ),
        // Renditions.
        .executableTarget(
            name: "RenditionBenchmark",
            dependencies: [
                "BenchmarkFigures",
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarRenditions", package: "AvatarStore"),
            ],
            swiftSettings: swiftSettings
        ),
        // Writes, and costs by the size of the store.
        .executableTarget(
            name: "StoreBenchmark",
            dependencies: [
                "BenchmarkFigures",
                .product(name: "AvatarMaintenance", package: "AvatarStore"),
                .product(name: "AvatarProviders", package: "AvatarStore"),
                .product(name: "AvatarStore", package: "AvatarStore"),
                .product(name: "AvatarStoreTesting", package: "AvatarStore"),
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: swiftSettings
        ),
    ]
)
