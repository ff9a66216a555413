import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// A run of the program with failing calls: the store before it, and the command.
enum FailingWork: String, CaseIterable, CustomTestStringConvertible {
    case replaceDocument
    case replaceInCaches
    case evict
    case move
    case sync

    var testDescription: String { rawValue }

    /// Makes the store `base`, with an image that `arguments` will replace, move, or keep.
    func prepare(_ workplace: Workplace, _ images: ChangingImages) async throws {
        try workplace.write("old.png", imageBytes("own", version: 1))
        try workplace.write("new.png", imageBytes("own", version: 2))
        let origin = images.origin
        try workplace.write("list.txt", origin.list(3))
        try await workplace.run("config", "budget", "14kB", "--store", "base").requireSuccess()
        let store = ["--store", "base", "--allow-private-network"]
        try await workplace.start(["fetch", origin.url("/p/1.png"), origin.url("/p/2.png")] + store).end()
            .requireSuccess()
        try await workplace.run("save", "old.png", "--name", "own", "--store", "base").requireSuccess()
        images.change()
    }

    /// The command line on the store `store`.
    func arguments(_ origin: LoopbackOrigin) -> [String] {
        switch self {
        case .replaceDocument: ["save", "new.png", "--name", "own", "--json"]
        case .replaceInCaches: ["fetch", origin.url("/p/1.png"), "--policy", "reload"] + Self.network
        // There is room for three of the images.
        case .evict: ["fetch", origin.url("/p/3.png"), origin.url("/p/4.png"), "--connections", "1"] + Self.network
        case .move: ["move", origin.url("/p/1.png"), "--to", "documents", "--json"]
        case .sync: ["sync", "list.txt", "--all"] + Self.network
        }
    }

    private static let network = ["--allow-private-network", "--json"]

    /// The image that must exist whatever fails, with its old and its new bytes; once the program reports success, only
    /// the new ones.
    func image(_ origin: LoopbackOrigin) -> (key: String, old: [UInt8], new: [UInt8]) {
        switch self {
        case .replaceDocument: ("name:own", imageBytes("own", version: 1), imageBytes("own", version: 2))
        case .replaceInCaches, .sync:
            (origin.url("/p/1.png"), imageBytes("/p/1.png", version: 1), imageBytes("/p/1.png", version: 2))
        case .move: (origin.url("/p/1.png"), imageBytes("/p/1.png"), imageBytes("/p/1.png"))
        case .evict: ("name:own", imageBytes("own"), imageBytes("own"))
        }
    }
}
