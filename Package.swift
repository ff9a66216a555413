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

extension [Target.Dependency] {
    /// As `+`, with which the compiler does not come to an end in a long literal.
    func and(_ more: [Target.Dependency]) -> [Target.Dependency] { self + more }
}

/// A product of another package, which a trait may turn on.
func product(_ name: String, of package: String, with optional: String? = nil) -> Target.Dependency {
    .product(name: name, package: package, condition: optional.flatMap(trait))
}

let httpTypes = product("HTTPTypes", of: "swift-http-types")
let logging = product("Logging", of: "swift-log")
let metrics = product("Metrics", of: "swift-metrics")
let metricsTestKit = product("MetricsTestKit", of: "swift-metrics")
let serviceLifecycle = product("ServiceLifecycle", of: "swift-service-lifecycle")
let subprocess = product("Subprocess", of: "swift-subprocess")
let nioCore = product("NIOCore", of: "swift-nio")
let nioPosix = product("NIOPosix", of: "swift-nio")
let nioHTTP1 = product("NIOHTTP1", of: "swift-nio")
let nio = [nioCore, nioHTTP1, nioPosix]
let nioEmbedded = product("NIOEmbedded", of: "swift-nio")
let nioSSL = product("NIOSSL", of: "swift-nio-ssl")
let nioHTTPTypes = product("NIOHTTPTypesHTTP1", of: "swift-nio-extras", with: "Command")
let argumentParser = product("ArgumentParser", of: "swift-argument-parser", with: "Command")
let hummingbird = product("Hummingbird", of: "hummingbird", with: "Command")
let hummingbirdCore = product("HummingbirdCore", of: "hummingbird", with: "Command")
let openCombine = product("OpenCombine", of: "OpenCombine", with: "OpenCombine")

// Targets that a trait turns on.
let origin: Target.Dependency = .target(name: "AvatarOrigin", condition: trait("HTTPOrigin"))
let pango: Target.Dependency = .target(
    name: "CPango",
    condition: isDevelopment ? .when(platforms: [.linux]) : .when(platforms: [.linux], traits: ["PlaceholderPNG"])
)
let renditions: BuildSettingCondition? = isDevelopment ? nil : .when(traits: ["Renditions"])

/// A library that Linux loads at its first use, because that takes longer than a command that needs none.
func loaded(_ library: String) -> [LinkerSetting] {
    let apple: BuildSettingCondition = .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])
    return [.linkedLibrary(library, apple), .linkedLibrary("dl", .when(platforms: [.linux]))]
}

let decoders = ["jpeg", "png16", "webp", "webpdemux", "gif", "lcms2", "m"].map {
    LinkerSetting.linkedLibrary($0, renditions)
}

let base: [Target.Dependency] = ["AvatarCore", "AvatarFoundation"]
let front: [Target.Dependency] = ["AvatarFoundation", "AvatarStore"]
let testing: [Target.Dependency] = [
    "AvatarCore", "AvatarDigest", "AvatarFiles", "AvatarFileSystem", "AvatarMaintenance", "AvatarProviders",
    "AvatarSQLite", "AvatarStore", "AvatarStoreTesting", "CAvatarTests", "ProgramRunning",
]

let products =
    [
        "AvatarStore", "AvatarMaintenance", "AvatarProviders", "AvatarContacts", "AvatarAddressBooks",
        "AvatarPlaceholder", "AvatarPlaceholderPNG", "AvatarStoreService", "AvatarStoreHTTP", "AvatarStoreS3",
        "AvatarFrontEnds", "AvatarPublisher", "AvatarRenditions", "AvatarStoreTesting",
    ].map { Product.library(name: $0, targets: [$0]) }
    + ["avatars", "avatars-decoder"].map { Product.executable(name: $0, targets: [$0]) }

