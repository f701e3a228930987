/** The Claude Code surface, in addition to the suite of every surface. */
import { beforeEach, describe, expect, test } from 'vitest'
import { claudeSurface, type ClaudeSurface } from '../../../../adapters/claude-code/claude-surface.ts'
import type { SurfaceReport } from '../../../../src/contracts/control.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { paceSurface } from '../../../support/fakes/paced-surface.ts'
import { turnEvent } from '../../../support/turn-events.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'
import { NO_MODULE } from '../../../support/fakes/no-module.ts'

let clock: FakeClock
let host: ReturnType<typeof recordingHost>
let posted: string[]
let warned: string[]
/** How often a delivery path was marked as lossy. */
let lost: number
let surface: ClaudeSurface
/** Called before the end of an interrupted turn is reported. */
let onInterrupted: () => Promise<void>
/** Whether the client is suspended, as by Ctrl-Z. */
let stopped: boolean
/** Whether the client has not read the last doorbell. */
let unread: boolean
/** No delivery path has a receiver. */
let refuses: boolean

beforeEach(async () => {
  clock = fakeClock()
  host = recordingHost()
  posted = []
  warned = []
  lost = 0
  onInterrupted = async () => {}
  stopped = false
  unread = false
  refuses = false
  surface = claudeSurface({
    session_id: 'session-1',
    mod: NO_MODULE,
    clock,
    log: silentLog,
    degraded: { ...silentLog, warn: (_, message) => warned.push(message) },
    respawned: false,
    onInterrupted: () => onInterrupted(),
    drainsReleased: async () => {},
    isStopped: () => stopped,
    paths: {
      post: async (text) => (posted.push(text), refuses ? 'unavailable' : 'sent'),
      unread: () => unread,
      markLost: () => (lost += 1),
    },
  })
  surface.open(host)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_registry_lag_ms)
})

const prompt = async (text = 'hello') => {
  await surface.hookFired(turnEvent('UserPromptSubmit', { prompt: text }))
  await clock.advance(20)
  surface.registryRead({ status: 'busy' })
}

describe('a ring just after the end of a turn', () => {
  beforeEach(async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
  })

  test('a ring just after a turn waits until the registry shows the prompt', async () => {
    const ringing = surface.notify_surface(doorbell())
    await atRest()
    expect(posted).toEqual([])
    surface.registryRead({ status: 'idle' })
    expect(await ringing).toEqual({ accepted: true, proof: 'sent' })
    expect(posted).toHaveLength(1)
  })

  test('a ring just after a turn is deferred if a prompt comes first', async () => {
    const ringing = surface.notify_surface(doorbell())
    await prompt('typed meanwhile')
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(posted).toEqual([])
  })

  test('a ring that finds a turn without a hook is deferred and reports busy', async () => {
    const ringing = surface.notify_surface(doorbell())
    await clock.advance(LIMITS.claude_registry_lag_ms)
    expect(await ringing).toEqual({ accepted: false, proof: 'deferred' })
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
    expect(posted).toEqual([])
  })
})

test('a ring is deferred while a dialog is open at the prompt', async () => {
  surface.registryRead({ status: 'waiting' })
  const ringing = surface.notify_surface(doorbell())
  await clock.advance(LIMITS.claude_registry_lag_ms)
  expect(await ringing).toMatchObject({ proof: 'deferred' })
  expect(posted).toEqual([])
})

test("an aborted Stop hook gets no doorbell, before or after the daemon's answer", async () => {
  await prompt()
  expect(await surface.stopped(turnEvent('Stop'), () => true)).toBeNull()
  expect(host.reports.some(({ take }) => take === true)).toBe(false)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })

  await prompt()
  host.ready = { doorbell: doorbell() }
  let asked = 0
  expect(await surface.stopped(turnEvent('Stop'), () => asked++ > 0)).toBeNull()
  expect(await surface.status()).toMatchObject({ turn: 'idle' })
})

test('an interrupt is reported idle when the registry has been idle long enough', async () => {
  await prompt()
  await clock.advance(60_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_settle_ms - 1)
  expect(await surface.status()).toMatchObject({ turn: 'busy' })
  await clock.advance(1)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
})

