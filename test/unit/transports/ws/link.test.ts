import { describe, expect, test } from 'vitest'
import { Link } from '../../../../src/transports/ws/link.ts'
import { SOCKET, type FrameSocket } from '../../../../src/ports/frame-socket.ts'
import { atRest } from '../../../support/fakes/fake-clock.ts'

/** Returns a link that records its pings, and the outcome of those who wait for pongs. */
function waitedFor(count: number) {
  const pings: string[] = []
  const socket = { readyState: SOCKET.open, ping: (mark: string) => void pings.push(mark) }
  const link = new Link(socket as unknown as FrameSocket, 0)
  const heard: (boolean | null)[] = []
  for (let place = 0; place < count; place += 1) {
    heard.push(null)
    void link.flushInbound(0).then((all) => (heard[place] = all))
  }
  return { link, pings, heard }
}

describe('a caller that waits for a pong', () => {
  test('a caller is notified of its pong together with those that wait for an older one', async () => {
    const { link, pings, heard } = waitedFor(3)
    link.onPong(Number(pings[1]))
    await atRest()
    expect(heard).toEqual([true, true, null])
    link.over()
    await atRest()
    expect(heard).toEqual([true, true, false])
  })

  test.each([
    ['no mark', Number.NaN],
    ['a mark that was never sent', 99],
    ['a time', 1_772_366_400_000],
  ])('a caller is not notified of an unsolicited pong with %s', async (_, mark) => {
    const { link, heard } = waitedFor(2)
    link.onPong(mark)
    await atRest()
    expect(heard).toEqual([null, null])
  })
})