let package = Package(
    name: "AvatarStore",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: products,
    traits: [
        .trait(name: "HTTPOrigin", description: "The origin client on libcurl. Off: bring your own `OriginClient`."),
        .trait(name: "OpenCombine", description: "`AvatarPublisher` where the platform has no Combine."),
        .trait(name: "PlaceholderPNG", description: "`AvatarPlaceholderPNG`. On Linux it needs libpango1.0-dev."),
        .trait(name: "Renditions", description: "The decoders of `avatars-decoder`, from libraries of the system."),
        .trait(name: "Command", description: "The program `avatars`, with ArgumentParser and Hummingbird."),
        .trait(name: "Standard", description: "`HTTPOrigin` and `Command` together."),
        .default(enabledTraits: isDevelopment ? [] : ["Standard"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.81.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.34.1"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2"),
        .package(url: "https://github.com/OpenCombine/OpenCombine.git", from: "0.14.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.6.0"),
    ],
    targets: [
        .target(name: "AvatarCore", dependencies: [httpTypes]),
        // For host programs that bring an origin client, a shared tier or a maker of renditions of their own.
        .target(name: "AvatarProviders", dependencies: base.and([httpTypes])),
        // Queries, settings and reports of the work of operators. `AvatarMaintenance` re-exports them.
        .target(name: "AvatarReports", dependencies: ["AvatarCore"]),
        .target(name: "AvatarFoundation"),
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        // SHA-256 and MD5, from CryptoKit or OpenSSL: all that the store needs of a cryptographic library.
        .target(name: "AvatarDigest", dependencies: [.target(name: "COpenSSL", condition: .when(platforms: [.linux]))]),
        // Image formats: recognises them and checks files without decoding a pixel.
        .target(name: "AvatarImages", dependencies: ["AvatarCore"]),
        // The numbered SQL files of the folder `Migrations`.
        .target(name: "CAvatarMigrations"),
        .systemLibrary(name: "CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "AvatarSQLite", dependencies: ["CSQLite"]),
        .target(
            name: "AvatarIndex",
            dependencies: base.and(["AvatarFileSystem", "AvatarReports", "AvatarSQLite", "CAvatarMigrations"])
        ),
        // System calls that Swift's Glibc module does not import, and the program's arguments.
        .target(name: "CAvatarSystem"),
        // Every call by which a store uses files.
        .target(name: "AvatarFileSystem", dependencies: base.and(["CAvatarSystem"])),
        .target(
            name: "AvatarFiles",
            dependencies: base.and(["AvatarDigest", "AvatarFileSystem", "AvatarImages", "CAvatarSystem"])
        ),
        // What clients on libcurl and other clients need: rules for hosts, addresses and proxies, redirects, name lookup. No sockets.
        .target(name: "AvatarOriginRules", dependencies: base.and(["AvatarProviders", "CAvatarSystem", httpTypes])),
        .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"]), .brew(["curl"])]),
        // The calls of libcurl that Swift cannot import, and its callbacks.
        .target(name: "CAvatarCurl", dependencies: ["CCurl"], linkerSettings: loaded("curl")),
        .target(
            name: "AvatarOrigin",
            dependencies: base.and(["AvatarOriginRules", "AvatarProviders", "CAvatarCurl", "CAvatarSystem", httpTypes])
        ),
        // Changes index and files together: publishing, eviction, deletion, and what a dead process left.
        .target(
            name: "AvatarWriter",
            dependencies: base.and(["AvatarFiles", "AvatarFileSystem", "AvatarIndex", "AvatarReports", logging])
        ),
        // Decodes content codings of responses, although no request asks for one.
        .systemLibrary(name: "CZlib", providers: [.apt(["zlib1g-dev"])]),
        .target(
            name: "AvatarStore",
            dependencies: base.and([
                "AvatarDigest", "AvatarFiles", "AvatarFileSystem", "AvatarImages", "AvatarIndex", "AvatarProviders",
                "AvatarReports", "AvatarWriter", "CZlib", origin, httpTypes, logging, metrics,
            ])
        ),
        // The work of operators on a store: backup, export, import, settings, statistics, diagnosis. A service needs none of it.
        .target(
            name: "AvatarMaintenance",
            dependencies: base.and([
                "AvatarDigest", "AvatarFiles", "AvatarFileSystem", "AvatarImages", "AvatarIndex", "AvatarProviders",
                "AvatarReports", "AvatarStore", "AvatarWriter", origin,
            ])
        ),
        // The periodic sync for services. A separate product, because only services need the lifecycle package.
        .target(name: "AvatarStoreService", dependencies: ["AvatarStore", logging, serviceLifecycle]),
        // The store over HTTP, as answers to requests. It has no server, so that a host program uses its own.
        .target(
            name: "AvatarStoreHTTP",
            dependencies: base.and([
                "AvatarDigest", "AvatarMaintenance", "AvatarPlaceholder", "AvatarStore", httpTypes, logging,
                serviceLifecycle,
            ]),
            resources: [.embedInCode("openapi.json")]
        ),
        // A shared tier in a bucket of an S3-compatible object store. A separate product, because it needs libcurl.
        .target(
            name: "AvatarStoreS3",
            dependencies: base.and([
                "AvatarDigest", "AvatarOrigin", "AvatarOriginRules", "AvatarProviders", "CAvatarCurl",
            ])
        ),
        // Image types for application code: observable objects, decodable values and batches on one store.
        .target(name: "AvatarFrontEnds", dependencies: front.and(["AvatarPlaceholder"])),
        // A separate product, because only it needs OpenCombine where the platform has no Combine.
        .target(name: "AvatarPublisher", dependencies: front.and([openCombine])),
        .target(name: "AvatarContacts", dependencies: base.and(["AvatarDigest", "AvatarImages"])),
        // The pull reader of the system's libxml2.
        .target(name: "CAvatarXML", linkerSettings: loaded("xml2")),
        // Address books on CardDAV servers, as sources of a sync. A separate product, because it needs libcurl and libxml2.
        .target(
            name: "AvatarAddressBooks",
            dependencies: base.and([
                "AvatarContacts", "AvatarFiles", "AvatarIndex", "AvatarOrigin", "AvatarOriginRules", "AvatarProviders",
                "AvatarStore", "CAvatarXML", httpTypes,
            ])
        ),
        // Placeholders for contacts without an image. It has no dependencies, so a front end can use it alone.
        .target(name: "AvatarPlaceholder"),
        // Placeholders as PNG. A separate product, because text in all scripts needs the system's text libraries.
        .target(name: "AvatarPlaceholderPNG", dependencies: ["AvatarPlaceholder", pango]),
        .systemLibrary(name: "CPango", pkgConfig: "pangocairo", providers: [.apt(["libpango1.0-dev"])]),
        // Decodes images with the system's libraries. Only the helper links it, and runs it in a sandbox.
        .target(
            name: "CAvatarDecoder",
            cSettings: [.define("AVATAR_RENDITIONS", renditions)],
            linkerSettings: decoders
        ),
        .executableTarget(name: "avatars-decoder", dependencies: ["CAvatarDecoder"], path: "Sources/avatars-decoder"),
        // Makes renditions with the helper. It decodes nothing itself and links no decoder.
        .target(
            name: "AvatarRenditions",
            dependencies: base.and(["AvatarImages", "AvatarProviders", "CAvatarSystem"])
        ),
        // An HTTP origin on loopback and sample images, for tests and `avatars demo`. `AvatarStoreTesting` re-exports it.
        .target(name: "AvatarLoopback", dependencies: nio.and(["AvatarFoundation"])),
        .target(
            name: "AvatarStoreTesting",
            dependencies: [
                "AvatarFiles", "AvatarFileSystem", "AvatarFoundation", "AvatarLoopback", "AvatarMaintenance",
                "AvatarProviders", "AvatarStore", "CAvatarSystem", "CSQLite",
            ]
        ),
        .executableTarget(
            name: "avatars",
            dependencies: [
                "AvatarAddressBooks", "AvatarContacts", "AvatarFoundation", "AvatarLoopback", "AvatarMaintenance",
                "AvatarPlaceholder", "AvatarProviders", "AvatarRenditions", "AvatarStore", "AvatarStoreHTTP",
                "AvatarStoreS3", "CAvatarSystem", "CSQLite", argumentParser, httpTypes, hummingbirdCore, logging,
                serviceLifecycle,
            ].and(nio)
        ),
        .testTarget(name: "AvatarCoreTests", dependencies: ["AvatarCore", "AvatarReports", httpTypes]),
        .testTarget(name: "AvatarDigestTests", dependencies: ["AvatarDigest"]),
        .testTarget(
            name: "AvatarImagesTests",
            dependencies: ["AvatarCore", "AvatarImages"],
            resources: [.copy("Fixtures")]
        ),
        .testTarget(name: "AvatarSQLiteTests", dependencies: ["AvatarSQLite"]),
        .testTarget(
            name: "AvatarIndexTests",
            dependencies: [
                "AvatarDigest", "AvatarFileSystem", "AvatarIndex", "AvatarReports", "AvatarSQLite",
                "CSQLite", "ProgramRunning",
            ],
            resources: [.copy("Golden")]
        ),
        .testTarget(name: "AvatarFilesTests", dependencies: testing.and(["AvatarImages"])),
        .testTarget(
            name: "AvatarOriginTests",
            dependencies: testing.and(["AvatarOrigin", "AvatarOriginRules", httpTypes, nioCore, nioPosix, nioSSL])
        ),
        .testTarget(name: "AvatarContactsTests", dependencies: ["AvatarContacts"], resources: [.copy("Samples")]),
        .testTarget(name: "AvatarPlaceholderTests", dependencies: ["AvatarPlaceholder"]),
        .testTarget(
            name: "AvatarPlaceholderPNGTests",
            dependencies: ["AvatarCore", "AvatarImages", "AvatarPlaceholder", "AvatarPlaceholderPNG", pango]
        ),
        .testTarget(
            name: "AvatarAddressBooksTests",
            dependencies: testing.and(["AvatarAddressBooks", "AvatarOriginRules", logging])
        ),
        // The dependency builds the helper; the tests find it beside their own program.
        .testTarget(
            name: "AvatarRenditionsTests",
            dependencies: testing.and(["AvatarImages", "AvatarRenditions", "avatars-decoder", "CZlib"]),
            path: "Tests/Renditions",
            resources: [.copy("Fixtures")]
        ),
        .testTarget(
            name: "AvatarStoreTests",
            dependencies: testing.and([
                "AvatarContacts", "AvatarFoundation", "AvatarStoreService", "AvatarWriter", "CZlib", metrics,
                metricsTestKit, serviceLifecycle,
            ])
        ),
        .testTarget(name: "AvatarStoreHTTPTests", dependencies: testing.and(["AvatarStoreHTTP", httpTypes])),
        .testTarget(name: "AvatarStoreS3Tests", dependencies: testing.and(["AvatarStoreS3", logging])),
        .testTarget(
            name: "AvatarFrontEndsTests",
            dependencies: testing.and(["AvatarFrontEnds"]),
            resources: [.copy("Images")]
        ),
        .testTarget(
            name: "AvatarPublisherTests",
            dependencies: testing.and(["AvatarFrontEnds", "AvatarPublisher", openCombine])
        ),
        .target(name: "CAvatarTests", dependencies: ["CSQLite"], path: "Tests/CAvatarTests"),
        // Runs the built program and its servers, for tests that observe it from outside.
        .target(
            name: "ProgramRunning",
            dependencies: ["AvatarDigest", "AvatarStoreTesting", nioCore, nioPosix, subprocess],
            path: "Tests/ProgramRunning"
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: testing.and(nio).and([
                "AvatarContacts", "avatars", "AvatarStoreHTTP", argumentParser, logging, nioEmbedded, serviceLifecycle,
            ]),
            path: "Tests/Commands"
        ),
        // The program and the store against nginx, through proxies and without a network.
        .testTarget(
            name: "NetworkTests",
            dependencies: testing.and(["avatars", nioCore, nioPosix]),
            path: "Tests/Network"
        ),
        .testTarget(
            name: "InterfaceTests",
            dependencies: testing.and([
                "AvatarAddressBooks", "AvatarContacts", "AvatarFrontEnds", "AvatarPlaceholder", "AvatarPlaceholderPNG",
                "AvatarPublisher", "AvatarRenditions", "AvatarStoreHTTP", "AvatarStoreS3", "AvatarStoreService", origin,
            ]),
            path: "Tests/Interface",
            exclude: ["Recorded"]
        ),
        // Compares the pages with the examples that are compiled, runs their commands, and checks the picture of the modules.
        .testTarget(
            name: "DocumentationTests",
            dependencies: testing.and(["AvatarContacts", "avatars"]),
            path: "Tests/Documentation"
        ),
        // The examples of the pages, compiled as in another package and run.
        .testTarget(
            name: "PageExampleTests",
            dependencies: [
                "AvatarAddressBooks", "AvatarContacts", "AvatarFrontEnds", "AvatarMaintenance", "AvatarProviders",
                "AvatarPublisher", "AvatarStore", "AvatarStoreHTTP", "AvatarStoreService", "AvatarStoreTesting",
                httpTypes, hummingbird, logging, nioCore, nioHTTP1, nioHTTPTypes, nioPosix, openCombine,
                serviceLifecycle,
            ],
            path: "Tests/PageExamples",
            packageAccess: false
        ),
        // The example service, so that it is compiled with each change. `scripts/example` links and tests it.
        .target(
            name: "ContactsSyncService",
            dependencies: [
                "AvatarAddressBooks", "AvatarStoreHTTP", "AvatarStoreService", hummingbird, logging, serviceLifecycle,
            ],
            path: "Examples/ContactsSyncService/Sources/ContactsSyncService",
            packageAccess: false
        ),
        // The built program observed from outside: its system calls, a full disk, a power loss.
        .testTarget(name: "DurabilityTests", dependencies: testing.and(["avatars"]), path: "Tests/Durability"),
        // The operations of the fault campaign, shared by its worker processes and its tests.
        .target(
            name: "Workload",
            dependencies: [
                "AvatarDigest", "AvatarFileSystem", "AvatarFoundation", "AvatarMaintenance", "AvatarProviders",
                "AvatarStore", "AvatarStoreTesting",
            ],
            path: "Tests/Workload"
        ),
        // A worker process that uses a store until a test kills it.
        .executableTarget(
            name: "StoreWorker",
            dependencies: ["AvatarFileSystem", "AvatarStoreTesting", "Workload"],
            path: "Tests/StoreWorker"
        ),
        .testTarget(
            name: "SimulationTests",
            dependencies: testing.and(["AvatarFoundation", "AvatarWriter", "Workload", logging]),
            path: "Tests/Simulation"
        ),
        .testTarget(
            name: "CampaignTests",
            dependencies: testing.and(["StoreWorker", "Workload"]),
            path: "Tests/Campaign"
        ),
    ]
)

// The tests and the example need all optional code.
if !isDevelopment { package.targets.removeAll { $0.isTest || $0.path?.hasPrefix("Examples/") == true } }

let swiftSettings: [SwiftSetting] =
    [.swiftLanguageMode(.v6)]
    + ["NonisolatedNonsendingByDefault", "ExistentialAny", "InternalImportsByDefault"].map {
        .enableUpcomingFeature($0)
    }
    + (warningsAreErrors ? [.treatAllWarnings(as: .error)] : [])
    + (isDevelopment
        ? ["HTTPOrigin", "OpenCombine", "PlaceholderPNG", "Renditions", "Command"].map { .define($0) }
        : standard.map { .define($0, .when(traits: ["Standard"])) })

for target in package.targets
where target.type != .system && !target.name.hasPrefix("CAvatar") && target.name != "avatars-decoder" {
    target.swiftSettings = swiftSettings
    // Unoptimised, the programs and the simulated disks of the tests take twice as long. The tests' own code is the smaller part of a
    // run and the larger part of a build. A debugger wants AVATARS_DEVELOPMENT=debug.
    let isOfTheTests = target.isTest || target.path?.hasPrefix("Tests/") == true
    if isDevelopment, Context.environment["AVATARS_DEVELOPMENT"] != "debug",
        !isOfTheTests || target.name == "SimulationTests"
    {
        target.swiftSettings? += [.unsafeFlags(["-O"], .when(configuration: .debug))]
    }
}
