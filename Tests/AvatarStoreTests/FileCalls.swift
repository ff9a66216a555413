import Foundation

/// Unlinks `path`, like a user or the system.
func removeFile(_ path: String) throws {
    try FileManager.default.removeItem(atPath: path)
}

/// The length of an open file.
func length(of descriptor: Int32) -> Int? {
    var information = stat()
    return fstat(descriptor, &information) == 0 ? Int(information.st_size) : nil
}
