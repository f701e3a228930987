/** The command surface where the program's run is the turn. */
import { beforeEach, describe, expect, test } from 'vitest'
import {
  commandSurface,
  type CommandSurface,
  type ProgramExit,
} from '../../../adapters/command/command-surface.ts'
import { CommandSettings } from '../../../src/contracts/config.ts'
import { LIMITS } from '../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds, systemRandom } from '../../../src/system/random.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fakes/fake-clock.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

const ids = createIds(systemClock, systemRandom)

interface Started {
  argv: readonly string[]
  line: string
  env: Record<string, string>
  killed: boolean
  exit(code: number | null): Promise<void>
}

let clock: FakeClock
let host: ReturnType<typeof recordingHost>
let programs: Started[]
/** Content of the run file. */
let noted: string | null
let living: Set<number>
let startable: boolean
/** Whether the system reports the start time of a process. */
let start_readable: boolean
/** Error of a full disk. */
let write: (text: string) => void
let remove: () => void
let thrown: Error | null

beforeEach(() => {
  clock = fakeClock()
  host = recordingHost()
  programs = []
  noted = null
  living = new Set()
  startable = true
  start_readable = true
  write = (text) => void (noted = text)
  remove = () => void (noted = null)
  thrown = null
})

function open(settings: object = {}): CommandSurface {
  const surface = commandSurface({
    identity: 'ada',
    settings: CommandSettings.parse({ argv: ['agent', '--once'], ...settings }),
    start(argv, line, env) {
      if (thrown !== null) throw thrown
      let leave!: (exit: ProgramExit) => void
      const exited = new Promise<ProgramExit>((resolve) => (leave = resolve))
      const pid = programs.length + 100
      const program: Started = {
        argv,
        line,
        env,
        killed: false,
        async exit(code) {
          living.delete(pid)
          leave({ code, reason: `exit code ${code}`, output: '' })
          await atRest()
        },
      }
      if (!startable) {
        leave({ code: null, reason: 'ENOENT', output: '' })
        return { pid: undefined, started: null, exited: exited, kill() {} }
      }
      programs.push(program)
      living.add(pid)
      return {
        pid,
        started: 'then',
        exited: exited,
        kill() {
          program.killed = true
          void program.exit(null)
        },
      }
    },
    alive: (pid) => living.has(pid),
    is: (pid, started) => living.has(pid) && started === 'then' && start_readable,
    killGroup: (pid) => void living.delete(pid),
    run_file: { read: () => noted, write: (text) => write(text), remove: () => remove() },
    clock,
    ids,
    log: silentLog,
  })
  surface.open(host)
  return surface
}

const ring = async (surface: CommandSurface) => {
  const answer = surface.notify_surface(doorbell())
  await atRest()
  return answer
}
const last = () => host.reports.at(-1)!

