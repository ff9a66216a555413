import AvatarCore
import AvatarReports
import Testing

@Suite(.timeLimit(.minutes(5))) struct PaceTests {
    /// A pace after `seconds` at each of `speeds`, told four times a second.
    private func pace(_ phases: (seconds: Int, perSecond: Int)...) -> Pace {
        var pace = Pace(at: 100)
        var time = 100.0
        var done = 0.0
        for (seconds, speed) in phases {
            for _ in 0..<(4 * seconds) {
                time += 0.25
                done += Double(speed) / 4
                pace.note(Int(done), at: time)
            }
        }
        return pace
    }

    @Test("for the first seconds nothing is claimed")
    func firstSeconds() {
        #expect(pace((1, 1000)).perSecond == nil)
        #expect(pace((1, 1000)).secondsLeft(of: 5000) == nil)
        #expect(pace((3, 1000)).perSecond != nil)
    }

    @Test("steady work is said to be what it is")
    func steady() throws {
        let pace = pace((20, 1000))
        #expect(try abs(#require(pace.perSecond) - 1000) < 1)
        #expect(pace.secondsLeft(of: 50_000) == 30)
        #expect(pace.secondsLeft(of: 20_001) == 1)
        #expect(pace.secondsLeft(of: 20_000) == 0)
    }

    @Test("a quick beginning is forgotten: total by elapsed time would promise the end ten times too early")
    func quickBeginning() throws {
        let pace = pace((10, 10_000), (40, 100))
        // 100,000 of the 104,000 came in the first ten seconds: 2,080 a second over all.
        #expect(try #require(pace.perSecond) < 350)
    }

    @Test("a slow beginning is forgotten as well")
    func slowBeginning() throws {
        #expect(try #require(pace((20, 0), (30, 1000)).perSecond) > 900)
    }

    @Test("at a standstill the time left grows, and in the end nothing is claimed")
    func standstill() throws {
        let before = try #require(pace((20, 100)).secondsLeft(of: 3000))
        let after = try #require(pace((20, 100), (20, 0)).secondsLeft(of: 3000))
        #expect(after > 5 * before)
        #expect(pace((20, 100), (600, 0)).secondsLeft(of: 3000) == nil)
    }

    @Test("one lump is no pace")
    func lump() throws {
        var pace = Pace(at: 0)
        pace.note(1000, at: 0.01)
        pace.note(1000, at: 4)
        #expect(pace.perSecond == 250)
    }
}

@Suite(.timeLimit(.minutes(5))) struct ByteSizeTests {
    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (268_435_456, "268.4 MB"), (1_099_511_627_776, "1.1 TB"),
        (9_223_372_036_854_775_807, "9.2 EB"),
    ])
    func sizes(bytes: Int, text: String) {
        #expect(ByteSize.text(bytes) == text)
    }

    @Test(arguments: [
        (0, "0 B"), (1000, "1 kB"), (1024, "1 KiB"), (65_536, "64 KiB"), (1_048_576, "1 MiB"), (50_000_000, "50 MB"),
        (1_610_612_736, "1.5 GiB"), (1_024_000, "1 MB"), (1_234_567, "1.2 MB"), (1 << 62, "4 EiB"),
    ])
    func limitsHaveTheUnitsInWhichTheyWereSet(bytes: Int, text: String) {
        #expect(ByteSize.limit(bytes) == text)
    }

    @Test func sizesBesideALimitHaveItsUnits() {
        #expect(ByteSize.text(16_384, of: 64 << 20) == "16.0 KiB" && ByteSize.text(16_384, of: 64_000_000) == "16.4 kB")
        #expect(
            ByteSize.text(1_048_524, of: 1 << 20) == "1023.9 KiB" && ByteSize.text(1_048_575, of: 1 << 20) == "1.0 MiB"
        )
    }
}
