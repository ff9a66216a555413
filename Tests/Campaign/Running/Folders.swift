import Foundation

/// Removes a folder of a test.
func removeFolder(_ path: String) {
    do {
        try FileManager.default.removeItem(atPath: path)
    } catch {
        // A folder left in the temporary directory does no harm, and the test's own result matters more.
    }
}
