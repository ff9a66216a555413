import Foundation

/// The entry point for libFuzzer's inputs. Its main loop comes with the sanitizer.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    Fuzzer.subject.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
}

/// The code under test. It must not trap, and its results must be consistent.
enum Fuzzer: String {
    case lists, headers, answers, requests, dates, keys, images

    /// The subject that the environment variable `AVATARS_FUZZ` names; libFuzzer rejects options that it does not know.
    static let subject: Fuzzer = {
        let name = ProcessInfo.processInfo.environment["AVATARS_FUZZ"] ?? ""
        guard let subject = Fuzzer(rawValue: name) else { fatalError("AVATARS_FUZZ names no subject: \(name)") }
        return subject
    }()

    func check(_ input: [UInt8]) {
        switch self {
        case .lists: ContactListSubject.check(input)
        case .headers: HeaderSubject.check(input)
        case .answers: AnswerSubject.check(input)
        case .requests: RequestSubject.check(input)
        case .dates: DateSubject.check(input)
        case .keys: KeySubject.check(input)
        case .images: ImageSubject.check(input)
        }
    }
}

/// Stops with `message` unless `condition` holds. A precondition prints nothing in an optimised build.
func require(_ condition: Bool, _ message: String) {
    if !condition { fatalError(message) }
}
