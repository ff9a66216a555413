import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import avatars

/// `serve --sync-file`: several syncs, each with options of its own.
@Suite(.timeLimit(.minutes(5))) struct SyncFileTests {
    @Test func eachLineIsASync() throws {
        let text = """
            # The staff.
            people.json --prune   # and no others

              "my staff.csv" --column id="Employee Number" --column 'photo=Photo URL' --class documents
            cards\\ here.vcf --list-name=x\r
            """
        let lines = try SyncFile.lines(of: text, named: "syncs")

        #expect(lines.map(\.place) == [2, 4, 5].map { "line \($0) of \"syncs\"" })
        #expect(lines.map(\.sync.contacts) == [["people.json"], ["my staff.csv"], ["cards here.vcf"]])
        #expect(lines[0].sync.prune && !lines[1].sync.prune && lines[1].sync.storage == .documents)
        #expect(try lines[1].sync.lists.reading().columns == [.id: ["Employee Number"], .photo: ["Photo URL"]])
        #expect(lines[2].sync.listName == "x")
        #expect(try SyncFile.lines(of: "\n# none\n", named: "syncs").isEmpty)
    }

    @Test(arguments: [
        ("people.json \"open", "The quote in line 1 of \"syncs\" is not closed."),
        (
            "people.json --store x",
            "The option \"--store\" in line 1 of \"syncs\" is not one of a sync's: --all, --book"
        ),
        ("people.json -n", "The option \"-n\" in line 1"),
        ("people.json --on-change=x", "The option \"--on-change\" in"),
        ("--prune", "In line 1 of \"syncs\": --prune needs a contact list."),
        ("- --format json", "A server cannot read standard input (-), which line 1 of \"syncs\" names."),
        ("people.csv --column x", "In line 1 of \"syncs\": --column must be PART=NAME"),
    ])
    func lineThatIsNoSyncIsRefused(line: String, message: String) {
        let error = #expect(throws: (any Error).self) { try SyncFile.lines(of: line, named: "syncs") }
        let text = error.map { "\($0)" } ?? ""
        #expect(text.hasPrefix(message), "\(text)")
    }

    @Test func linesHaveTheirOwnOptions_andAreReadAgain() async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try workplace.write("people.json", "[{\"id\": \"ada\", \"avatarURL\": \"\(origin.url("/ada.png"))\"}]")
            try workplace.write("staff.csv", "Nr,photo\n7,\(origin.url("/bo.png"))\n")
            try workplace.write("more.json", "[{\"id\": \"cy\"}]")
            let staff = "staff.csv --column id=Nr --class documents\n"
            try workplace.write("syncs", "people.json\n\(staff)")
            let options = [
                "--sync-file", "syncs", "--every", "1h", "--allow-private-network", "--on-change", "cat >> got",
            ]
            let run = try await RunningServer.with(options, in: workplace) { server in
                try await server.program.says("line 1 of \"syncs\": sync complete: ")
                try await server.program.says("line 2 of \"syncs\": sync complete: ")
                let bo = try await workplace.run("show", "--contact", "7", "--json").object
                #expect(bo.text("storageClass") == "documents")
                let ada = try await workplace.run("show", "--contact", "ada", "--json").object
                #expect(ada.text("storageClass") == "caches")

                // A file that is not one leaves the syncs as they are.
                try workplace.write("syncs", "more.json --json\n")
                server.program.signal(SIGHUP)
                try await server.program.says("The syncs from before stay in force.")
                try workplace.write("syncs", "more.json\n")
                server.program.signal(SIGHUP)
                try await server.program.says("read the sync file again")
                let cy = try await ServedStore.wait(for: "/contacts/cy", at: server) { $0.status == 200 }
                #expect(cy.status == 200)
            }
            #expect(run.status == 143)
            let got = try String(decoding: workplace.read("got"), as: UTF8.self)
            #expect(try await workplace.run("changes", "--json").text == got)
        }
    }

    /// One list of several cannot be opened: the others are synced, and the figures show it.
    @Test func listThatIsGoneShowsInTheFiguresWhicheverComesLast() async throws {
        let workplace = try Workplace()
        try workplace.write("people.json", "[{\"id\": \"ada\"}]")
        try workplace.write("syncs", "gone.json\npeople.json\n")
        try await RunningServer.with(["--sync-file", "syncs", "--every", "1h"], in: workplace) { server in
            try await server.program.says("The sync in line 1 of \"syncs\" failed: ")
            try await server.program.says("line 2 of \"syncs\": ")
            let metrics = try await ServedStore.wait(for: "/metrics", at: server) {
                $0.text.contains("avatars_last_sync_exit_code 2\n")
            }
            #expect(metrics.text.contains("avatars_last_sync_exit_code 2\n"))
            #expect(try await server.ask("/readyz").text.contains("The last sync could not run (exit code 2)"))
            #expect(try await server.ask("/contacts/ada").status == 200)
        }
    }

    @Test func fileMustBeThereAtTheStart() async throws {
        let workplace = try Workplace()
        let run = try await workplace.run("serve", "--listen", "127.0.0.1:0", "--sync-file", "syncs")
        #expect(run.status == 2)
        #expect(run.messages.contains("Cannot read the sync file \"syncs\": "))
        #expect(try workplace.names.isEmpty)
    }
}
