/** What the Claude Code surface does beyond the promises of every surface. */
import { beforeEach, describe, expect, test } from 'vitest'
import { claudeSurface, type ClaudeSurface } from '../../../adapters/claude-code/claude-surface.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { turnEvent } from '../../support/turn-events.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

let clock: FakeClock
let host: ReturnType<typeof recordingHost>
let posted: string[]
let surface: ClaudeSurface

beforeEach(async () => {
  clock = fakeClock()
  host = recordingHost()
  posted = []
  surface = claudeSurface({
    session_id: 'session-1',
    clock,
    log: silentLog,
    inbox: { post: async (text) => (posted.push(text), 'sent') },
  })
  surface.open(host)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_registry_lag_ms)
})

const prompt = (text = 'hello') => {
  surface.hookFired(turnEvent('UserPromptSubmit', { prompt: text }))
  surface.registryRead({ status: 'busy' })
}

describe('a ring just after the end of a turn', () => {
  beforeEach(async () => {
    prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
  })

  test('waits until the registry has followed, then leaves', async () => {
    const ringing = surface.notify_surface(doorbell())
    await atRest()
    expect(posted).toEqual([])
    surface.registryRead({ status: 'idle' })
    expect(await ringing).toEqual({ accepted: true, proof: 'sent' })
    expect(posted).toHaveLength(1)
  })

  test('is deferred when a prompt comes first', async () => {
    const ringing = surface.notify_surface(doorbell())
    prompt('typed meanwhile')
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(posted).toEqual([])
  })

  test('finds a turn that no hook told of, defers, and says busy', async () => {
    const ringing = surface.notify_surface(doorbell())
    await clock.advance(LIMITS.claude_registry_lag_ms)
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
    expect(posted).toEqual([])
  })
})

test('a dialog that stands open at the prompt is no place for a bell', async () => {
  surface.registryRead({ status: 'waiting' })
  const ringing = surface.notify_surface(doorbell())
  await clock.advance(LIMITS.claude_registry_lag_ms)
  expect(await ringing).toMatchObject({ proof: 'deferred' })
  expect(posted).toEqual([])
})

test('a Stop hook that the client gave up is not answered with a bell, before or after asking', async () => {
  prompt()
  expect(await surface.stopped(turnEvent('Stop'), () => true)).toBeNull()
  expect(host.reports.some(({ take }) => take === true)).toBe(false)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })

  prompt()
  host.ready = { doorbell: doorbell() }
  let asked = 0
  expect(await surface.stopped(turnEvent('Stop'), () => asked++ > 0)).toBeNull()
  expect(await surface.status()).toMatchObject({ turn: 'idle' })
})

test('an interrupt is reported idle once the registry has said so for long enough', async () => {
  prompt()
  await clock.advance(60_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_settle_ms - 1)
  expect(await surface.status()).toMatchObject({ turn: 'busy' })
  await clock.advance(1)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
})

test('a report is only made when it says something new', async () => {
  const before = host.reports.length
  surface.registryRead({ status: 'idle' })
  surface.registryRead({ status: 'shell' })
  surface.hookFired(turnEvent('Notification', { notification_type: 'auth_success' }))
  expect(host.reports).toHaveLength(before)
})

test('a new session id is reported under the same turn count', async () => {
  const { turn_seq } = await surface.status()
  surface.hookFired(turnEvent('SessionStart', { source: 'clear', session_id: 'session-2' }))
  expect(host.reports.at(-1)).toMatchObject({ session_id: 'session-2', turn: 'idle', turn_seq })
})

test('leaves no timer behind', async () => {
  prompt()
  surface.registryRead({ status: 'idle' })
  surface.close()
  expect(clock.armed()).toBe(0)
})
