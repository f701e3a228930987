/** What the Claude Code surface does beyond the promises of every surface. */
import { beforeEach, describe, expect, test } from 'vitest'
import { claudeSurface, type ClaudeSurface } from '../../../adapters/claude-code/claude-surface.ts'
import type { SurfaceReport } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { paceSurface } from '../../support/paced-surface.ts'
import { turnEvent } from '../../support/turn-events.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

let clock: FakeClock
let host: ReturnType<typeof recordingHost>
let posted: string[]
let warned: string[]
/** How often a way was told that it lost a bell. */
let lost: number
let surface: ClaudeSurface
/** What is taken back before the end of an interrupted turn is told. */
let takenBack: () => Promise<void>
/** The client stands still, as by Ctrl-Z. */
let stopped: boolean
/** The client has not read the last doorbell. */
let unread: boolean
/** Nobody is at the end of any way. */
let refuses: boolean

beforeEach(async () => {
  clock = fakeClock()
  host = recordingHost()
  posted = []
  warned = []
  lost = 0
  takenBack = async () => {}
  stopped = false
  unread = false
  refuses = false
  surface = claudeSurface({
    session_id: 'session-1',
    clock,
    log: silentLog,
    degraded: { ...silentLog, warn: (_, message) => warned.push(message) },
    respawned: false,
    interrupted: () => takenBack(),
    isStopped: () => stopped,
    ways: {
      post: async (text) => (posted.push(text), refuses ? 'unavailable' : 'sent'),
      unread: () => unread,
      lost: () => (lost += 1),
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
    await prompt('typed meanwhile')
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

test('an interrupt is reported idle once the registry has said so for long enough', async () => {
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

  test('is told only after what it was not shown is taken back', async () => {
    let done!: () => void
    takenBack = () => new Promise<void>((resolve) => (done = resolve))
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    done()
    await atRest()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle' })
  })

  test('is over when a prompt comes, which begins another', async () => {
    let taken = 0
    takenBack = async () => void (taken += 1)
    const { turn_seq } = await surface.status()
    await prompt('something else')
    expect(taken).toBe(1)
    expect(host.reports.at(-1)).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    await clock.advance(60_000)
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
    expect(taken).toBe(1)
  })

  test('does not end the one that a prompt began while things were taken back', async () => {
    let done!: () => void
    takenBack = () => new Promise<void>((resolve) => (done = resolve))
    await clock.advance(LIMITS.claude_settle_ms)
    surface.registryRead({ status: 'busy' })
    done()
    await atRest()
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    expect(host.reports.some(({ turn }) => turn === 'idle' && host.reports.length > 2)).toBe(false)
  })
})

test('a prompt that is typed during a turn takes nothing back', async () => {
  let taken = 0
  takenBack = async () => void (taken += 1)
  await prompt()
  await clock.advance(5_000)
  const { turn_seq } = await surface.status()
  await prompt('typed ahead')
  expect(taken).toBe(0)
  expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq })
})

test('a report is only made when it says something new', async () => {
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

describe('a bell that leaves no trace', () => {
  test('is a lost one once the daemon rings again for the same turn', async () => {
    await surface.notify_surface(doorbell())
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(lost).toBe(0)
    await clock.advance(1)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ accepted: true })
    expect(lost).toBe(1)
  })

  test('is outstanding until its prompt is submitted, however slow the client is', async () => {
    unread = true
    const bell = doorbell()
    await surface.notify_surface(bell)
    const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
    expect(host.reports.at(-1)).toMatchObject(outstanding)
    await clock.advance(2 * LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).toMatchObject(outstanding)
    // Read at last; its hooks come later still.
    unread = false
    expect(await surface.status()).toMatchObject(outstanding)
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await prompt(bell.text)
    expect(host.reports.at(-1)).toMatchObject({ seen_doorbell_id: bell.doorbell_id, turn: 'busy' })
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
    expect(posted).toEqual([bell.text])
  })

  test('is not outstanding where nobody was there to take it', async () => {
    refuses = true
    await surface.notify_surface(doorbell())
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(host.reports.at(-1)).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('is no lost one once it was seen', async () => {
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

describe('a bell that the client has read', () => {
  const bell = doorbell()
  const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
  const leavesSubagent = { background_tasks: JSON.stringify([{ type: 'subagent' }]) }

  test('is outstanding for the bound after its client went on, also where nobody asked meanwhile', async () => {
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

  test('is outstanding behind the dialog of a subagent', async () => {
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

  test('leaves no timer once it was seen', async () => {
    const armed = clock.armed()
    await surface.notify_surface(bell)
    await prompt(bell.text)
    await clock.advance(LIMITS.claude_bell_look_ms)
    expect(clock.armed()).toBe(armed)
  })

  test('is none that is posted behind the dialog of a subagent', async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop', leavesSubagent), () => false)
    surface.registryRead({ status: 'waiting' })
    expect(await surface.notify_surface(bell)).toEqual({ accepted: false, proof: 'deferred' })
    surface.registryRead({ status: 'busy' })
    expect(await surface.notify_surface(bell)).toMatchObject({ accepted: true })
  })
})

describe('a bell that was posted before a person began a turn', () => {
  const bell = doorbell()
  const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
  beforeEach(() => surface.notify_surface(bell))

  /** The report that asks for a bell is the last one with `take`. */
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

  test('is outstanding at the end of that turn while the client has not read it', async () => {
    unread = true
    await turnOf('something else')
    expect(asked()).toMatchObject({ turn: 'idle', ...outstanding })
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    expect(posted).toEqual([bell.text])
  })

  test('is outstanding while the client has it in its queue, until a turn begins with it', async () => {
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

  test('is outstanding no more once it came into that turn', async () => {
    await prompt('something else')
    await surface.hookFired(turnEvent('PostToolBatch'))
    await prompt(bell.text)
    await stop()
    expect(asked()).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
    expect(asked()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('counts as lost after its time at the prompt, which says nothing against its way', async () => {
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(1)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
    expect(lost).toBe(0)
  })

  test('counts as lost by the time at the prompt of all turns together, where none is long', async () => {
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

  test('does not become outstanding again once it counts as lost', async () => {
    await clock.advance(LIMITS.claude_bell_lost_ms)
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
    unread = true
    await turnOf('something else')
    expect(asked()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('has its time at the prompt from when it was read on', async () => {
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

  test('is lost by its way where a client that runs turns never reads it', async () => {
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

  test('is not lost while the client stands still', async () => {
    await turnOf('something else')
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    stopped = true
    expect(await surface.status()).toMatchObject(outstanding)
    stopped = false
    await clock.advance(LIMITS.claude_bell_lost_ms - 1)
    expect(await surface.status()).toMatchObject(outstanding)
  })
})

describe('a daemon whose bell the client has when a person begins a turn', () => {
  test.each([
    ['has not read', true],
    ['has read', false],
  ])(
    'rings no second time at the end of that turn, and within a bound where the client, which %s it, drops it',
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

describe('a client that tells no hooks', () => {
  const turn = () => {
    surface.registryRead({ status: 'busy' })
    surface.registryRead({ status: 'idle' })
  }

  test('is found out by its first turn, and told of once', () => {
    turn()
    turn()
    expect(warned).toEqual(['the client tells no hooks; its turns are read from its registry alone'])
  })

  test('is not one that told any', async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
    turn()
    expect(warned).toEqual([])
  })

  test('is rung all the same, once its registry stands at the prompt', async () => {
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_registry_lag_ms)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
  })
})

test('of rings that a worker that stood still is handed at once, one is posted', async () => {
  const answers = await Promise.all(
    [doorbell(), doorbell(), doorbell()].map((bell) => surface.notify_surface(bell)),
  )
  expect(answers.map(({ proof }) => proof)).toEqual(['sent', 'deferred', 'deferred'])
  expect(posted).toHaveLength(1)
  expect(lost).toBe(0)
})

test('a client that was stopped is not rung: it would find every bell when it goes on', async () => {
  stopped = true
  expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
  expect(posted).toEqual([])
  stopped = false
  expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'sent' })
})

test('an interrupt is believed in its time also where the clock was set back', async () => {
  await prompt()
  clock.setBack(3_600_000)
  await clock.advance(5_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(LIMITS.claude_settle_ms)
  expect(await surface.status()).toMatchObject({ turn: 'idle' })
})

test('an interrupted turn that its registry tells of again is not ended before its time', async () => {
  let taken = 0
  takenBack = () => new Promise<void>(() => (taken += 1))
  await prompt()
  await clock.advance(5_000)
  surface.registryRead({ status: 'idle' })
  await clock.advance(60_000)
  surface.registryRead({ status: 'idle', sessionId: 'session-2' })
  await clock.advance(60_000)
  expect(taken).toBeGreaterThan(0)
  expect(host.reports.at(-1)).toMatchObject({ turn: 'busy' })
})

describe('a Stop whose answer takes its time', () => {
  beforeEach(() => prompt())
  const answerAfter = (ms: number) => {
    const inner = { ...host }
    const report = (said: SurfaceReport) => inner.report(said)
    host.report = async (said) => {
      const until = said.take === true && new Promise<void>((resolve) => clock.after(ms, resolve))
      const answer = await report(said)
      await until
      return answer
    }
  }

  test('is no turn that no hook told of, and carries its bell', async () => {
    const bell = doorbell()
    host.ready = { doorbell: bell }
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    const told = host.reports.length
    await clock.advance(800)
    expect(await answering).toEqual(bell)
    expect(host.reports).toHaveLength(told)
  })

  test('leaves the registry its time to follow, once it is there', async () => {
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    await clock.advance(800)
    expect(await answering).toBeNull()
    await clock.advance(LIMITS.claude_registry_lag_ms - 1)
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    await clock.advance(1)
    expect(await surface.status()).toMatchObject({ turn: 'busy' })
  })

  test('is no place for another bell', async () => {
    answerAfter(800)
    const answering = surface.stopped(turnEvent('Stop'), () => false)
    expect(await surface.notify_surface(doorbell())).toMatchObject({ proof: 'deferred' })
    await clock.advance(800)
    await answering
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
  })
})

test('leaves no timer behind', async () => {
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

  test('is reported until the person sends something', async () => {
    await interrupted()
    expect(host.reports.at(-1)).toMatchObject({ turn: 'idle', interrupted: true })
    await prompt('go on')
    expect(host.reports.at(-1)).not.toHaveProperty('interrupted')
  })

  test('is over with /clear', async () => {
    await interrupted()
    await surface.hookFired(turnEvent('SessionStart', { source: 'clear', session_id: 'session-2' }))
    expect(host.reports.at(-1)).not.toHaveProperty('interrupted')
  })

  test('is not assumed of a client whose hooks do not come', async () => {
    surface.registryRead({ status: 'busy' })
    await clock.advance(LIMITS.claude_registry_lag_ms)
    surface.registryRead({ status: 'idle' })
    await clock.advance(LIMITS.claude_settle_ms)
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    expect(await surface.status()).not.toHaveProperty('interrupted')
  })

  test('is not a turn that ends with a Stop', async () => {
    await prompt()
    await surface.stopped(turnEvent('Stop'), () => false)
    expect(await surface.status()).not.toHaveProperty('interrupted')
  })
})
