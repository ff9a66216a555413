import AvatarFoundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct QueueTests {
    /// Random operations, and an array beside it that does the same.
    @Test func itDoesAsAnArrayDoes() {
        var queue: Queue<Int> = [-2, -1]
        var array = [-2, -1]
        for step in 0..<100_000 {
            // Grows for some time, and shrinks for some time.
            switch Int.random(in: 0..<(step / 1000 % 2 == 0 ? 8 : 14)) {
            case 0...4:
                queue.append(step)
                array.append(step)
            case 5:
                queue.prepend(step)
                array.insert(step, at: 0)
            case 6 where array.count > 1:
                let (one, other) = (Int.random(in: array.indices), Int.random(in: array.indices))
                queue.swapAt(one, other)
                array.swapAt(one, other)
            case 7 where step % 16 == 0:
                queue.removeAll { $0 % 16 == 3 }
                array.removeAll { $0 % 16 == 3 }
            default:
                #expect(queue.popFirst() == (array.isEmpty ? nil : array.removeFirst()))
            }
            #expect(queue.count == array.count && queue.first == array.first && queue.last == array.last)
            if step % 512 == 0 { #expect(Array(queue) == array) }
        }
        #expect(Array(queue) == array)
    }

    /// An element that was taken must not live on in the queue's memory.
    @Test func aTakenElementIsReleased() {
        final class Element {}
        var queue: Queue<Element> = []
        for _ in 0..<5 { queue.append(Element()) }

        weak var first: Element?
        first = queue.first
        #expect(first != nil)
        _ = queue.popFirst()

        #expect(first == nil)
    }
}
