import AvatarContacts
import AvatarCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct VCardTextTests {
    @Test(arguments: [
        (["FN:Ada Lovelace", "N:L;A;;;", "NICKNAME:Countess", "ORG:AE"], "Ada Lovelace"),
        (["FN: ", "N:Lovelace;Augusta;Ada,Byron;Lady;FRS"], "Lady Augusta Ada,Byron Lovelace FRS"),
        (["N:;Mum;;;"], "Mum"), (["N:Lovelace"], "Lovelace"), (["N:;;;;", "NICKNAME:Countess", "ORG:AE"], "Countess"),
        (["FN:", "N:", "ORG:Analytical Engines;Maths"], "Analytical Engines Maths"), (["EMAIL:a@b.example"], nil),
        (["FN:Old", "FN;PREF=1:New"], "New"),
    ])
    func nameIsFN_elseTheNextBestProperty(lines: [String], name: String?) async throws {
        let card = ["BEGIN:VCARD", "VERSION:4.0", "UID:1"] + lines + ["END:VCARD"]

        #expect(try await ContactList.of(card.joined(separator: "\n"), as: .vcard).contact().name == name)
    }

    @Test(arguments: [
        (#"FN:A\, B\; C\\ D\: E\nF\N \x"#, "3.0", "A, B; C\\ D: E\nF\n \\x"),
        (#"FN:A\, B\; C\\ D\: E\nF"#, "4.0", "A, B; C\\ D: E\nF"),
        (#"FN:AC\DC\, \nB\; \"#, "2.1", #"AC\DC\, \nB; \"#),
        (#"N:A\;B;C\\;D\,E"#, "3.0", "C\\ D,E A;B"),
        (#"N:A\;B;C"#, "2.1", "C A;B"),
    ])
    func escapesOfEachVersion(line: String, version: String, name: String) async throws {
        #expect(try await ContactList.card("UID:1", line, version: version).contact().name == name)
    }

    @Test(arguments: [
        (["EMAIL:a@b.example"], ["a@b.example"]),
        (["EMAIL;INTERNET:a@b.example", "EMAIL;PREF;INTERNET:c@d.example"], ["c@d.example", "a@b.example"]),
        (["EMAIL;TYPE=work:a@b.example", "EMAIL;TYPE=\"home,pref\":c@d.example"], ["c@d.example", "a@b.example"]),
        (["EMAIL;PREF=2:a@b.example", "EMAIL;PREF=1:MAILTO:c@d.example"], ["c@d.example", "a@b.example"]),
        (["EMAIL:a@b.example", "EMAIL: a@b.example", "EMAIL:"], ["a@b.example"]),
        (["EMAIL;X400:c=de;s=Ada"], []),
        (["item1.EMAIL;QUOTED-PRINTABLE:a=40b.example"], ["a@b.example"]),
    ])
    func emailsInTheirOrderOfPreference(lines: [String], emails: [String]) async throws {
        let card = ["BEGIN:VCARD", "VERSION:3.0", "UID:1"] + lines + ["END:VCARD"]

        #expect(try await ContactList.of(card.joined(separator: "\n"), as: .vcard).contact().emails == emails)
    }

    @Test(arguments: [
        ("UID:1", "1"), ("uid: urn:uuid:0c9d ", "urn:uuid:0c9d"), (#"UID:A\:B\,C"#, "A:B,C"),
        ("UID;VALUE=text:Ünï", "Ünï"), ("UID;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:=DCn", "Ün"),
    ])
    func uidIsTheID(line: String, id: String) async throws {
        #expect(try await ContactList.card("FN:Ada", line).contact().id == id)
    }

    @Test func uidHasUpTo1024Bytes() async throws {
        let longest = String(repeating: "é", count: 512)

        #expect(try await ContactList.card("UID:\(longest)").record() == .contact(id: longest))
        #expect(
            try await ContactList.card("UID:\(longest)a").record()
                == .unreadable(line: 1, reason: "`UID` has 1025 bytes; the limit is 1024 bytes")
        )
        #expect(
            try await ContactList.card("UID:a\0b").record()
                == .unreadable(line: 1, reason: "`UID` must not contain a NUL character")
        )
    }

    @Test func textHasUpTo64KiB() async throws {
        let longest = String(repeating: "a", count: 65_536)

        #expect(try await ContactList.card("UID:1", "FN:\(longest)").contact().name == longest)
        #expect(try await ContactList.card("UID:1", "FN:\(longest)a").record() == .contact(id: "1"))
        #expect(
            try await ContactList.card("UID:\(longest)a").record()
                == .unreadable(line: 1, reason: "`UID` in line 3 is longer than the limit of 64 KiB")
        )
        #expect(try await ContactList.card("UID:1", "NOTE:\(longest)a").record() == .contact(id: "1"))
    }
}