describe('an interrupted turn', () => {
  beforeEach(async () => {
    await prompt()
    await clock.advance(5_000)
    surface.registryRead({ status: 'idle' })
  })

  test('the end of an interrupted turn is reported after unseen drains are released', async () => {
    let done!: () => void
    onInterrupted = () => new Promise<void>((resolve) => (done = resolve))
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    done()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('an interrupted turn ends when a prompt begins another', async () => {
    let taken = 0
    onInterrupted = async () => void (taken += 1)
    const { turn_seq } = await surface.status()
    await prompt('something else')
    expect(taken).toBe(1)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    await clock.advance(60_000)
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    expect(taken).toBe(1)
  })

  test('a turn that began during the release does not end with the interrupted one', async () => {
    let done!: () => void
    onInterrupted = () => new Promise<void>((resolve) => (done = resolve))
    await clock.advance(LIMITS.claude_settle_ms)
    surface.registryRead({ status: 'busy' })
    done()
    await atRest()
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    expect(host.reports.some(({ turn }) => turn === 'idle' && host.reports.length > 2)).toBe(false)
  })
})

test('a prompt typed during a turn releases nothing', async () => {
  let taken = 0
  onInterrupted = async () => void (taken += 1)
  await prompt()
  await clock.advance(5_000)
  const { turn_seq } = await surface.status()
  await prompt('typed ahead')
  expect(taken).toBe(0)
  expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq })
})

test('a report is sent only if the status has changed', async () => {
  const before = host.reports.length
  surface.registryRead({ status: 'idle' })
  surface.registryRead({ status: 'shell' })
  await surface.hookFired(turnEvent('Notification', { notification_type: 'auth_success' }))
  expect(host.reports).toHaveLength(before)
})

test('a new session id is reported under the same turn count', async () => {
  const { turn_seq } = await surface.status()
  await surface.hookFired(turnEvent('SessionStart', { source: 'clear', session_id: 'session-2' }))
  expect(host.reports.at(-1)).toMatchObject({ session_id: 'session-2', turn: 'idle', turn_seq })
})

describe('a doorbell without a trace', () => {
  test('a doorbell without a trace counts as lost when the daemon rings again for the same turn', async () => {
    await surface.notify_surface(doorbell())
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(lost).toBe(0)
    await clock.advance(1)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(lost).toBe(1)
  })

  test('a doorbell is outstanding until its prompt is submitted, even on a slow client', async () => {
    unread = true
    const bell = doorbell()
    await surface.notify_surface(bell)
    const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    await clock.advance(2 * LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).toMatchObject(outstanding)
    // Read now; its hooks follow later.
    unread = false
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await prompt(bell.text)
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn: 'busy' })
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
    expect(posted).toEqual([bell.text])
  })

  test('a doorbell without a receiver is not outstanding', async () => {
    refuses = true
    await surface.notify_surface(doorbell())
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a seen doorbell does not count as lost', async () => {
    const seen = doorbell()
    await surface.notify_surface(seen)
    await prompt(seen.text)
    await surface.stopped(turnEvent('Stop'), () => false)
    surface.registryRead({ status: 'idle' })
    await surface.notify_surface(doorbell())
    expect(lost).toBe(0)
    expect(posted).toHaveLength(2)
  })
})

