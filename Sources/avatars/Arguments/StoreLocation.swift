import AvatarStore
import AvatarFoundation

/// The place of the store: the directory that `--store` names, else `$AVATARS_STORE`, else the platform's directories
/// for caches and data.
struct StoreLocation {
    /// The value of `--store`; `nil` if the option was not given.
    var directory: String?

    /// The store's paths, all absolute.
    var layout: StoreLayout {
        if let singleDirectory { return StoreLayout(directory: singleDirectory) }
        return StoreLayout(cachesIn: cachesDirectory + "/avatars", documentsIn: dataDirectory + "/avatars")
    }

    /// The absolute path of the directory that has the whole store; `nil` for the platform's directories.
    var singleDirectory: String? { (directory ?? Self.value("AVATARS_STORE")).map(Self.absolute) }

    /// `$HOME`, or the home directory that Foundation finds where the variable is not an absolute path.
    static var home: String { absoluteValue("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path }

    /// `path` as an absolute path without `.` and empty components; a relative path starts at the working directory.
    ///
    /// `..` stays, because only the file system knows where it leads when the component before it is a symbolic link.
    static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    #if os(Linux)
    // XDG Base Directory Specification 0.8, which requires relative paths in these variables to be ignored.
    /// The place for files that may be deleted at any time: `$XDG_CACHE_HOME`.
    private var cachesDirectory: String { Self.absoluteValue("XDG_CACHE_HOME") ?? Self.home + "/.cache" }
    /// The place for files that must stay: `$XDG_DATA_HOME`.
    private var dataDirectory: String { Self.absoluteValue("XDG_DATA_HOME") ?? Self.home + "/.local/share" }
    #else
    /// The folder Caches, which the system may empty.
    private var cachesDirectory: String { Self.absolute(URL.cachesDirectory.path(percentEncoded: false)) }
    /// The folder Application Support, which the system backs up and never empties.
    private var dataDirectory: String { Self.absolute(URL.applicationSupportDirectory.path(percentEncoded: false)) }
    #endif

    /// The environment variable `name`; `nil` if it is not an absolute path.
    private static func absoluteValue(_ name: String) -> String? {
        value(name).flatMap { $0.hasPrefix("/") ? absolute($0) : nil }
    }

    /// The environment variable `name`; `nil` if it is unset or empty.
    private static func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
