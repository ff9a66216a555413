import Foundation

/// Removes a folder of a test.
func removeFolder(_ path: String) {
    do {
        try FileManager.default.removeItem(atPath: path)
    } catch {
        // What is left lies in the temporary directory; the test's own result matters more.
    }
}
