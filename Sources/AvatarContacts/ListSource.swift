internal import AvatarCore

/// Where the bytes of a list come from, as often as they are asked for.
struct ListSource: Sendable {
    /// What messages call the list.
    let name: String
    private let contents: Contents

    private enum Contents {
        case memory([UInt8])
        case file(ListFile)
    }

    init(name: String, bytes: [UInt8]) {
        self.name = name
        contents = .memory(bytes)
    }

    init(name: String, file: ListFile) {
        self.name = name
        contents = .file(file)
    }

    /// Up to `count` bytes at `offset`: fewer only at the end, none after it.
    func bytes(at offset: Int, count: Int) throws(AvatarStoreError) -> ArraySlice<UInt8> {
        switch contents {
        case .memory(let bytes): bytes[offset...].prefix(count)
        case .file(let file): try file.bytes(at: offset, count: count, name: name)[...]
        }
    }
}
