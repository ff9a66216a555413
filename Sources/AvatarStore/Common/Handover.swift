import AvatarFoundation

/// Passes elements from tasks to a reader, without a buffer: a sender waits until its element is taken.
///
/// It stands behind sequences whose work must not run ahead of their reader.
package final class Handover<Element: Sendable, Failure: Error>: Sendable {
    /// A task that waits until its element is taken.
    private struct Sender {
        let number: Int
        let element: Element
        let task: CheckedContinuation<Void, Never>
    }

    /// A reader that waits for an element.
    private struct Reader {
        let number: Int
        let task: CheckedContinuation<Result<Element?, Failure>, Never>
    }

    /// The state behind the mutex. Either senders wait or readers, never both.
    private struct State {
        /// The last number given to a waiting task.
        var lastNumber = 0
        var senders: [Sender] = []
        var readers: [Reader] = []
        /// How it ended: with an error, or without one; `nil` before.
        var end: Result<Void, Failure>?
    }

    private let state = Locked(State())

    /// A handover with no element.
    package init() {}

    private func nextNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    // MARK: Senders

    /// Passes `element` on. Returns once a reader has taken it, or the handover has ended, or the task is cancelled; in the
    /// latter two cases no reader gets it.
    package func send(_ element: Element) async {
        let number = nextNumber()
        await withTaskCancellationHandler {
            await withCheckedContinuation { task in offer(Sender(number: number, element: element, task: task)) }
        } onCancel: {
            withdraw(number)
        }
    }

    /// Ends the handover. A reader gets `error`, and after that, as without an error, `nil`.
    package func finish(throwing error: Failure? = nil) {
        let (senders, readers) = state.withLock { state -> ([Sender], [Reader]) in
            guard state.end == nil else { return ([], []) }
            // A reader that waits gets the error; else the next one that comes.
            let isDelivered = error == nil || !state.readers.isEmpty
            state.end = isDelivered ? .success(()) : error.map { .failure($0) }
            defer { (state.senders, state.readers) = ([], []) }
            return (state.senders, state.readers)
        }
        for sender in senders { sender.task.resume() }
        for (place, reader) in readers.enumerated() {
            if place == 0, let error {
                reader.task.resume(returning: .failure(error))
            } else {
                reader.task.resume(returning: .success(nil))
            }
        }
    }

    /// Gives the element to a reader, or lets its sender wait for one.
    private func offer(_ sender: Sender) {
        let reader = state.withLock { state -> Reader?? in
            // A task that was cancelled before has called `withdraw`, which did not find it.
            guard state.end == nil, !Task.isCancelled else { return .some(nil) }
            guard state.readers.isEmpty else { return .some(state.readers.removeFirst()) }
            state.senders.append(sender)
            return nil
        }
        guard let reader else { return }
        reader?.task.resume(returning: .success(sender.element))
        sender.task.resume()
    }

    /// Ends the wait of a cancelled sender.
    private func withdraw(_ number: Int) {
        let sender = state.withLock { state in
            state.senders.firstIndex { $0.number == number }.map { state.senders.remove(at: $0) }
        }
        sender?.task.resume()
    }

    // MARK: Readers

    /// The next element. Waits for one; `nil` after the end, or if the task is cancelled.
    ///
    /// - Throws: the error of `finish(throwing:)`, once.
    package func next() async throws(Failure) -> Element? {
        let number = nextNumber()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { task in take(Reader(number: number, task: task)) }
        } onCancel: {
            leave(number)
        }
        return try result.get()
    }

    /// Gives the reader the element of a sender, or lets it wait for one.
    private func take(_ reader: Reader) {
        let (sender, end) = state.withLock { state -> (Sender?, Result<Void, Failure>?) in
            guard !Task.isCancelled else { return (nil, .success(())) }
            if let end = state.end {
                state.end = .success(())
                return (nil, end)
            }
            guard state.senders.isEmpty else { return (state.senders.removeFirst(), nil) }
            state.readers.append(reader)
            return (nil, nil)
        }
        if let sender {
            reader.task.resume(returning: .success(sender.element))
            sender.task.resume()
        } else if let end {
            reader.task.resume(returning: end.map { nil })
        }
    }

    /// Ends the wait of a cancelled reader.
    private func leave(_ number: Int) {
        let reader = state.withLock { state in
            state.readers.firstIndex { $0.number == number }.map { state.readers.remove(at: $0) }
        }
        reader?.task.resume(returning: .success(nil))
    }
}
