import Foundation
import ProgramRunning

/// The package's manifest, as SwiftPM reads it.
struct Manifest: Decodable, Sendable {
    struct Target: Decodable, Sendable {
        let name: String
        /// `regular`, `executable`, `system` or `test`.
        let type: String
        /// The folder of its sources.
        let path: String
        /// Its dependencies in this package.
        let targets: Set<String>
        /// Its dependencies in other packages.
        let products: Set<String>
        /// `false` if it sees only what another package sees.
        let packageAccess: Bool
    }

    let targets: [Target]
    /// The names of the products that are libraries.
    let libraries: Set<String>

    static var loaded: Manifest { get async throws { try await loading.value } }

    /// SwiftPM compiles the manifest, which takes a second. It needs a build folder of its own, since the tests hold the usual one.
    private static let loading = Task {
        let swift =
            "swift package --package-path '\(Page.root.path(percentEncoded: false))' --scratch-path build dump-package"
        let workplace = try Workplace()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let run = try await workplace.shell("PATH='\(path)' AVATARS_DEVELOPMENT=1 \(swift)")
        try run.requireSuccess()
        return try JSONDecoder().decode(Manifest.self, from: Data(run.bytes))
    }

    private enum CodingKeys: CodingKey { case targets, products }

    init(from decoder: any Decoder) throws {
        struct Product: Decodable {
            let name: String
            let type: [String: [String]?]
        }
        let manifest = try decoder.container(keyedBy: CodingKeys.self)
        targets = try manifest.decode([Target].self, forKey: .targets)
        libraries = try Set(
            manifest.decode([Product].self, forKey: .products).filter { $0.type.keys.contains("library") }.map(\.name)
        )
    }
}

extension Manifest.Target {
    private enum CodingKeys: CodingKey { case name, type, path, dependencies, packageAccess }

    init(from decoder: any Decoder) throws {
        let target = try decoder.container(keyedBy: CodingKeys.self)
        name = try target.decode(String.self, forKey: .name)
        type = try target.decode(String.self, forKey: .type)
        path = try target.decodeIfPresent(String.self, forKey: .path) ?? (type == "test" ? "Tests/" : "Sources/") + name
        packageAccess = try target.decode(Bool.self, forKey: .packageAccess)
        // Each is an object with its kind, which has the name and further details.
        let dependencies = try target.decode([[String: Named]].self, forKey: .dependencies).flatMap(\.self)
        products = Set(dependencies.filter { $0.key == "product" }.map(\.value.name))
        targets = Set(dependencies.filter { $0.key != "product" }.map(\.value.name))
    }

    /// A list that begins with a name.
    private struct Named: Decodable {
        let name: String

        init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            name = try list.decode(String.self)
        }
    }
}
