// swift-tools-version: 6.2
import PackageDescription

// Set by continuous integration and for releases, never in a package that depends on this one.
let warningsAreErrors = Context.environment["AVATARS_WARNINGS_AS_ERRORS"] != nil

// Set by the scripts of this repository: all optional code and the tests are on, without traits. SwiftPM passes the traits of a
// package to the compiler in an order that changes from run to run, and each change compiles everything again.
let isDevelopment = Context.environment["AVATARS_DEVELOPMENT"] != nil

// For the same reason a single trait, `Standard`, is on by default. It stands for these.
let standard = ["HTTPOrigin", "Command"]

/// The condition of a dependency that a trait turns on.
func trait(_ name: String) -> TargetDependencyCondition? {
    isDevelopment ? nil : .when(traits: standard.contains(name) ? [name, "Standard"] : [name])
}

let swiftSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
    ] + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])
    + (isDevelopment
        ? ["HTTPOrigin", "OpenCombine", "PlaceholderPNG", "Renditions", "Command"].map { .define($0) }
        : standard.map { .define($0, .when(traits: ["Standard"])) })

let package = Package(
    name: "AvatarStore",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "AvatarStore", targets: ["AvatarStore"]),
        .library(name: "AvatarMaintenance", targets: ["AvatarMaintenance"]),
        .library(name: "AvatarProviders", targets: ["AvatarProviders"]),
        .library(name: "AvatarContacts", targets: ["AvatarContacts"]),
        .library(name: "AvatarAddressBooks", targets: ["AvatarAddressBooks"]),
        .library(name: "AvatarPlaceholder", targets: ["AvatarPlaceholder"]),
        .library(name: "AvatarPlaceholderPNG", targets: ["AvatarPlaceholderPNG"]),
        .library(name: "AvatarStoreService", targets: ["AvatarStoreService"]),
        .library(name: "AvatarStoreHTTP", targets: ["AvatarStoreHTTP"]),
        .library(name: "AvatarStoreS3", targets: ["AvatarStoreS3"]),
        .library(name: "AvatarFrontEnds", targets: ["AvatarFrontEnds"]),
        .library(name: "AvatarPublisher", targets: ["AvatarPublisher"]),
        .library(name: "AvatarRenditions", targets: ["AvatarRenditions"]),
        .library(name: "AvatarStoreTesting", targets: ["AvatarStoreTesting"]),
        .executable(name: "avatars", targets: ["avatars"]),
        .executable(name: "avatars-decoder", targets: ["avatars-decoder"]),
    ],
    traits: [
        .trait(
            name: "HTTPOrigin",
            description:
                "The store's own origin client on libcurl (libcurl4-openssl-dev). Turn it off to bring your own `OriginClient`."
        ),
        .trait(
            name: "OpenCombine",
            description: "`AvatarPublisher` where the platform has no Combine. Off, it is not even fetched."
        ),
        .trait(
            name: "PlaceholderPNG",
            description:
                "`AvatarPlaceholderPNG`: placeholders as PNG. On Linux it needs Pango and Cairo (libpango1.0-dev)."
        ),
        .trait(
            name: "Renditions",
            description:
                "The decoders of the helper `avatars-decoder`. They need libjpeg-turbo, libpng, libwebp, giflib and Little CMS."
        ),
        .trait(
            name: "Command",
            description:
                "The program `avatars`. Off, ArgumentParser and Hummingbird are not even fetched; the libraries do not need them."
        ),
        .trait(name: "Standard", description: "`HTTPOrigin` and `Command` together."),
        .default(enabledTraits: isDevelopment ? [] : ["Standard"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-collections.git", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
        // Starts the programs of the tests.
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: [
        .target(
            name: "AvatarCore",
            dependencies: [.product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: swiftSettings
        ),
        // What a host program may bring of its own: the origin client, the shared tier, the maker of renditions. A separate product,
        // because a program that brings none needs none of their types.
        .target(
            name: "AvatarProviders",
            dependencies: ["AvatarCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: swiftSettings
        ),
        // Queries, settings and reports of the work of operators. `AvatarMaintenance` re-exports them.
        .target(name: "AvatarReports", dependencies: ["AvatarCore"], swiftSettings: swiftSettings),
        // FoundationEssentials and the C library, re-exported to the modules that need them.
        .target(name: "AvatarFoundation", swiftSettings: swiftSettings),
        // The hash functions of the system's OpenSSL.
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        // SHA-256 and MD5, from CryptoKit or OpenSSL: all that the store needs of a cryptographic library.
        .target(
            name: "AvatarDigest",
            dependencies: [.target(name: "COpenSSL", condition: .when(platforms: [.linux]))],
            swiftSettings: swiftSettings
        ),
        // Image formats: recognises them and checks files without decoding a pixel.
        .target(name: "AvatarImages", dependencies: ["AvatarCore"], swiftSettings: swiftSettings),
        .target(
            name: "AvatarMigrations",
            path: "Migrations",
            exclude: ["SHA256SUMS"],
            resources: [
                .embedInCode("0001_index.sql"), .embedInCode("0002_boot.sql"), .embedInCode("0003_sync.sql"),
                .embedInCode("0004_changes.sql"),
                .embedInCode("0005_replacing.sql"), .embedInCode("0006_durable_files.sql"),
                .embedInCode("0007_last_sync.sql"), .embedInCode("0008_pending_batch.sql"),
                .embedInCode("0009_access.sql"),
                .embedInCode("0010_eviction_queue.sql"), .embedInCode("0011_contact.sql"),
                .embedInCode("0012_contact_address.sql"), .embedInCode("0013_rendition.sql"),
                .embedInCode("0014_ignored_picture.sql"), .embedInCode("0015_text_setting.sql"),
                .embedInCode("0016_shared_tier.sql"), .embedInCode("0017_over_budget.sql"),
                .embedInCode("0018_failure_message.sql"), .embedInCode("0019_host_window.sql"),
                .embedInCode("0020_source.sql"), .embedInCode("0021_address_book.sql"),
                .embedInCode("0022_metadata.sql"),
                .embedInCode("0023_contact_word.sql"),
            ],
            swiftSettings: swiftSettings
        ),
        // The system's SQLite.
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "AvatarSQLite", dependencies: ["CSQLite"], swiftSettings: swiftSettings),
        .target(
            name: "AvatarIndex",
            dependencies: [
                "AvatarReports",
                "AvatarCore",
                "AvatarFileSystem",
                "AvatarFoundation",
                "AvatarMigrations",
                "AvatarSQLite",
            ],
            swiftSettings: swiftSettings
        ),
        // System calls that Swift's Glibc module does not import, and the program's arguments.
        .target(name: "CAvatarSystem"),
        // Every call by which a store uses files.
        .target(
            name: "AvatarFileSystem",
            dependencies: ["AvatarCore", "AvatarFoundation", "CAvatarSystem"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AvatarFiles",
            dependencies: [
                "AvatarCore",
                "AvatarFileSystem",
                "AvatarFoundation",
                "AvatarImages",
                "CAvatarSystem",
                "AvatarDigest",
            ],
            swiftSettings: swiftSettings
        ),
        // What both origin clients share: rules for hosts, addresses and proxies, redirects, name lookup. No sockets.
        .target(
            name: "AvatarOriginRules",
            dependencies: [
                "AvatarProviders",
                "AvatarCore", "AvatarFoundation", "CAvatarSystem",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        // The system's libcurl.
        .systemLibrary(
            name: "CCurl",
            providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]
        ),
        // The calls of libcurl that Swift cannot import, and its callbacks.
        // On Linux the first request loads the library, because that takes longer than a command that sends none.
        .target(
            name: "CAvatarCurl",
            dependencies: ["CCurl"],
            linkerSettings: [
                .linkedLibrary("curl", .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])),
                .linkedLibrary("dl", .when(platforms: [.linux])),
            ]
        ),
        .target(
            name: "AvatarOrigin",
            dependencies: [
                "AvatarProviders",
                "AvatarCore",
                "AvatarFoundation",
                "AvatarOriginRules",
                "CAvatarCurl",
                "CAvatarSystem",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        // Changes index and files together: publishing, eviction, deletion, and what a dead process left.
        .target(
            name: "AvatarWriter",
            dependencies: [
                "AvatarReports",
                "AvatarCore",
                "AvatarIndex",
                "AvatarFileSystem",
                "AvatarFiles",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        // Decodes content codings of responses, although no request asks for one.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "AvatarStore",
            dependencies: [
                "AvatarProviders",
                "AvatarReports",
                "AvatarCore",
                "AvatarFoundation",
                "AvatarImages",
                "AvatarIndex",
                "AvatarFileSystem",
                "AvatarFiles",
                "AvatarWriter",
                "CZlib",
                .target(name: "AvatarOrigin", condition: trait("HTTPOrigin")),
                "AvatarDigest",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: swiftSettings
        ),
        // The work of operators on a store: backup, export, import, settings, statistics, diagnosis. A separate product, because a service
        // that embeds the store needs none of it.
        .target(
            name: "AvatarMaintenance",
            dependencies: [
                "AvatarProviders",
                "AvatarReports",
                "AvatarCore", "AvatarFileSystem", "AvatarFiles", "AvatarFoundation", "AvatarImages", "AvatarIndex",
                "AvatarStore",
                "AvatarWriter",
                .target(name: "AvatarOrigin", condition: trait("HTTPOrigin")),
            ],
            swiftSettings: swiftSettings
        ),
        // The periodic sync for services. A separate product, because only services need the lifecycle package.
        .target(
            name: "AvatarStoreService",
            dependencies: [
                "AvatarStore",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        // The store over HTTP, as answers to requests. A separate product and without a server, so that a host program uses
        // the server that it has.
        .target(
            name: "AvatarStoreHTTP",
            dependencies: [
                "AvatarMaintenance",
                "AvatarStore",
                "AvatarCore",
                "AvatarFoundation",
                "AvatarPlaceholder",
                "AvatarDigest",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("openapi.json")],
            swiftSettings: swiftSettings
        ),
        // A shared tier in a bucket of an S3-compatible object store. A separate product, because it needs libcurl.
        .target(
            name: "AvatarStoreS3",
            dependencies: [
                "AvatarProviders",
                "AvatarCore", "AvatarFoundation", "AvatarOrigin", "AvatarOriginRules", "CAvatarCurl", "AvatarDigest",
            ],
            swiftSettings: swiftSettings
        ),
        // Image types for application code: observable objects, decodable values and batches on one store.
        .target(
            name: "AvatarFrontEnds",
            dependencies: [
                "AvatarStore",
                "AvatarPlaceholder",
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            swiftSettings: swiftSettings
        ),
        // A separate product, because without Combine it needs OpenCombine, which no other product uses.
        .target(
            name: "AvatarPublisher",
            dependencies: [
                "AvatarStore",
                .product(name: "OpenCombine", package: "OpenCombine", condition: trait("OpenCombine")),
            ],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AvatarContacts",
            dependencies: ["AvatarCore", "AvatarFoundation", "AvatarImages", "AvatarDigest"],
            swiftSettings: swiftSettings
        ),
        // The pull reader of the system's libxml2, which the first use loads.
        .target(
            name: "CAvatarXML",
            linkerSettings: [
                .linkedLibrary("xml2", .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])),
                .linkedLibrary("dl", .when(platforms: [.linux])),
            ]
        ),
        // Address books on CardDAV servers, as sources of a sync. A separate product, because it needs libcurl and libxml2.
        .target(
            name: "AvatarAddressBooks",
            dependencies: [
                "AvatarProviders",
                "AvatarContacts", "AvatarCore", "AvatarFiles", "AvatarFoundation", "AvatarIndex", "AvatarOrigin",
                "AvatarOriginRules", "AvatarStore",
                "CAvatarXML",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        // Placeholders for contacts without a picture. It has no dependencies, so a front end can use it alone.
        .target(name: "AvatarPlaceholder", swiftSettings: swiftSettings),
        // Placeholders as PNG. A separate product, because text in all scripts needs the system's text libraries.
        .target(
            name: "AvatarPlaceholderPNG",
            dependencies: [
                "AvatarPlaceholder",
                .target(
                    name: "CPango",
                    condition: isDevelopment
                        ? .when(platforms: [.linux]) : .when(platforms: [.linux], traits: ["PlaceholderPNG"])
                ),
            ],
            swiftSettings: swiftSettings
        ),
        .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        // Decodes pictures with the system's libraries. Only the helper links it, and runs it in a sandbox.
        .target(
            name: "CAvatarDecoder",
            cSettings: [
                isDevelopment
                    ? .define("AVATAR_RENDITIONS") : .define("AVATAR_RENDITIONS", .when(traits: ["Renditions"]))
            ],
            linkerSettings: ["jpeg", "png16", "webp", "webpdemux", "gif", "lcms2", "m"].map { library in
                isDevelopment ? .linkedLibrary(library) : .linkedLibrary(library, .when(traits: ["Renditions"]))
            }
        ),
        .executableTarget(name: "avatars-decoder", dependencies: ["CAvatarDecoder"], path: "Sources/avatars-decoder"),
        // Makes renditions with the helper. It decodes nothing itself and links no decoder.
        .target(
            name: "AvatarRenditions",
            dependencies: ["AvatarProviders", "AvatarCore", "AvatarImages", "CAvatarSystem"],
            swiftSettings: swiftSettings
        ),
        // An HTTP origin on loopback and sample images, for tests and `avatars demo`. No product: `AvatarStoreTesting`
        // re-exports it.
        .target(
            name: "AvatarLoopback",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AvatarStoreTesting",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance", "AvatarStore", "AvatarFiles", "AvatarFileSystem", "AvatarFoundation",
                "AvatarLoopback", "CAvatarSystem", "CSQLite",
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "avatars",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStore",
                "AvatarAddressBooks",
                "AvatarContacts",
                "AvatarFoundation",
                "AvatarPlaceholder",
                "AvatarStoreHTTP",
                "AvatarStoreS3",
                "AvatarRenditions",
                "AvatarLoopback",
                "CAvatarSystem",
                "CSQLite",
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: trait("Command")
                ),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: trait("Command")),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarCoreTests",
            dependencies: ["AvatarReports", "AvatarCore", .product(name: "HTTPTypes", package: "swift-http-types")],
            swiftSettings: swiftSettings
        ),
        .testTarget(name: "AvatarDigestTests", dependencies: ["AvatarDigest"], swiftSettings: swiftSettings),
        .testTarget(
            name: "AvatarImagesTests",
            dependencies: ["AvatarImages", "AvatarCore"],
            resources: [.copy("Fixtures")],
            swiftSettings: swiftSettings
        ),
        .testTarget(name: "AvatarSQLiteTests", dependencies: ["AvatarSQLite"], swiftSettings: swiftSettings),
        .testTarget(
            name: "AvatarIndexTests",
            dependencies: [
                "AvatarReports",
                "AvatarFileSystem",
                "AvatarIndex",
                "AvatarMigrations",
                "AvatarSQLite",
                "CSQLite",
                "AvatarDigest", "ProgramRunning",
            ],
            resources: [.copy("Golden")],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarFilesTests",
            dependencies: [
                "AvatarFileSystem", "AvatarFiles", "AvatarImages", "AvatarStoreTesting", "AvatarDigest",
                "ProgramRunning",
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarOriginTests",
            dependencies: [
                "AvatarProviders",
                "AvatarOrigin", "AvatarOriginRules", "AvatarStoreTesting", "ProgramRunning",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarContactsTests",
            dependencies: ["AvatarContacts"],
            resources: [.copy("Samples")],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarPlaceholderTests",
            dependencies: ["AvatarPlaceholder"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarPlaceholderPNGTests",
            dependencies: [
                "AvatarPlaceholder", "AvatarPlaceholderPNG", "AvatarCore", "AvatarImages",
                .target(
                    name: "CPango",
                    condition: isDevelopment
                        ? .when(platforms: [.linux]) : .when(platforms: [.linux], traits: ["PlaceholderPNG"])
                ),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarAddressBooksTests",
            dependencies: [
                "AvatarMaintenance",
                "AvatarAddressBooks", "AvatarCore", "AvatarFiles", "AvatarOriginRules", "AvatarStore",
                "AvatarStoreTesting",
                "ProgramRunning",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        // The dependency builds the helper; the tests find it beside their own program.
        .testTarget(
            name: "AvatarRenditionsTests",
            dependencies: [
                "AvatarProviders",
                "AvatarRenditions", "AvatarCore", "AvatarImages", "AvatarStoreTesting", "CZlib", "ProgramRunning",
                "avatars-decoder",
            ],
            path: "Tests/Renditions",
            resources: [.copy("Fixtures")],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarStoreTests",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStore", "AvatarContacts", "AvatarSQLite", "AvatarStoreService", "AvatarStoreTesting",
                "AvatarWriter",
                "CZlib",
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarStoreHTTPTests",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStoreHTTP", "AvatarSQLite", "AvatarStore", "AvatarStoreTesting",
                "AvatarDigest",
                "ProgramRunning",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarStoreS3Tests",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStoreS3", "AvatarCore", "AvatarStore", "AvatarStoreTesting", "ProgramRunning",
                "AvatarDigest",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarFrontEndsTests",
            dependencies: ["AvatarMaintenance", "AvatarFrontEnds", "AvatarStore", "AvatarStoreTesting"],
            resources: [.copy("Pictures")],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AvatarPublisherTests",
            dependencies: [
                "AvatarPublisher", "AvatarFrontEnds", "AvatarStoreTesting",
                .product(name: "OpenCombine", package: "OpenCombine", condition: trait("OpenCombine")),
            ],
            swiftSettings: swiftSettings
        ),
        // Runs the built program and its servers, for tests that observe it from outside.
        .target(
            name: "ProgramRunning",
            dependencies: [
                "AvatarDigest", "AvatarStoreTesting",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Subprocess", package: "swift-subprocess"),
            ],
            path: "Tests/ProgramRunning",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "AvatarMaintenance",
                "avatars", "AvatarContacts", "AvatarSQLite", "AvatarStore", "AvatarStoreHTTP", "AvatarStoreTesting",
                "ProgramRunning",
                "AvatarDigest",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(
                    name: "ArgumentParser",
                    package: "swift-argument-parser",
                    condition: trait("Command")
                ),
            ],
            path: "Tests/Commands",
            swiftSettings: swiftSettings
        ),
        // The program and the store against nginx, through proxies and without a network.
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "AvatarMaintenance",
                "avatars", "AvatarStoreTesting", "ProgramRunning",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "Tests/Network",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "InterfaceTests",
            dependencies: [
                "AvatarMaintenance",
                "AvatarStore", "AvatarStoreHTTP", "AvatarStoreService", "AvatarContacts", "AvatarAddressBooks",
                "AvatarPlaceholder",
                "AvatarPlaceholderPNG", "AvatarFrontEnds", "AvatarPublisher", "AvatarStoreS3", "AvatarStoreTesting",
                "AvatarRenditions",
                "ProgramRunning",
                .target(name: "AvatarOrigin", condition: trait("HTTPOrigin")),
            ],
            path: "Tests/Interface",
            exclude: ["Recorded"],
            swiftSettings: swiftSettings
        ),
        // Compares the pages with the examples that are compiled, runs their commands, and checks the picture of the modules.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "AvatarMaintenance",
                "avatars", "AvatarSQLite", "AvatarStore", "AvatarContacts", "AvatarStoreTesting", "ProgramRunning",
            ],
            path: "Tests/Documentation",
            swiftSettings: swiftSettings
        ),
        // The examples of the pages, compiled as in another package and run.
        .testTarget(
            name: "PageExampleTests",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStore", "AvatarStoreHTTP", "AvatarStoreService", "AvatarAddressBooks", "AvatarContacts",
                "AvatarFrontEnds", "AvatarPublisher", "AvatarStoreTesting",
                .product(name: "OpenCombine", package: "OpenCombine", condition: trait("OpenCombine")),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird", condition: trait("Command")),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(
                    name: "NIOHTTPTypesHTTP1",
                    package: "swift-nio-extras",
                    condition: trait("Command")
                ),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: "Tests/PageExamples",
            packageAccess: false,
            swiftSettings: swiftSettings
        ),
        // The built program observed from outside: its system calls, a full disk, a power loss.
        .testTarget(
            name: "DurabilityTests",
            dependencies: [
                "AvatarMaintenance",
                "avatars", "AvatarSQLite", "AvatarStoreTesting", "ProgramRunning",
                "AvatarDigest",
            ],
            path: "Tests/Durability",
            swiftSettings: swiftSettings
        ),
        // The operations of the fault campaign, shared by its worker processes and its tests.
        .target(
            name: "Workload",
            dependencies: [
                "AvatarProviders",
                "AvatarMaintenance",
                "AvatarStore", "AvatarFileSystem", "AvatarStoreTesting", "AvatarDigest",
            ],
            path: "Tests/Workload",
            swiftSettings: swiftSettings
        ),
        // A worker process that uses a store until a test kills it.
        .executableTarget(
            name: "StoreWorker",
            dependencies: ["Workload", "AvatarFileSystem", "AvatarStoreTesting"],
            path: "Tests/StoreWorker",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "AvatarProviders",
                "Workload", "ProgramRunning", "AvatarFiles", "AvatarFileSystem", "AvatarFoundation",
                .product(name: "Logging", package: "swift-log"),
                "AvatarMaintenance", "AvatarSQLite", "AvatarStore", "AvatarStoreTesting",
            ],
            path: "Tests/Simulation",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CampaignTests",
            dependencies: [
                "AvatarMaintenance",
                "StoreWorker", "Workload", "ProgramRunning", "AvatarSQLite", "AvatarStore", "AvatarStoreTesting",
            ],
            path: "Tests/Campaign",
            swiftSettings: swiftSettings
        ),
    ]
)

// The tests need all optional code.
if !isDevelopment { package.targets.removeAll { $0.isTest } }

// The tests start thousands of programs and lose power thousands of times, for which unoptimised code takes twice as long. Their
// own code is the smaller part of that, and the larger part of a build. A debugger wants AVATARS_DEVELOPMENT=debug.
if isDevelopment, Context.environment["AVATARS_DEVELOPMENT"] != "debug" {
    for target in package.targets
    where target.name == "SimulationTests" || !target.isTest && target.path?.hasPrefix("Tests/") != true {
        target.swiftSettings? += [.unsafeFlags(["-O"], .when(configuration: .debug))]
    }
}
