/** When a bridge has a hub started, when it is one itself, and when it stops being one. */
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { createStandIn, type StandIn, type StandInNeeds } from '../../../src/transports/bridge/stand-in.ts'
import { fakeClock, type FakeClock } from '../../support/fake-clock.ts'

let clock: FakeClock
let starts: number
let embeds: number
let stops: number
let over: () => void
let refuses: boolean
beforeEach(() => {
  clock = fakeClock()
  ;[starts, embeds, stops] = [0, 0, 0]
  over = () => undefined
  refuses = false
})

const startHub = () => void (starts += 1)
const embed: StandInNeeds['embed'] = (onEnd) => {
  embeds += 1
  over = onEnd
  if (refuses) return Promise.reject(new Error('somebody else is'))
  const stop = () => Promise.resolve(void (stops += 1))
  return Promise.resolve({ url: `http://127.0.0.1:${embeds}`, call: () => null, stop })
}
const make = (needs: Partial<StandInNeeds>) => createStandIn({ clock, log: silentLog, ...needs })
const missed = async (standIn: StandIn, away_ms: number, reached = false) => {
  standIn.missed(away_ms, reached)
  await clock.advance(0)
}

describe('where none may be started', () => {
  test('is one at once when none was ever there', async () => {
    const standIn = make({ embed })
    await missed(standIn, 0)
    expect(standIn.url()).toBe('http://127.0.0.1:1')
    await missed(standIn, 100)
    expect(embeds).toBe(1)
  })

  test('waits for one that was there to come back', async () => {
    const standIn = make({ embed })
    await missed(standIn, LIMITS.bridge_embed_after_ms - 1, true)
    expect(embeds).toBe(0)
    await missed(standIn, LIMITS.bridge_embed_after_ms, true)
    expect(standIn.url()).not.toBeNull()
  })

  test('tries again when another was faster and is gone', async () => {
    refuses = true
    const standIn = make({ embed })
    await missed(standIn, 0)
    expect(standIn.url()).toBeNull()
    refuses = false
    await missed(standIn, 50)
    expect(standIn.url()).toBe('http://127.0.0.1:2')
  })

  test('does nothing where the queue is elsewhere', async () => {
    const standIn = make({})
    await missed(standIn, 60_000)
    expect([standIn.url(), starts, embeds]).toEqual([null, 0, 0])
  })
})

describe('where one may be started', () => {
  test('starts one once, and is one itself when that does not come', async () => {
    const standIn = make({ startHub, embed })
    await missed(standIn, 0)
    await missed(standIn, 1_000)
    expect([starts, embeds]).toEqual([1, 0])
    await clock.advance(LIMITS.bridge_embed_after_ms)
    await missed(standIn, LIMITS.bridge_embed_after_ms)
    expect([starts, embeds]).toEqual([1, 1])
  })

  test('leaves one that ran a moment ago to whoever runs it', async () => {
    const standIn = make({ startHub })
    await missed(standIn, LIMITS.bridge_autostart_after_ms - 1, true)
    expect(starts).toBe(0)
    await missed(standIn, LIMITS.bridge_autostart_after_ms, true)
    expect(starts).toBe(1)
  })
})

describe('one that is the hub', () => {
  test('is none any more when another took the place, and may be again', async () => {
    const standIn = make({ embed })
    await missed(standIn, 0)
    over()
    expect(standIn.url()).toBeNull()
    await missed(standIn, 0)
    expect(standIn.url()).toBe('http://127.0.0.1:2')
  })

  test('goes over to the named one when that answers', async () => {
    let answers = false
    const standIn = make({ embed, namedAnswers: () => Promise.resolve(answers) })
    await missed(standIn, 0)
    await clock.advance(3 * LIMITS.bridge_follow_ms)
    expect(standIn.url()).not.toBeNull()
    answers = true
    await clock.advance(LIMITS.bridge_follow_ms)
    expect([standIn.url(), stops]).toEqual([null, 1])
  })

  test('is no trouble for the bridge where the named one cannot be asked, or it does not end well', async () => {
    const stop = () => Promise.reject(new Error('no room on the disk'))
    const breaking: StandInNeeds['embed'] = () =>
      Promise.resolve({ url: 'http://127.0.0.1:1', call: () => null, stop })
    const outcomes = [() => Promise.reject(new Error('asked wrongly')), () => Promise.resolve(true)]
    const namedAnswers = () => (outcomes.shift() ?? outcomes[0]!)()
    const warned: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) }
    const standIn = make({ embed: breaking, namedAnswers, log })
    await missed(standIn, 0)
    await clock.advance(LIMITS.bridge_follow_ms)
    expect(standIn.url()).not.toBeNull()
    await clock.advance(LIMITS.bridge_follow_ms)
    expect(standIn.url()).toBeNull()
    expect(warned).toHaveLength(2)
  })

  test('ends with its client, also one that only just begins', async () => {
    const standIn = make({ embed })
    standIn.missed(0, false)
    await standIn.close()
    expect([standIn.url(), stops]).toEqual([null, 1])
  })
})
