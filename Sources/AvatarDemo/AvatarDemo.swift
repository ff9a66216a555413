import AvatarContacts
import AvatarStore

/// The store's main job, shown on origins of its own: 1,000 people, images that are there, images that are not, a
/// network that goes away, and a budget that shrinks.
///
/// It uses the store as any program would, counts at the origins and looks at the disk, and says of each claim whether
/// it held.
public enum AvatarDemo {
    /// Runs the demonstration: about ten seconds, nothing beyond loopback.
    ///
    /// A store and `contacts.json` are left behind for the reader to try commands on.
    ///
    /// - Parameters:
    ///   - directory: Where to leave them: a folder that is empty or not there yet. Default: a new one in the system's
    ///     folder for temporary files.
    ///   - output: Called with pieces of text to write as they are: they hold their own line ends, and a progress bar
    ///     begins with a carriage return. Never by two tasks at once.
    ///   - isTerminal: Whether a progress bar may be redrawn in place; otherwise progress is a line now and then.
    ///   - usesColour: Whether the text holds ANSI escape sequences.
    /// - Throws: `AvatarStoreError.unusableRoot` before anything is written if `directory` cannot be used;
    ///   `AvatarDemoError` at the end if a claim did not hold; what the store or the loopback interface throws.
    public static func run(
        keep directory: String?,
        output: @escaping @Sendable (String) -> Void,
        isTerminal: Bool,
        usesColour: Bool
    ) async throws {
        let page = Page(output: output, isTerminal: isTerminal, usesColour: usesColour)
        try await run(keep: directory, page, timeout: .seconds(4))
    }

    /// Runs it on `page`. One of the images never comes, so the first sync takes `timeout`; on a machine that is so busy
    /// that another image takes as long, a claim fails.
    static func run(keep directory: String?, _ page: Page, timeout: Duration) async throws {
        let place = try DemoPlace(keep: directory)
        let people = Person.everybody
        let origins = try await Origins.start(serving: people)
        let portrait = try await finally(origins.stop) {
            let store = try await AvatarStore.open(configuration(place, timeout: timeout))
            // A store is made in an empty folder only.
            try place.writeContacts(people, origins)
            return try await finally(store.close) { try await show(people, origins, place, store, page) }
        }
        page.showCommands(place, portrait: portrait)
        try page.throwIfAClaimFailed()
    }

    /// Runs all steps.
    ///
    /// - Returns: the URL of the portrait that they followed.
    private static func show(
        _ people: [Person],
        _ origins: Origins,
        _ place: DemoPlace,
        _ store: AvatarStore,
        _ page: Page
    ) async throws -> String {
        let list = try ContactList.open(file: place.contactsFile)
        let steps = try Demonstration(people: people, origins: origins, list: list, store: store, page: page)
        page.showTitle(steps.total, place)
        try await steps.syncForTheFirstTime()
        try await steps.syncAgain()
        try await steps.askForEverything()
        try await steps.noticeAChange()
        try await steps.goOffline()
        try await steps.shrinkTheBudget()
        try steps.readTheIndex()
        return steps.guestURL
    }

    private static func configuration(_ place: DemoPlace, timeout: Duration) -> AvatarStore.Configuration {
        var configuration = AvatarStore.Configuration(directory: place.directory)
        configuration.timeout = timeout
        #if HTTPOrigin
        // Loopback is refused unless somebody says that it is meant.
        configuration.http.allowsPrivateNetworks = true
        #endif
        return configuration
    }

    /// Runs `body`, and `cleanUp` in any case; what `body` throws comes first.
    private static func finally<Result>(
        _ cleanUp: () async throws -> Void,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let result: Result
        do {
            result = try await body()
        } catch {
            do {
                try await cleanUp()
            } catch {
                // What went wrong before says more.
            }
            throw error
        }
        try await cleanUp()
        return result
    }
}
