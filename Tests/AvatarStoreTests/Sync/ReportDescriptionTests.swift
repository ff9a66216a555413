import AvatarCore
import Testing

@testable import AvatarStore

@Suite(.timeLimit(.minutes(5)))
struct ReportDescriptionTests {
    @Test func aSyncReportNamesItsCounts() {
        var report = SyncReport()
        report.contacts = 3
        report.fetched = 2
        report.changed = 1
        report.requests = 4
        report.bytesReceived = 5000
        report.duration = .milliseconds(1250)

        #expect(
            report.description == """
                sync complete: 2 images wanted (2 fetched, 1 of them changed); list: 3 contacts; 0 files evicted; \
                4 requests, 5000 bytes received, 1.250 s
                """
        )
    }

    @Test func oneOfAThingIsInTheSingular() {
        var report = SyncReport()
        report.contacts = 1
        report.fetched = 1
        report.evicted = 1
        report.requests = 1
        report.bytesReceived = 1

        #expect(
            report.description
                == "sync complete: 1 image wanted (1 fetched); list: 1 contact; 1 file evicted; 1 request, "
                + "1 byte received, 0.000 s"
        )
    }

    @Test func aThousandFailuresAreOneMoreLine() {
        var report = SyncReport()
        for number in 0..<1200 {
            let kind: FailureKind = number < 5 ? .gone : .timeout
            report.fail(kind)
            report.add(SyncReport.Failure(key: "https://example.org/\(number)", kind: kind, message: "No \(number)."))
        }

        let lines = "\(report)".split(separator: "\n")

        #expect(lines.count == 2)
        #expect(lines.last == "failures: 995 timeout, 5 gone; the first: No 5.")
    }
}
