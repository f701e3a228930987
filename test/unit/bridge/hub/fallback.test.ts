/** Tests when a bridge starts a hub, runs an embedded one, and stops it. */
import { beforeEach, describe, expect, test } from 'vitest'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import {
  createHubFallback,
  type HubFallback,
  type HubFallbackDeps,
} from '../../../../src/bridge/hub/fallback.ts'
import { fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'

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
const embed: HubFallbackDeps['embed'] = (onEnd) => {
  embeds += 1
  over = onEnd
  if (refuses) return Promise.reject(new Error('somebody else is'))
  const stop = () => Promise.resolve(void (stops += 1))
  return Promise.resolve({ url: `http://127.0.0.1:${embeds}`, call: () => null, stop })
}
const make = (needs: Partial<HubFallbackDeps>) => createHubFallback({ clock, log: silentLog, ...needs })
const missed = async (standIn: HubFallback, away_ms: number, reached = false) => {
  standIn.onHubMissing(away_ms, reached)
  await clock.advance(0)
}

describe('a fallback that may not start a hub', () => {
  test('an embedded hub is started at once if no hub ever responded', async () => {
    const standIn = make({ embed })
    await missed(standIn, 0)
    expect(standIn.url()).toBe('http://127.0.0.1:1')
    await missed(standIn, 100)
    expect(embeds).toBe(1)
  })

  test('no embedded hub is started while a hub that responded earlier may return', async () => {
    const standIn = make({ embed })
    await missed(standIn, LIMITS.bridge_embed_after_ms - 1, true)
    expect(embeds).toBe(0)
    await missed(standIn, LIMITS.bridge_embed_after_ms, true)
    expect(standIn.url()).not.toBeNull()
  })

  test('an embedded hub is tried again if another process was faster and is gone', async () => {
    refuses = true
    const standIn = make({ embed })
    await missed(standIn, 0)
    expect(standIn.url()).toBeNull()
    refuses = false
    await missed(standIn, 50)
    expect(standIn.url()).toBe('http://127.0.0.1:2')
  })

  test('no embedded hub is started if the queue is stored elsewhere', async () => {
    const standIn = make({})
    await missed(standIn, 60_000)
    expect([standIn.url(), starts, embeds]).toEqual([null, 0, 0])
  })
})

describe('a fallback that may start a hub', () => {
  test('a background hub is started once, and an embedded one if that does not respond', async () => {
    const standIn = make({ startHub, embed })
    await missed(standIn, 0)
    await missed(standIn, 1_000)
    expect([starts, embeds]).toEqual([1, 0])
    await clock.advance(LIMITS.bridge_embed_after_ms)
    await missed(standIn, LIMITS.bridge_embed_after_ms)
    expect([starts, embeds]).toEqual([1, 1])
  })

  test('no hub is started while a supervisor may restart one that just ran', async () => {
    const standIn = make({ startHub })
    await missed(standIn, LIMITS.bridge_autostart_after_ms - 1, true)
    expect(starts).toBe(0)
    await missed(standIn, LIMITS.bridge_autostart_after_ms, true)
    expect(starts).toBe(1)
  })
})

describe('an embedded hub', () => {
  test('an embedded hub ends when another took its place, and may be started again', async () => {
    const standIn = make({ embed })
    await missed(standIn, 0)
    over()
    expect(standIn.url()).toBeNull()
    await missed(standIn, 0)
    expect(standIn.url()).toBe('http://127.0.0.1:2')
  })

  test('an embedded hub ends when the preferred hub responds', async () => {
    let answers = false
    const standIn = make({ embed, preferredResponds: () => Promise.resolve(answers) })
    await missed(standIn, 0)
    await clock.advance(3 * LIMITS.bridge_follow_ms)
    expect(standIn.url()).not.toBeNull()
    answers = true
    await clock.advance(LIMITS.bridge_follow_ms)
    expect([standIn.url(), stops]).toEqual([null, 1])
  })

  test('an embedded hub continues if the preferred one cannot be checked or stopping fails', async () => {
    const stop = () => Promise.reject(new Error('no room on the disk'))
    const breaking: HubFallbackDeps['embed'] = () =>
      Promise.resolve({ url: 'http://127.0.0.1:1', call: () => null, stop })
    const outcomes = [() => Promise.reject(new Error('asked wrongly')), () => Promise.resolve(true)]
    const preferredResponds = () => (outcomes.shift() ?? outcomes[0]!)()
    const warned: string[] = []
    const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) }
    const standIn = make({ embed: breaking, preferredResponds, log })
    await missed(standIn, 0)
    await clock.advance(LIMITS.bridge_follow_ms)
    expect(standIn.url()).not.toBeNull()
    await clock.advance(LIMITS.bridge_follow_ms)
    expect(standIn.url()).toBeNull()
    expect(warned).toHaveLength(2)
  })

  test('an embedded hub ends with its client, also while it is starting', async () => {
    const standIn = make({ embed })
    standIn.onHubMissing(0, false)
    await standIn.close()
    expect([standIn.url(), stops]).toEqual([null, 1])
  })
})
