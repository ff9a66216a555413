import AvatarCore
import AvatarFoundation
import AvatarProviders

/// The credentials file of the AWS tools: `[PROFILE]` headers, each followed by lines `name = value`.
struct SharedCredentialsFile {
    private let path: String
    private let profile: String
    /// A larger file is not one of credentials.
    private static let maximumSize = 1_048_576

    /// The file and the profile that the environment names.
    init(_ variables: [String: String]) {
        let home = variables["HOME"] ?? FileManager.default.homeDirectoryForCurrentUser.path
        path = variables["AWS_SHARED_CREDENTIALS_FILE"] ?? home + "/.aws/credentials"
        profile = variables["AWS_PROFILE"] ?? "default"
    }

    /// The credentials of the profile.
    ///
    /// - Throws: `.invalidConfiguration` if the file cannot be read, or the profile is absent or incomplete.
    func credentials() throws(SharedTierError) -> S3Credentials {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw SharedTierError(
                .invalidConfiguration,
                "There are no credentials for the shared tier. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or make the "
                    + "file \"\(path)\" readable."
            )
        }
        guard data.count <= Self.maximumSize else {
            throw SharedTierError(.invalidConfiguration, "The credentials file \"\(path)\" must not exceed 1 MiB.")
        }
        let values = Self.values(of: profile, in: String(decoding: data, as: UTF8.self))
        guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else {
            throw SharedTierError(
                .invalidConfiguration,
                "The profile \"\(profile)\" in \"\(path)\" must have aws_access_key_id and aws_secret_access_key. Add them, or "
                    + "set AWS_PROFILE to another profile."
            )
        }
        return S3Credentials(accessKey: key, secretKey: secret, sessionToken: values["aws_session_token"])
    }

    /// The values of a profile. Lines of no known form are skipped, as the AWS tools have settings of more than one line.
    private static func values(of profile: String, in text: String) -> [String: String] {
        var values: [String: String] = [:]
        var isInProfile = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.withoutWhiteSpace
            guard let first = line.first, first != "#", first != ";" else { continue }
            if first == "[", line.hasSuffix("]") {
                isInProfile = line.dropFirst().dropLast().withoutWhiteSpace == profile
            } else if isInProfile, let sign = line.firstIndex(of: "=") {
                let value = line[line.index(after: sign)...].withoutWhiteSpace
                if !value.isEmpty { values[line[..<sign].withoutWhiteSpace.lowercased()] = value }
            }
        }
        return values
    }
}
