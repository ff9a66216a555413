internal import AvatarCore
internal import Foundation

extension ListFile {
    /// Copies `input` from where it stands to its end into a temporary file that has no name any more: it goes with
    /// the process, however that ends. `input` stays open.
    static func spooled(from input: Int32, name: String) throws(AvatarStoreError) -> ListFile {
        let output = try unnamedFile(for: name)
        do {
            try copy(from: input, to: output, name: name)
        } catch {
            _ = close(output)
            throw error
        }
        return try ListFile(descriptor: output, name: name)
    }

    /// A new, empty file that only this process can reach.
    private static func unnamedFile(for name: String) throws(AvatarStoreError) -> Int32 {
        let problem = "no temporary file can be made for the list"
        let path = FileManager.default.temporaryDirectory.appending(path: "avatars-list-\(UUID().uuidString)").path
        let descriptor = try retrying(name, problem) {
            Foundation.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)
        }
        guard unlink(path) == 0 else {
            let number = errno
            _ = close(descriptor)
            throw .unreadableList(name, problem, errno: number)
        }
        return descriptor
    }

    private static func copy(from input: Int32, to output: Int32, name: String) throws(AvatarStoreError) {
        var buffer = [UInt8](repeating: 0, count: ListCursor.chunkBytes)
        while true {
            let count = try retrying(name, "the list cannot be read") { read(input, &buffer, buffer.count) }
            guard count > 0 else { return }
            try write(buffer[..<count], to: output, name: name)
        }
    }

    private static func write(
        _ bytes: ArraySlice<UInt8>,
        to output: Int32,
        name: String
    ) throws(AvatarStoreError) {
        var rest = bytes
        while !rest.isEmpty {
            rest = rest.dropFirst(
                try retrying(name, "the list cannot be copied to a temporary file") {
                    rest.withUnsafeBytes { Foundation.write(output, $0.baseAddress, $0.count) }
                }
            )
        }
    }
}
