import ArgumentParser
import AvatarStore

extension EmailSource {
    /// A source as a person names it: `libravatar`, `gravatar`, or the URL before the digest.
    static func parse(_ text: String) throws -> EmailSource {
        switch text {
        case "libravatar": return .libravatar
        case "gravatar": return .gravatar
        default:
            do {
                return try EmailSource(baseURL: text)
            } catch {
                throw ValidationError("--email-source must be libravatar, gravatar or a URL. \(error.message)")
            }
        }
    }
}
