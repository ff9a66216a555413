import AvatarStore

extension Demonstration {
    func syncAgain() async throws {
        page.heading("The same sync again")
        page.text("What came is fresh, as its origin said; what failed waits for its next check.")
        let report = try await sync()
        let requests = origins.requestCount
        page.check(
            """
            the origins saw 0 requests: \(Figures.count(firstSync.fetched)) fresh, \
            \(Figures.count(firstSync.failed)) waiting, in \(Figures.seconds(report.seconds))
            """,
            requests == 0 && report.fresh == firstSync.fetched && report.skipped == firstSync.failed,
            otherwise: "\(requests) requests, \(report.fresh) fresh, \(report.skipped) waiting"
        )
    }

    func askForEverything() async throws {
        page.heading("sync --all: has anything changed?")
        page.text("The origins are asked all the same, with the ETag or Last-Modified they gave.")
        let before = try cachedFiles()
        let report = try await sync(includingFresh: true)
        let after = try cachedFiles()
        page.check(
            """
            \(Figures.count(firstSync.fetched)) times 304 in \(Figures.seconds(report.seconds)); \
            the origins sent 0 bytes of images
            """,
            report.notModified == firstSync.fetched && origins.bytesSent == 0,
            otherwise: "\(report.notModified) times, \(origins.bytesSent) bytes"
        )
        page.check(
            "no file was written: \(Figures.count(before.files.count, "name")) in caches/, sizes and times as before",
            after == before,
            otherwise: "\(after.files.count), or others"
        )
    }

    func noticeAChange() async throws {
        page.heading("\(guest.name) has a new picture")
        page.text("It is at the old URL; until its origin is asked, the old one is served.")
        let old = try StoredPicture(guestURL, in: store)
        origins.replacePicture(of: guest)
        _ = try await sync()
        let meanwhile = try StoredPicture(guestURL, in: store)
        let report = try await sync(includingFresh: true)
        let new = try StoredPicture(guestURL, in: store)
        page.table(
            [row("before", old), row("after a sync", meanwhile), row("after sync --all", new)],
            rightAligned: [1]
        )
        page.check(
            "1 image changed, \(Figures.count(firstSync.fetched - 1)) did not",
            meanwhile == old && new != old && report.changed == 1 && report.notModified == firstSync.fetched - 1,
            otherwise: "\(report.changed) and \(report.notModified), or at another time"
        )
    }

    private func row(_ when: String, _ picture: StoredPicture) -> [String] {
        [when, Figures.count(picture.bytes.count, "byte"), "sha256 \(picture.sha256.prefix(16))…"]
    }
}