describe('a run', () => {
  test('a run gets the doorbell as one JSON line and the session id to drain under', async () => {
    const surface = open()
    const bell = doorbell()
    void surface.notify_surface(bell)
    expect(programs[0]!.argv).toEqual(['agent', '--once'])
    expect(JSON.parse(programs[0]!.line)).toEqual(bell)
    expect(programs[0]!.line.split('\n')).toHaveLength(2)
    expect(programs[0]!.env).toEqual({ TURNBELL_PERSONA: 'ada', TURNBELL_SESSION_ID: last().session_id })
  })

  test('a run is a turn: busy while it runs, idle after it, in the same session', async () => {
    const surface = open()
    const { session_id, turn_seq } = last()
    const answer = surface.notify_surface(doorbell())
    expect(last()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1, session_id })
    await programs[0]!.exit(0)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    expect(last()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1, session_id })
  })

  test('a long run is answered before it ends', async () => {
    const surface = open()
    const answer = surface.notify_surface(doorbell())
    await clock.advance(LIMITS.command_answer_ms)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    expect(last().turn).toBe('busy')
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'deferred' })
    expect(programs).toHaveLength(1)
  })

  test('a run that exceeds its timeout is killed', async () => {
    const surface = open({ timeout_ms: 5_000 })
    void surface.notify_surface(doorbell())
    await clock.advance(4_999)
    expect(programs[0]!.killed).toBe(false)
    await clock.advance(1)
    expect(programs[0]!.killed).toBe(true)
    expect(last().turn).not.toBe('busy')
  })

  test('a failed run ends the session, so its drains are released, and is not repeated at once', async () => {
    const surface = open()
    const { session_id } = last()
    const answer = surface.notify_surface(doorbell())
    await programs[0]!.exit(3)
    expect(await answer).toEqual({ accepted: false, proof: 'failed' })
    expect(last()).toMatchObject({ turn: 'unknown' })
    expect(last().session_id).not.toBe(session_id)
    expect(
      host.reports.filter((report) => report.session_id === session_id && report.turn === 'idle'),
    ).toHaveLength(1)
    await clock.advance(LIMITS.command_pause_min_ms)
    expect(last().turn).toBe('idle')
  })

  test('a run that keeps failing is retried with backoff until it succeeds', async () => {
    const surface = open()
    const pauses: number[] = []
    for (let n = 0; n < 4; n++) {
      void surface.notify_surface(doorbell())
      await programs.at(-1)!.exit(1)
      let waited = 0
      while (last().turn !== 'idle') {
        await clock.advance(100)
        waited += 100
      }
      pauses.push(waited)
    }
    expect(pauses).toEqual([1, 2, 4, 8].map((times) => times * LIMITS.command_pause_min_ms))
    void surface.notify_surface(doorbell())
    await programs.at(-1)!.exit(0)
    void surface.notify_surface(doorbell())
    await programs.at(-1)!.exit(1)
    await clock.advance(LIMITS.command_pause_min_ms)
    expect(last().turn).toBe('idle')
  })

  test('a program that cannot be started keeps the session, because it has drained nothing', async () => {
    startable = false
    const surface = open()
    const { session_id } = last()
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'failed' })
    expect(last()).toMatchObject({ turn: 'idle', session_id })
    expect(noted).toBeNull()
  })
})

describe('a run on a machine without free resources', () => {
  const full = () => {
    throw new Error('ENOSPC')
  }

  // No later shim would find it, and the next doorbell would ring into its turn.
  test('a run is killed if its run file cannot be written, and the next one runs', async () => {
    const surface = open()
    const { session_id } = last()
    write = full
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'failed' })
    expect(programs[0]!.killed).toBe(true)
    expect(last()).toMatchObject({ turn: 'unknown' })
    expect(last().session_id).not.toBe(session_id)
    await clock.advance(LIMITS.command_pause_min_ms)
    write = (text) => void (noted = text)
    const answer = surface.notify_surface(doorbell())
    await programs[1]!.exit(0)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    expect(last().turn).toBe('idle')
  })

  test('a run ends although its run file cannot be removed', async () => {
    const surface = open()
    const answer = surface.notify_surface(doorbell())
    remove = full
    await programs[0]!.exit(0)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    expect(last().turn).toBe('idle')
  })

  test('a run whose start throws has not begun, and the next one runs', async () => {
    const surface = open()
    const { session_id } = last()
    thrown = new Error('spawn E2BIG')
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'failed' })
    expect(last()).toMatchObject({ turn: 'idle', session_id })
    thrown = null
    const answer = surface.notify_surface(doorbell())
    await programs[0]!.exit(0)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
  })
})

describe('a shim that was killed while its program ran', () => {
  const killed = (more: object = {}) => {
    living.add(77)
    noted = JSON.stringify({
      pid: 77,
      started: 'then',
      session_id: 'session-old',
      deadline_ms: clock.now() + 30_000,
      ...more,
    })
  }

  test('the shim after a killed one stays busy until the program has exited', async () => {
    killed()
    const surface = open()
    expect(last()).toMatchObject({ turn: 'busy', session_id: 'session-old' })
    expect(await ring(surface)).toMatchObject({ proof: 'deferred' })
    living.delete(77)
    await clock.advance(1_000)
    expect(last().turn).toBe('idle')
    expect(last().session_id).not.toBe('session-old')
    expect(noted).toBeNull()
  })

  test('the shim after a killed one kills the program at its original deadline', async () => {
    killed()
    open()
    await clock.advance(30_000)
    expect(living.has(77)).toBe(true)
    await clock.advance(1_000)
    expect(living.has(77)).toBe(false)
    expect(last().turn).toBe('idle')
  })

  // Without a readable /proc the pid may have been reused by another process.
  test.each([
    ['was not recorded', null, true],
    ['cannot be read', 'then', false],
  ])(
    'the shim after a killed one does not kill a process whose start %s, and stops waiting for it',
    async (_, started, readable) => {
      start_readable = readable
      killed({ started })
      const surface = open()
      expect(await ring(surface)).toMatchObject({ proof: 'deferred' })
      await clock.advance(31_000)
      expect(living.has(77)).toBe(true)
      expect(last().turn).toBe('idle')
      expect(noted).toBeNull()
    },
  )

  test.each(['', 'half a lin', '{}', JSON.stringify({ pid: -1 }), 'null'])(
    'an invalid run file (%j) is ignored',
    (text) => {
      noted = text
      open()
      expect(last().turn).toBe('idle')
      expect(noted).toBeNull()
    },
  )
})

