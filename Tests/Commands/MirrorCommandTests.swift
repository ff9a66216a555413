import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// `avatars export --mirror`.
@Suite(.timeLimit(.minutes(5))) struct MirrorCommandTests {
    /// A store with the contacts `ids`, each with an image, and the origin of the images.
    private func withStore(
        ids: [String] = ["u1", "u2", "a/b"],
        _ body: (Workplace, LoopbackOrigin) async throws -> Void
    ) async throws {
        try await withImages { origin in
            let workplace = try Workplace()
            try await sync(ids, in: workplace, origin)
            try await body(workplace, origin)
        }
    }

    private func sync(_ ids: [String], in workplace: Workplace, _ origin: LoopbackOrigin) async throws {
        let records = ids.enumerated().map { number, id in
            #"{"id": "\#(id)", "name": "Person \#(number)", "avatarURL": "\#(origin.url("/\(number).png"))"}"#
        }
        try workplace.write("people.ndjson", records.joined(separator: "\n"))
        try await workplace.run("sync", "people.ndjson", "--prune", "--allow-private-network").requireSuccess()
    }

    private func names(_ workplace: Workplace) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: workplace.path("out"))
            .filter { $0 != "manifest.jsonl" }.sorted()
    }

    private func inode(_ name: String, _ workplace: Workplace) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: workplace.path("out/" + name))[.systemFileNumber] as? Int
    }

    @Test func mirrorFollowsTheStore_andWritesOnlyWhatChanged() async throws {
        try await withStore { workplace, origin in
            let first = try await workplace.run("export", "out", "--mirror", "--file-mode", "644", "--json")
            let names = try names(workplace)
            let before = try inode("u1.png", workplace)
            let second = try await workplace.run("export", "out", "--mirror", "--json")
            try await sync(["u1"], in: workplace, origin)
            let third = try await workplace.run("export", "out", "--mirror", "--json")

            #expect(first.status == 0 && second.status == 0 && third.status == 0)
            #expect(try first.object.number("written") == 3)
            #expect(names.count == 3 && names.contains("u1.png") && names.contains("u2.png"))
            #expect(names.contains { $0.wholeMatch(of: /a_b-[0-9a-f]{12}\.png/) != nil })
            #expect(try second.object.number("written") == 0 && second.object.number("unchanged") == 3)
            #expect(try inode("u1.png", workplace) == before)
            #expect(try third.object.number("deleted") == 2)
            #expect(try self.names(workplace) == ["u1.png"])
            #expect(try workplace.read("out/manifest.jsonl").split(separator: UInt8(ascii: "\n")).count == 1)
        }
    }

    @Test func fileModeIsOfFilesAndTheNewFolder_whateverTheMaskIs() async throws {
        try await withStore { workplace, _ in
            try await workplace.run("export", "out", "--mirror", "--file-mode", "644").requireSuccess()
            let readable = try permissions("out/u1.png", workplace)
            let folder = try permissions("out", workplace)
            try await workplace.run("export", "out", "--mirror", "--file-mode", "640").requireSuccess()
            let bad = try await workplace.run("export", "out", "--mirror", "--file-mode", "755")

            #expect(readable == 0o644 && folder == 0o755)
            #expect(try permissions("out/u1.png", workplace) == 0o640)
            #expect(bad.status == 64)
        }
    }

    private func permissions(_ path: String, _ workplace: Workplace) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: workplace.path(path))[.posixPermissions] as? Int
    }

    @Test func foreignAndEditedFilesStay_unlessDeleteForeignIsGiven() async throws {
        try await withStore(ids: ["u1", "u2", "u3"]) { workplace, origin in
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            try workplace.write("out/notes.txt", "mine")
            try workplace.write("out/u2.png", "edited")
            try workplace.write("out/u3.png", "edited")
            try await sync(["u1", "u2"], in: workplace, origin)

            let kept = try await workplace.run("export", "out", "--mirror", "--json")
            let files = try names(workplace)
            let edited = try String(decoding: workplace.read("out/u2.png"), as: UTF8.self)
            let cleaned = try await workplace.run("export", "out", "--mirror", "--delete-foreign", "--json")

            #expect(kept.status == 1)
            #expect(kept.messages.contains("1 image left out"), "\(kept.messages)")
            #expect(kept.messages.contains(#"changed since: "u2.png". Move them away"#), "\(kept.messages)")
            #expect(kept.messages.contains(#""notes.txt", "u2.png", "u3.png"; --delete-foreign"#), "\(kept.messages)")
            #expect(try kept.object.number("blocked") == 1 && kept.object.number("foreign") == 3)
            #expect(files == ["notes.txt", "u1.png", "u2.png", "u3.png"] && edited == "edited")
            #expect(cleaned.status == 0)
            #expect(try cleaned.object.number("written") == 1 && cleaned.object.number("deleted") == 2)
            #expect(try names(workplace) == ["u1.png", "u2.png"])
        }
    }

    @Test func atMostFiveFilesAreNamed() async throws {
        let ids = (1...7).map { "u\($0)" }
        try await withStore(ids: ids) { workplace, _ in
            try FileManager.default.createDirectory(
                atPath: workplace.path("out"),
                withIntermediateDirectories: false
            )
            for id in ids { try workplace.write("out/\(id).png", "mine") }

            let run = try await workplace.run("export", "out", "--mirror")

            #expect(run.status == 1)
            #expect(run.messages.contains(#""u5.png" and 2 more. Move them away"#), "\(run.messages)")
            #expect(!run.messages.contains("u6.png"))
        }
    }

    @Test(arguments: [[], ["--delete-foreign"]])
    func dryRunSaysWhatTheMirroringThenDoes_andChangesNothing(options: [String]) async throws {
        try await withStore(ids: ["u1", "u2", "u3"]) { workplace, origin in
            let words = ["export", "out", "--mirror", "--json"] + options
            let fresh = try await workplace.start(words + ["--dry-run"]).end()
            #expect(!workplace.exists("out"))
            let first = try await workplace.start(words).end()
            #expect(try fresh.object.number("written") == 3)
            #expect(try fresh.object.texts("filesToWrite") == ["u1.png", "u2.png", "u3.png"])
            #expect(withoutFiles(fresh) == first.text)

            try workplace.write("out/notes.txt", "mine")
            try workplace.write("out/u2.png", "edited")
            try await sync(["u1", "u2", "u4"], in: workplace, origin)
            let before = try contents(workplace)
            let preview = try await workplace.start(words + ["-n"]).end()
            let text = try await workplace.start(["export", "out", "--mirror", "-n", "--quiet"] + options).end()
            #expect(try contents(workplace) == before)
            let done = try await workplace.start(words).end()

            #expect(preview.status == done.status)
            #expect(withoutFiles(preview) == done.text && preview.messages == done.messages)
            let toWrite = options.isEmpty ? ["u4.png"] : ["u2.png", "u4.png"]
            let toDelete = options.isEmpty ? ["u3.png"] : ["notes.txt", "u3.png"]
            #expect(try preview.object.texts("filesToWrite") == toWrite)
            #expect(try preview.object.texts("filesToDelete") == toDelete)
            let lines = toWrite.map { "write   \($0)" } + toDelete.map { "delete  \($0)" }
            #expect(text.lines.dropLast() == lines[...], "\(text.text)")
            #expect(text.lines.last?.hasPrefix("Would write ") == true, "\(text.text)")
            #expect(try done.object.number("deleted") == (options.isEmpty ? 1 : 2))
        }
    }

    /// The JSON text of a dry run without its lists of files.
    private func withoutFiles(_ run: Run) -> String {
        run.text.replacing(/"filesTo(Delete|Write)":\[[^\]]*\],/, with: "")
    }

    /// The bytes and the time of each file in the folder.
    private func contents(_ workplace: Workplace) throws -> [String: [UInt8]] {
        let files = try FileManager.default.contentsOfDirectory(atPath: workplace.path("out")).map { name in
            let time = try FileManager.default.attributesOfItem(atPath: workplace.path("out/" + name))[
                .modificationDate
            ]
            return (name, try workplace.read("out/" + name) + Array("\(time ?? "")".utf8))
        }
        return Dictionary(uniqueKeysWithValues: files)
    }

    @Test func deleteForeignNeedsTheManifestOfAnExport() async throws {
        try await withStore(ids: ["u1"]) { workplace, _ in
            let folder = URL(filePath: workplace.path("out"))
            try FileManager.default.createDirectory(
                at: folder.appending(path: "sub"),
                withIntermediateDirectories: true
            )
            try workplace.write("out/passwd", "mine")

            let preview = try await workplace.run("export", "out", "--mirror", "--delete-foreign", "--dry-run")
            let refused = try await workplace.run("export", "out", "--mirror", "--delete-foreign")
            let names = try names(workplace)
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            try await workplace.run("export", "out", "--mirror", "--delete-foreign").requireSuccess()

            for run in [preview, refused] {
                #expect(run.status == 2)
                #expect(
                    run.messages.contains(#"no manifest of `avatars export`, but holds "passwd""#),
                    "\(run.messages)"
                )
            }
            #expect(names == ["passwd", "sub"])
            #expect(try self.names(workplace) == ["sub", "u1.png"])
        }
    }

    @Test(arguments: [["--mirror"], ["--mirror", "--delete-foreign"], ["--mirror", "-n"], [], ["--html"]])
    func linkInThePlaceOfTheFolderIsNotFollowed(options: [String]) async throws {
        try await withStore(ids: ["u1"]) { workplace, _ in
            let (link, target) = (workplace.path("out"), workplace.path("etc"))
            try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
            if options.contains("--mirror") { try workplace.write("etc/passwd", "mine") }
            let before = try FileManager.default.contentsOfDirectory(atPath: target)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)

            let run = try await workplace.start(["export", "out/"] + options).end()

            #expect(run.status == 2)
            #expect(run.messages.contains("out\" is a symbolic link"), "\(run.messages)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: target) == before)
        }
    }

    @Test(arguments: [["export", "out", "--mirror"], ["export", "out"], ["backup", "out"]])
    func folderThatOthersCanChangeIsRefused(command: [String]) async throws {
        try await withStore(ids: ["u1"]) { workplace, _ in
            let folder = workplace.path("out")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            chmod(folder, 0o777)
            let open = try await workplace.start(command).end()
            #expect(open.status == 2)
            #expect(open.messages.contains("Every user may write to"), "\(open.messages)")

            chmod(folder, 0o755)
            // Only root can give a folder away.
            if chown(folder, 65534, 65534) == 0 {
                let foreign = try await workplace.start(command).end()
                #expect(foreign.status == 2)
                #expect(foreign.messages.contains("who could change what is written there"), "\(foreign.messages)")
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test func imageThatChangesReplacesItsFile() async throws {
        try await withStore(ids: ["u1"]) { workplace, origin in
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            let old = try workplace.read("out/u1.png")
            try workplace.write("list.ndjson", #"{"id": "u1", "avatarURL": "\#(origin.url("/other.png"))"}"#)
            try await workplace.run("sync", "list.ndjson", "--prune", "--allow-private-network").requireSuccess()
            let run = try await workplace.run("export", "out", "--mirror", "--json")

            #expect(try run.object.number("written") == 1 && run.object.number("deleted") == 0)
            #expect(try workplace.read("out/u1.png") != old)
        }
    }

    @Test func killedMirroringIsContinued() async throws {
        try await withStore { workplace, _ in
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            // As a run leaves it that was killed before its manifest got its name.
            let manifest = try workplace.read("out/manifest.jsonl")
            let lines = manifest.split(separator: UInt8(ascii: "\n"))
            try Data(lines[0] + [UInt8(ascii: "\n")]).write(to: URL(filePath: workplace.path("out/manifest.jsonl")))
            let rest = lines[1...].flatMap { $0 + [UInt8(ascii: "\n")] } + Array("{\"fi".utf8)
            try Data(rest).write(to: URL(filePath: workplace.path("out/manifest.jsonl.journal")))
            try workplace.write("out/.avatars-mirror", "half a picture")

            let run = try await workplace.run("export", "out", "--mirror", "--json")

            #expect(run.status == 0)
            #expect(try run.object.number("unchanged") == 3 && run.object.number("foreign") == 0)
            #expect(try workplace.read("out/manifest.jsonl") == manifest)
            #expect(try names(workplace).count == 3)
        }
    }

    @Test func namesOfContactsAndKeys_areDistinct() async throws {
        try await withStore { workplace, _ in
            try await workplace.run("export", "out", "--mirror", "--names", "names").requireSuccess()
            let byName = try names(workplace)
            let run = try await workplace.run("export", "out", "--mirror", "--names", "keys", "--json")

            #expect(byName.allSatisfy { $0.wholeMatch(of: /Person [0-2]-[0-9a-f]{12}\.png/) != nil }, "\(byName)")
            #expect(try run.object.number("written") == 3 && run.object.number("deleted") == 3)
            #expect(try names(workplace).allSatisfy { $0.wholeMatch(of: /[0-2]-[0-9a-f]{12}\.png/) != nil })
        }
    }

    @Test func mirrorKeepsItsNaming_untilAnotherIsAskedFor() async throws {
        try await withStore { workplace, origin in
            let first = try await workplace.run("export", "out", "--mirror", "--names", "keys", "--json")
            let byKey = try names(workplace)
            let kept = try await workplace.run("export", "out", "--mirror", "--json")
            #expect(try first.object.text("names") == "keys" && first.object.text("formerNames") == nil)
            #expect(try kept.object.number("unchanged") == 3 && kept.object.text("names") == "keys")
            #expect(try names(workplace) == byKey)

            // A mirror without files remembers too, and its manifest is still one to import.
            try await workplace.run("remove", "--all", "--yes").requireSuccess()
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            let imported = try await workplace.run("import", "out", "--json", "--store", "other")
            try await sync(["u1", "u2", "a/b"], in: workplace, origin)
            try await workplace.run("export", "out", "--mirror").requireSuccess()
            #expect(try imported.status == 0 && imported.object.number("found") == 0)
            #expect(try names(workplace) == byKey)

            let preview = try await workplace.run("export", "out", "--mirror", "--names", "ids", "-n")
            let renamed = try await workplace.run("export", "out", "--mirror", "--names", "ids")
            let again = try await workplace.run("export", "out", "--mirror", "--names", "ids", "--json")
            #expect(preview.text.contains(#"--names ids would replace the naming "keys""#), "\(preview.text)")
            #expect(renamed.text.contains(#"--names ids replaces the naming "keys""#), "\(renamed.text)")
            #expect(try again.object.number("unchanged") == 3 && again.object.text("formerNames") == nil)
            #expect(try names(workplace).contains("u1.png"))
        }
    }

    @Test func mirrorOfAVersionThatKeptNoNaming_isNamedByIds() async throws {
        try await withStore(ids: ["u1"]) { workplace, _ in
            try await workplace.run("export", "out", "--mirror", "--names", "keys").requireSuccess()
            let manifest = try String(decoding: workplace.read("out/manifest.jsonl"), as: UTF8.self)
            try workplace.write("out/manifest.jsonl", manifest.replacing(#""names":"keys","#, with: ""))

            let run = try await workplace.run("export", "out", "--mirror", "--json")

            #expect(try run.object.number("written") == 1 && run.object.number("deleted") == 1)
            #expect(try run.object.text("names") == "ids" && run.object.text("formerNames") == nil)
            #expect(try names(workplace) == ["u1.png"])
        }
    }

    @Test(arguments: [
        (["--names", "ids"], "--names needs --mirror"), (["--delete-foreign"], "--delete-foreign needs --mirror"),
        (["--dry-run", "--names", "ids"], "--names and --dry-run need --mirror"),
        (["--html", "--names", "ids"], "--names needs --mirror"),
    ])
    func optionsOfMirrorsNeedAMirror(arguments: [String], message: String) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(["export", "out"] + arguments).end()
        #expect(run.status == 64)
        #expect(run.messages.contains(message), "\(run.messages)")
    }

    @Test(arguments: [["--mirror", "--html"], ["--mirror", "--as-vcard"]])
    func optionsThatContradictEachOtherAreUsageErrors(arguments: [String]) async throws {
        let workplace = try Workplace()
        let run = try await workplace.start(["export", "out"] + arguments).end()
        #expect(run.status == 64)
    }
}
