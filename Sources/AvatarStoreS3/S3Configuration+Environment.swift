import AvatarCore
public import AvatarProviders
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension S3Configuration {
    /// A configuration from a URL such as `s3://BUCKET/PREFIX` and the environment variables of the AWS tools.
    ///
    /// | setting | from |
    /// |---|---|
    /// | endpoint | `endpoint`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, else Amazon S3 |
    /// | region | `AWS_REGION`, `AWS_DEFAULT_REGION`, else `us-east-1` |
    /// | credentials | `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`, else the profile `AWS_PROFILE` (`default` without it) of the file `AWS_SHARED_CREDENTIALS_FILE` (`~/.aws/credentials` without it) |
    /// | certificates | `AWS_CA_BUNDLE`, else those of the system |
    ///
    /// An empty variable counts as absent. The file of credentials is read at most once, here.
    ///
    /// - Parameters:
    ///   - url: the bucket and the prefix. A `/` at its end does not count.
    ///   - endpoint: the URL of the service. Default: `nil`, for the environment's.
    ///   - environment: the variables. Default: those of this process.
    /// - Throws: `.invalidConfiguration` if the URL has another form, or the credentials are missing or incomplete.
    public init(
        url: String,
        endpoint: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(SharedTierError) {
        let variables = environment.filter { !$0.value.isEmpty }
        let (bucket, prefix) = try Self.place(url)
        self.init(
            bucket: bucket,
            endpoint: endpoint ?? variables["AWS_ENDPOINT_URL_S3"] ?? variables["AWS_ENDPOINT_URL"],
            credentials: try Self.credentials(variables)
        )
        self.prefix = prefix
        region = variables["AWS_REGION"] ?? variables["AWS_DEFAULT_REGION"] ?? region
        certificateFile = variables["AWS_CA_BUNDLE"]
    }

    private static func place(_ url: String) throws(SharedTierError) -> (bucket: String, prefix: String) {
        let scheme = "s3://"
        // A query or a user might hold a secret, so such a URL is not repeated.
        guard url.lowercased().hasPrefix(scheme), !url.contains(where: { "?#@".contains($0) }) else {
            throw SharedTierError(
                .invalidConfiguration,
                "The URL of a shared tier must have the form s3://BUCKET/PREFIX, without user, query or fragment."
            )
        }
        let parts = url.dropFirst(scheme.count).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        var prefix = parts.count == 2 ? parts[1] : ""
        while prefix.hasSuffix("/") { prefix.removeLast() }
        return (String(parts[0]), String(prefix))
    }

    private static func credentials(_ variables: [String: String]) throws(SharedTierError) -> S3Credentials {
        switch (variables["AWS_ACCESS_KEY_ID"], variables["AWS_SECRET_ACCESS_KEY"]) {
        case (let key?, let secret?):
            return S3Credentials(accessKey: key, secretKey: secret, sessionToken: variables["AWS_SESSION_TOKEN"])
        case (nil, nil):
            return try SharedCredentialsFile(variables).credentials()
        case (nil, _?):
            throw SharedTierError(
                .invalidConfiguration,
                "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not. Set both or neither."
            )
        case (_?, nil):
            throw SharedTierError(
                .invalidConfiguration,
                "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not. Set both or neither."
            )
        }
    }
}