describe('a doorbell that the client has read', () => {
  const bell = doorbell()
  const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
  const leavesSubagent = { background_tasks: JSON.stringify([{ type: 'subagent' }]) }

  test('a read doorbell is outstanding for the limit after its client continues, also without status requests', async () => {
    await surface.notify_surface(bell)
    stopped = true
    await clock.advance(2 * LIMITS.claude_bell_lost_ms)
    stopped = false
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(1)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test("a read doorbell is outstanding during a subagent's dialog", async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop', leavesSubagent), () => false)
    await surface.notify_surface(bell)
    surface.registryRead({ status: 'waiting' })
    await clock.advance(2 * LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle', ...outstanding })
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a seen doorbell leaves no timer', async () => {
    const armed = clock.armed()
    await surface.notify_surface(bell)
    await prompt(bell.text)
    await clock.advance(LIMITS.claude_bell_look_ms)
    expect(clock.armed()).toBe(armed)
  })

  test("a doorbell is deferred during a subagent's dialog", async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop', leavesSubagent), () => false)
    surface.registryRead({ status: 'waiting' })
    expect(await surface.notify_surface(bell)).toEqual({ accepted: false, proof: 'deferred' })
    surface.registryRead({ status: 'busy' })
    expect(await surface.notify_surface(bell)).toMatchObject({ accepted: true })
  })
})

describe('a doorbell posted before a person began a turn', () => {
  const bell = doorbell()
  const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
  beforeEach(() => surface.notify_surface(bell))

  /** The last report that requested a doorbell with `take`. */
  const asked = () => host.reports.findLast(({ take }) => take === true)
  async function stop(): Promise<void> {
    await surface.stopped(turnEvent('Stop'), () => false)
    surface.registryRead({ status: 'idle' })
  }
  async function turnOf(text: string, ms = 60_000): Promise<void> {
    await prompt(text)
    await clock.advance(ms)
    await stop()
  }

  test('an unread doorbell is outstanding at the end of that turn', async () => {
    unread = true
    await turnOf('something else')
    expect(asked()).toMatchObject({ turn: 'idle', ...outstanding })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(posted).toEqual([bell.text])
  })

  test('a queued doorbell is outstanding until a turn begins with it', async () => {
    unread = true
    await prompt('something else')
    unread = false
    await clock.advance(10 * LIMITS.claude_bell_lost_ms)
    await surface.stopped(turnEvent('Stop'), () => false)
    expect(asked()).toMatchObject(outstanding)
    await prompt(bell.text)
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn: 'busy' })
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell that entered that turn is not outstanding', async () => {
    await prompt('something else')
    await surface.hookFired(turnEvent('PostToolBatch'))
    await prompt(bell.text)
    await stop()
    expect(asked()).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
    expect(asked()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell counts as lost after its time at the prompt, without marking its path', async () => {
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(1)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
    expect(lost).toBe(0)
  })

  test('a doorbell counts as lost after the total time at the prompt between short turns', async () => {
    const gap = LIMITS.claude_bell_lost_ms / 3
    await clock.advance(gap)
    await turnOf('one')
    await clock.advance(gap)
    await turnOf('two')
    expect(asked()).toMatchObject(outstanding)
    await clock.advance(gap)
    await turnOf('three')
    expect(asked()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a lost doorbell does not become outstanding again', async () => {
    await clock.advance(LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    unread = true
    await turnOf('something else')
    expect(asked()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('the time at the prompt counts from the reading of the doorbell on', async () => {
    unread = true
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    unread = false
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(1)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('an unread doorbell of a working client marks its path as lossy', async () => {
    unread = true
    await clock.advance(10 * LIMITS.claude_bell_lost_ms)
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(1)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
    expect(lost).toBe(1)
  })

  test('a doorbell does not count as lost while the client is suspended', async () => {
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    stopped = true
    expect(await surface.status()).toMatchObject(outstanding)
    stopped = false
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.status()).toMatchObject(outstanding)
  })
})

describe('a daemon whose doorbell is pending when a person begins a turn', () => {
  test.each([
    ['has not read', true],
    ['has read', false],
  ])(
    'the daemon does not ring again at the end of that turn, and within a limit if the client, which %s it, drops it',
    async (_, stays_unread) => {
      const paced = paceSurface(clock, { receipts: true })
      paced.surface = surface
      host.report = (report) => paced.host.report(report)
      await surface.resume_surface()
      unread = stays_unread
      paced.send()
      await atRest()
      expect(posted).toHaveLength(1)
      await prompt('something else')
      paced.send()
      await clock.advance(60_000)
      expect(await surface.stopped(turnEvent('Stop'), () => false)).toBeNull()
      surface.registryRead({ status: 'idle' })
      await clock.advance(LIMITS.claude_bell_lost_ms - 1)
      expect(paced.bells).toHaveLength(1)
      await clock.advance(LIMITS.bell_receipt_ms + 1)
      expect(paced.bells).toHaveLength(2)
      expect(posted).toHaveLength(2)
      paced.close()
    },
  )
})

describe('a client without hooks', () => {
  const turn = () => {
    surface.registryRead({ status: 'busy' })
    surface.registryRead({ status: 'idle' })
  }

  test('a client without hooks is logged once, with its first turn', () => {
    turn()
    turn()
    expect(warned).toHaveLength(1)
  })

  test('a client with hooks is not logged as one without', async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
    turn()
    expect(warned).toEqual([])
  })

  test('a client without hooks is rung when its registry shows the prompt', async () => {
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_registry_lag_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
  })
})

test('only one of several simultaneous rings is posted', async () => {
  const answers = await Promise.all(
    [doorbell(), doorbell(), doorbell()].map((bell) => surface.notify_surface(bell)),
  )
  expect(answers.map(({ proof }) => proof)).toEqual(['sent', 'deferred', 'deferred'])
  expect(posted).toHaveLength(1)
  expect(lost).toBe(0)
})

test('a suspended client is not rung', async () => {
  stopped = true
  expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
  expect(posted).toEqual([])
  stopped = false
  expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
})

test('an interrupt is reported in time although the clock was set back', async () => {
  await prompt()
  clock.setBack(3_600_000)
  await clock.advance(5_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_settle_ms)
  expect(await surface.status()).toMatchObject({ turn: 'idle' })
})

test('an interrupted turn is not ended by a changed registry record', async () => {
  let taken = 0
  onInterrupted = () => new Promise<void>(() => (taken += 1))
  await prompt()
  await clock.advance(5_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(60_000)
  surface.registryRead({ status: 'idle', sessionId: 'session-2' })
  await clock.advance(60_000)
  expect(taken).toBeGreaterThan(0)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
})

describe('a Stop hook with a slow response', () => {
  beforeEach(() => prompt())
  const answerAfter = (ms: number) => {
    const inner = { ...host }
    const report = (status: SurfaceReport) => inner.report(status)
    host.report = async (status) => {
      const until = status.take === true && new Promise<void>((resolve) => clock.after(ms, resolve))
      const answer = await report(status)
      await until
      return answer
    }
  }

  test('a slow Stop response is not a turn, and carries its doorbell', async () => {
    const bell = doorbell()
    host.ready = { doorbell: bell }
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    const report_count = host.reports.length
    await clock.advance(800)
    expect(await answering).toEqual(bell)
    expect(host.reports).toHaveLength(report_count)
  })

  test("the registry's time to follow starts with the Stop response", async () => {
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    await clock.advance(800)
    expect(await answering).toBeNull()
    await clock.advance(LIMITS.claude_registry_lag_ms - 1)
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    await clock.advance(1)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
  })

  test('a ring during a pending Stop response is deferred', async () => {
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    await clock.advance(800)
    await answering
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
  })
})

test('a closed surface leaves no timer', async () => {
  await prompt()
  surface.registryRead({ status: 'idle' })
  surface.close()
  expect(clock.armed()).toBe(0)
})

describe('an interrupt by a person', () => {
  async function interrupted() {
    await prompt()
    await clock.advance(20)
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
  }

  test('an interrupt is reported until the person sends something', async () => {
    await interrupted()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', interrupted: true })
    await prompt('go on')
    expect(host.reports.at(-1)).not.toHaveProperty('interrupted')
  })

  test('an interrupt ends with /clear', async () => {
    await interrupted()
    await surface.hookFired(turnEvent('SessionStart', { source: 'clear', session_id: 'session-2' }))
    expect(host.reports.at(-1)).not.toHaveProperty('interrupted')
  })

  test('an interrupt is not assumed for a client without hooks', async () => {
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_registry_lag_ms)
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    expect(await surface.status()).not.toHaveProperty('interrupted')
  })

  test('a turn that ends with a Stop is not an interrupt', async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
    expect(await surface.status()).not.toHaveProperty('interrupted')
  })
})
