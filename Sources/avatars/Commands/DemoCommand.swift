import ArgumentParser
import AvatarStore
import AvatarFoundation

/// `avatars demo`: runs `Demonstration` and prints it on standard output.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Demonstrates a sync against a built-in server; contacts no other machine.",
        discussion: """
            The demo deletes its store at the end; --keep DIR keeps it. Exit code 1 if one of its checks fails.

            Example: avatars demo --open
            """
    )

    /// The folder that the demo leaves behind; `nil` for a temporary one, which it deletes.
    @Option(
        help: ArgumentHelp(
            "Keep the store and the contact list in this folder, to try commands on.",
            valueName: "dir"
        ),
        completion: .directory
    )
    var keep: String?

    /// The page outlives the demo, so nothing has to be stopped afterwards.
    @Flag(help: "At the end, export the store as pages and open them in a browser, or print their path.")
    var open = false

    /// Runs the demo and prints an error if a claim failed.
    ///
    /// - Throws: `ExitCode.someFailed` if a claim failed; the exit code of `unusableRoot` for an unusable folder; any
    ///   error of the store.
    func run() async throws {
        do {
            let page = DemoPage(
                isTerminal: Console.output.isTerminal,
                usesColour: Console.output.hasColour,
                output: Self.write
            )
            let gallery = try await Demonstration.run(
                keep: keep.map(StoreLocation.absolute),
                withGallery: open,
                on: page
            )
            if let gallery { show(gallery, on: page) }
        } catch let error as DemoError {
            Message.error(error.description)
            throw ExitCode.someFailed
        } catch let error as AvatarStoreError where error.code == .unusableRoot {
            // The usual advice names --store, which this command does not have.
            Message.error("\(error.message) Choose another with --keep.")
            throw error.exitCode
        }
    }

    /// Prints the path of the pages, and opens them where a browser can show them.
    private func show(_ gallery: String, on page: DemoPage) {
        let opener = PageOpener(isTerminal: Console.output.isTerminal, environment: ProcessInfo.processInfo.environment)
        page.showGallery(gallery, isOpened: opener.open(gallery))
    }

    /// Writes a piece of the page to standard output.
    @Sendable
    private static func write(_ text: TerminalText) {
        do {
            try Console.output.write(text)
        } catch {
            // The reader has closed the pipe. The demo runs to its end all the same and leaves its folder.
        }
    }
}
