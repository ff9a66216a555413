import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStoreHTTP

/// The exported pages in a real browser, if this machine has one.
@Suite(.enabled(if: Browser.path != nil, "needs Chromium: apt-get install chromium"), .timeLimit(.minutes(5)))
struct BrowserTests {
    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func pagesFitAndObeyTheirPolicy(isDark: Bool) async throws {
        try await PageTests.withHostileStore { fixture in
            try await Browser.withFolder { folder in
                let site = Site(folder: folder.appending(path: "site"))
                _ = try await fixture.store.exportGallery(to: site.path)
                let pages = ["index.html"] + HostileContacts.ids.prefix(8).map(StaticPaths(isFirstPage: true).contact)
                try Data(Self.harness(pages).utf8).write(to: folder.appending(path: "harness.html"))

                let run = try await Browser.run(
                    [
                        "--blink-settings=preferredColorScheme=\(isDark ? 0 : 1)", "--allow-file-access-from-files",
                        "--dump-dom",
                        folder.appending(path: "harness.html").absoluteString,
                    ],
                    in: folder
                )

                let found = try #require(
                    run.text.firstMatch(of: /<pre id="result">([^<]*)<\/pre>/),
                    "\(run.messages.suffix(500))"
                )
                let frames = try JSONDecoder().decode([Frame].self, from: Data(String(found.1).utf8))
                #expect(frames.count == pages.count * Self.widths.count)
                for frame in frames {
                    // No page is wider than its window, every image is shown, and the style sheet has the right digest.
                    #expect(frame.scrollWidth <= frame.width, "\(frame.page) at \(frame.width)")
                    #expect(frame.images > 0 && frame.brokenImages == 0, "\(frame.page)")
                    #expect(frame.background == (isDark ? "rgb(22, 22, 24)" : "rgb(246, 245, 242)"), "\(frame.page)")
                    #expect(frame.smallTargets == [], "\(frame.page) at \(frame.width)")
                }
                // Violations of the policy and errors of pages are messages of the console.
                #expect(!run.messages.contains("CONSOLE"), "\(run.messages.suffix(500))")
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func screenshotShowsImages() async throws {
        try await ResponderFixture.with { fixture in
            try await Browser.withFolder { folder in
                let site = Site(folder: folder.appending(path: "site"))
                _ = try await fixture.store.store.exportGallery(to: site.path)
                let image = folder.appending(path: "page.png")

                let first = site.folder.appending(path: "index.html").absoluteString
                let screenshot = "--screenshot=\(image.path(percentEncoded: false))"
                _ = try await Browser.run(["--window-size=800,600", screenshot, first], in: folder)

                // An empty page makes a PNG of about 3 kB.
                #expect(try Data(contentsOf: image).count > 8000)
            }
        }
    }

    private static let widths = [320, 390, 1280]

    /// What a page in a frame of the harness turned out to be.
    private struct Frame: Decodable {
        let page: String
        let width: Int
        let scrollWidth: Int
        let images: Int
        let brokenImages: Int
        let background: String
        /// The texts of links and buttons that are lower than 44 pixels, without links inside facts.
        let smallTargets: [String]
    }

    /// A page that loads each of `pages` at each width and writes down what it finds. Only this page has a script.
    ///
    /// The browser prints the page once it has loaded, which a document that stays open in a frame puts off until the result is there:
    /// images are decoded beside the page, and take the time that the machine needs.
    private static func harness(_ pages: [String]) throws -> String {
        let frames = pages.flatMap { page in widths.map { ["page": page, "width": "\($0)"] } }
        return """
            <!doctype html><style>iframe{border:0}</style><pre id="result"></pre><iframe id="unfinished"></iframe>
            <script>
            const unfinished = document.getElementById('unfinished').contentDocument;
            unfinished.open();
            const load = ({page, width}) => new Promise(done => {
              const frame = document.createElement('iframe');
              frame.addEventListener('load', () => done(frame));
              Object.assign(frame, {src: 'site/' + page, width, height: 900});
              frame.dataset.page = page;
              document.body.append(frame);
            });
            (async () => {
              const frames = await Promise.all(\(String(decoding: try JSONEncoder().encode(frames), as: UTF8.self)).map(load));
              for (const frame of frames) for (const image of frame.contentDocument.images) image.loading = 'eager';
              await Promise.allSettled(frames.flatMap(f => [...f.contentDocument.images].map(i => i.decode())));
              document.getElementById('result').textContent = JSON.stringify(frames.map(frame => {
                const page = frame.contentDocument, images = [...page.images];
                return {
                  page: frame.dataset.page, width: +frame.width, scrollWidth: page.documentElement.scrollWidth,
                  images: images.length, brokenImages: images.filter(i => !i.naturalWidth).length,
                  background: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
                  smallTargets: [...page.querySelectorAll('a, button, summary')]
                    .filter(e => !e.closest('dd') && !e.closest('h1') && e.getBoundingClientRect().height < 44)
                    .map(e => e.outerHTML.slice(0, 80).replaceAll('<', '(')),
                };
              }));
            })().finally(() => unfinished.close());
            </script>
            """
    }
}

/// The browser of this machine.
private enum Browser {
    /// The path of Chromium; `nil` if there is none.
    static let path = ["chromium", "chromium-browser", "google-chrome"].lazy.compactMap { name in
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }.first

    /// Runs the browser without a window on a profile of its own in `folder`.
    static func run(_ arguments: [String], in folder: URL) async throws -> Run {
        // The sandbox of the browser needs rights that a container has not.
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run"]
        let profile = "--user-data-dir=" + folder.appending(path: "profile").path(percentEncoded: false)
        let run = try await Workplace().run(
            tool: try #require(path),
            flags + ["--enable-logging=stderr", profile] + arguments,
            environment: ProcessInfo.processInfo.environment
        )
        #expect(run.status == 0)
        return run
    }

    /// A temporary folder for `body`.
    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "browser-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                Issue.record(error)
            }
        }
        try await body(folder)
    }
}
