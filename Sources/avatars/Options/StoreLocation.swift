import AvatarStore
import Foundation

/// Where the store is: where the command line says, else `$AVATARS_STORE`, else where this system keeps such things.
struct StoreLocation {
    /// What the command line says.
    var directory: String?

    /// All paths are absolute.
    var layout: StoreLayout {
        if let directory = directory ?? value("AVATARS_STORE") {
            return StoreLayout(directory: Self.absolute(directory))
        }
        return StoreLayout(cachesIn: cachesDirectory + "/avatars", documentsIn: dataDirectory + "/avatars")
    }

    /// `path` from the root on, without `.` and empty parts. `..` stays: what it leads to is for the system to say.
    static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return "/" + whole.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    #if os(Linux)
    // XDG Base Directory Specification 0.8; a relative path in these variables is to be ignored.
    private var cachesDirectory: String { absoluteValue("XDG_CACHE_HOME") ?? home + "/.cache" }
    private var dataDirectory: String { absoluteValue("XDG_DATA_HOME") ?? home + "/.local/share" }

    private var home: String { absoluteValue("HOME") ?? NSHomeDirectory() }

    private func absoluteValue(_ name: String) -> String? {
        value(name).flatMap { $0.hasPrefix("/") ? Self.absolute($0) : nil }
    }
    #else
    private var cachesDirectory: String { Self.absolute(URL.cachesDirectory.path(percentEncoded: false)) }
    private var dataDirectory: String { Self.absolute(URL.applicationSupportDirectory.path(percentEncoded: false)) }
    #endif

    private func value(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