describe('a status file', () => {
  test.each([
    ['idle', 'idle'],
    [' busy\n', 'busy'],
    ['', 'unknown'],
    ['IDLE', 'unknown'],
    ['sleeping', 'unknown'],
    [null, 'unknown'],
  ] as const)('a status file with %j is %s', async (text, turn) => {
    const surface = open({ status_file: 'status' })
    surface.statusFileRead(text)
    expect((await surface.status()).turn).toBe(turn)
    if (turn !== 'idle') expect(await ring(surface)).toMatchObject({ accepted: false, proof: 'deferred' })
  })

  test('a status file that is emptied and rewritten begins no new turn', async () => {
    const surface = open({ status_file: 'status' })
    surface.statusFileRead('busy')
    const { turn_seq } = await surface.status()
    for (const text of ['', 'busy']) surface.statusFileRead(text)
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq })
  })

  test('a status file determines the turn; the run of the program does not', async () => {
    const surface = open({ status_file: 'status' })
    surface.statusFileRead('idle')
    const { turn_seq } = await surface.status()
    const answer = surface.notify_surface(doorbell())
    await programs[0]!.exit(0)
    expect(await answer).toEqual({ accepted: true, proof: 'sent' })
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
    surface.statusFileRead('busy')
    expect(await surface.status()).toMatchObject({ turn: 'busy', turn_seq: turn_seq + 1 })
  })
})

describe('a doorbell passed on by the program', () => {
  const TIMEOUT_MS = 10 * 60_000
  function begin() {
    const surface = open({ status_file: 'status', timeout_ms: TIMEOUT_MS })
    surface.statusFileRead('idle')
    return surface
  }
  async function ringing() {
    const surface = begin()
    const bell = doorbell()
    void surface.notify_surface(bell)
    await atRest()
    return { surface, outstanding: { turn: 'idle', outstanding_doorbell_id: bell.doorbell_id } }
  }

  test('a doorbell is outstanding while the program runs, without a time limit', async () => {
    const { surface, outstanding } = await ringing()
    expect(last()).toMatchObject(outstanding)
    await clock.advance(TIMEOUT_MS - 1_000)
    surface.statusFileRead('idle')
    expect(await surface.status()).toMatchObject(outstanding)
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'deferred' })
  })

  test('a doorbell is outstanding until its turn begins', async () => {
    const { surface } = await ringing()
    surface.statusFileRead('busy')
    expect(last()).toMatchObject({ turn: 'busy' })
    expect(last()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test.each([0, 1])('a doorbell is not outstanding after the program has exited with %i', async (code) => {
    const { surface } = await ringing()
    await programs[0]!.exit(code)
    expect(last()).not.toHaveProperty('outstanding_doorbell_id')
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell is not outstanding if the program could not be started', async () => {
    startable = false
    const surface = begin()
    expect(await ring(surface)).toEqual({ accepted: false, proof: 'failed' })
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell is outstanding for the next shim until the program has exited', async () => {
    const { outstanding } = await ringing()
    const next = begin()
    expect(await next.status()).toMatchObject(outstanding)
    await clock.advance(60_000)
    expect(await next.status()).toMatchObject(outstanding)
    await programs[0]!.exit(0)
    await clock.advance(1_000)
    expect(await next.status()).not.toHaveProperty('outstanding_doorbell_id')
  })
})

test('a closed surface leaves no timer', async () => {
  const surface = open()
  void surface.notify_surface(doorbell())
  await programs[0]!.exit(1)
  surface.close()
  await clock.advance(LIMITS.command_answer_ms)
  expect(clock.armed()).toBe(0)
})
