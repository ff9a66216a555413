internal import AvatarCore
internal import Foundation

extension AvatarStoreError {
    /// The list `name` as a whole cannot be read: `problem`, found in `line` if it is about one.
    static func unreadableList(_ name: String, line: Int? = nil, _ problem: String) -> AvatarStoreError {
        let place = line.map { "\(name), line \($0)" } ?? name
        return AvatarStoreError(.unreadableList, "\(place): \(problem).")
    }

    /// The system refused what was `attempted` on the list `name`, with the value of `errno`.
    static func unreadableList(_ name: String, _ attempted: String, errno number: Int32) -> AvatarStoreError {
        var error = unreadableList(name, "\(attempted): \(String(cString: strerror(number)))")
        error.underlying = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        return error
    }
}
