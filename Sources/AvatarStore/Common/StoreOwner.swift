import AvatarCore
package import AvatarFileSystem
import AvatarFiles
import AvatarFoundation

/// The user to whom a store belongs.
package struct StoreOwner: Sendable {
    /// The number of the user.
    package let number: UInt32

    /// The owner of the index at `layout`; `nil` without an index.
    package init?(of layout: StoreLayout, on fileSystem: any FileSystem = LocalFileSystem()) {
        self.init(ofFile: layout.indexPath, on: fileSystem)
    }

    /// The owner of the file or folder at `path`; `nil` if it is missing.
    package init?(ofFile path: String, on fileSystem: any FileSystem = LocalFileSystem()) {
        guard let user = ForeignOwners.user(of: path, on: fileSystem) else { return nil }
        number = user
    }

    /// The user with the number `number`.
    package init(_ number: UInt32) {
        self.number = number
    }

    /// The name of the user; the number if the system knows no name.
    package var name: String { knownName ?? "\(number)" }

    /// The user as `sudo -u` takes it.
    package var sudoName: String { knownName ?? "'#\(number)'" }

    private var knownName: String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1 << 14) { buffer in
            guard let start = buffer.baseAddress, getpwuid_r(number, &entry, start, buffer.count, &found) == 0,
                let found = found?.pointee.pw_name
            else { return nil }
            return String(cString: found)
        }
    }

    /// The command that gives `paths` and everything below them to the user.
    package func chown(_ paths: [String]) -> String {
        // The colon adds the user's own group.
        let user = knownName.map { "\($0):" } ?? "\(number)"
        return (["chown", "-R", user] + paths.map(ShellWord.quoted)).joined(separator: " ")
    }
}

extension TargetAccess {
    /// Checks that no other user can change what is written to the folder, as a backup and an export require.
    ///
    /// - Parameter path: the path of the folder, for the message.
    /// - Throws: `unusableRoot`.
    package func requireOwn(_ path: String) throws(AvatarStoreError) {
        guard isOwn else {
            let owner = StoreOwner(owner)
            throw AvatarStoreError(
                .unusableRoot,
                "\"\(path)\" belongs to \(owner.name), who could change what is written there. Choose another folder, or run "
                    + "the command as \(owner.name): `sudo -u \(owner.sudoName) avatars …`."
            )
        }
        guard !isOpenToAll else {
            throw AvatarStoreError(
                .unusableRoot,
                "Every user may write to \"\(path)\". Choose another folder, or run `chmod o-w \(ShellWord.quoted(path))`."
            )
        }
    }
}

/// A word of a shell command.
package enum ShellWord {
    /// `text` as one word, in quotation marks if it needs them.
    package static func quoted(_ text: String) -> String {
        let isPlain = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "@"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        guard !isPlain || text.isEmpty else { return text }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

extension StoreLayout {
    /// The folders of the store that exist, none inside another.
    package func ownFolders(on fileSystem: any FileSystem = LocalFileSystem()) -> [String] {
        let all = [indexDirectory] + StorageClass.allCases.flatMap { [root(of: $0), staging(of: $0)] }
        var folders: [String] = []
        for folder in all where fileSystem.exists(folder) && !folders.contains(folder) {
            if !all.contains(where: { folder.hasPrefix($0 + "/") }) { folders.append(folder) }
        }
        return folders
    }
}
