import AvatarStore
import AvatarStoreTesting
import BenchmarkFigures
import Foundation

/// Images of one size in memory, no two with the same bytes.
struct Images {
    let images: [OwnImage]

    /// - Parameter seed: Different seeds give different bytes.
    init(_ count: Int, of bytes: Int, seed: Int) {
        var image = SampleImage.png(seed: 1, byteCount: bytes)
        // Overwrites part of the pixels, which are noise.
        let place = bytes / 2
        images = (0..<count).map { number in
            withUnsafeBytes(of: (seed << 32 | number).littleEndian) {
                image.replaceSubrange(place..<place + 8, with: $0)
            }
            return OwnImage(named: "person-\(seed)-\(number)", bytes: image)
        }
    }
}

/// The fewest calls that store an image: a temporary file and its rename.
struct PlainFolder {
    private let directory: String
    private let root: Int32
    private let staging: Int32

    /// Makes 256 folders with names of two hex digits, as in a store.
    init(_ directory: String) throws {
        self.directory = directory
        for folder in ["", "/staging", "/caches"] { mkdir(directory + folder, 0o700) }
        for folder in 0..<256 { mkdir(directory + String(format: "/caches/%02x", folder), 0o700) }
        root = open(directory + "/caches", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        staging = open(directory + "/staging", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0, staging >= 0 else { throw BenchmarkError("Cannot create \"\(directory)\".") }
    }

    /// Names for `count` files, spread over the folders at random.
    func names(_ count: Int) -> [String] {
        (0..<count).map { number in
            let spread = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
            return String(format: "%02x/%06x-%016llx.png", Int(spread >> 56), Int(spread >> 32 & 0xFF_FFFF), spread)
        }
    }

    /// Writes `bytes` to a temporary file and renames it.
    ///
    /// - Parameter isDurable: Whether the file and its folder are on stable storage on return.
    func store(_ bytes: [UInt8], as name: String, isDurable: Bool = false) throws {
        let file = openat(staging, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, write(file, bytes, bytes.count) == bytes.count else {
            throw BenchmarkError("Cannot write \"\(name)\".")
        }
        if isDurable { fsync(file) }
        Foundation.close(file)
        guard renameat(staging, "file", root, name) == 0 else {
            throw BenchmarkError("Cannot rename a file to \"\(name)\".")
        }
        guard isDurable else { return }
        let folder = openat(root, String(name.prefix(2)), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        fsync(folder)
        Foundation.close(folder)
    }

    func close() {
        Foundation.close(root)
        Foundation.close(staging)
    }
}
