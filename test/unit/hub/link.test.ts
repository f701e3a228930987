import { describe, expect, test } from 'vitest'
import { Link } from '../../../src/hub/link.ts'
import { SOCKET, type FrameSocket } from '../../../src/ports/frame-socket.ts'
import { atRest } from '../../support/fake-clock.ts'

/** A link whose pings are noted, and what became of those who wait for their pongs. */
function waitedFor(count: number) {
  const pings: string[] = []
  const socket = { readyState: SOCKET.open, ping: (mark: string) => void pings.push(mark) }
  const link = new Link(socket as unknown as FrameSocket, 0)
  const heard: (boolean | null)[] = []
  for (let place = 0; place < count; place += 1) {
    heard.push(null)
    void link.caughtUp(0).then((all) => (heard[place] = all))
  }
  return { link, pings, heard }
}

describe('who waits for a pong', () => {
  test('hears of it, with those that wait for an older one', async () => {
    const { link, pings, heard } = waitedFor(3)
    link.reached(Number(pings[1]))
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
  ])('hears nothing of one that the peer sent of its own accord, with %s', async (_, mark) => {
    const { link, heard } = waitedFor(2)
    link.reached(mark)
    await atRest()
    expect(heard).toEqual([null, null])
  })
})
