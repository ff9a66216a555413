import ArgumentParser
import AvatarProviders
import AvatarStore
import AvatarStoreS3
import Logging

/// The options that name the object store behind several machines. Credentials come from the environment or a file, because an
/// argument would show them in the process list.
struct SharedTierOptions: ParsableArguments {
    /// Sets `Configuration.sharedTier`.
    @Option(
        help: ArgumentHelp(
            "Shared tier: an S3 bucket that several machines share. Commands look for images there before they ask the "
                + "hosts. Credentials: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws/credentials. Default: "
                + "$AVATARS_SHARED.",
            valueName: "s3-url"
        )
    )
    private var shared: String?

    /// Sets `S3Configuration.endpoint`.
    @Option(
        help: ArgumentHelp(
            "URL of the S3-compatible service. Default: $AWS_ENDPOINT_URL_S3, $AWS_ENDPOINT_URL, else Amazon S3.",
            valueName: "url"
        )
    )
    private var endpoint: String?

    /// - Throws: `ValidationError` for an endpoint without a bucket, and for a bucket, an endpoint or credentials that cannot be used.
    func validate() throws {
        if endpoint != nil, url == nil {
            throw ValidationError("--endpoint needs --shared s3://BUCKET/PREFIX.")
        }
        do {
            _ = try tier()
        } catch {
            throw ValidationError("--shared: \(error.message)")
        }
    }

    /// The URL as given, else as its variable says.
    private var url: String? { shared ?? EnvironmentDefaults.shared.value }

    /// The tier of the option, without its variable; `nil` if it is not given.
    func tierOfOption() throws(SharedTierError) -> S3Tier? {
        shared == nil ? nil : try tier()
    }

    /// The tier; `nil` if none is named.
    func tier() throws(SharedTierError) -> S3Tier? {
        guard let url else { return nil }
        return try S3Tier(S3Configuration(url: url, endpoint: endpoint))
    }

    /// Puts the tier into `configuration`. Without `--verbose` its warnings are messages of the program.
    func apply(to configuration: inout AvatarStore.Configuration) throws {
        guard let tier = try tier() else { return }
        configuration.sharedTier = tier
        if configuration.logger.handler is SwiftLogNoOpLogHandler { configuration.logger = ServerLog.logger }
    }
}
