import { beforeEach, describe, expect, test } from 'vitest'
import { acpSurface, type AcpSurface } from '../../../adapters/acp/acp-surface.ts'
import { keepAgent, type AgentKeeper, type AgentProcess } from '../../../adapters/acp/agent-keeper.ts'
import { keptSession } from '../../../adapters/acp/kept-session.ts'
import { AgentError } from '../../../adapters/acp/wire.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import type { Log } from '../../../src/ports/log.ts'
import { createIds } from '../../../src/system/random.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, seededRandom, type FakeClock } from '../../support/fake-clock.ts'
import { playedAgent, type Script } from '../../support/played-acp-agent.ts'
import { recordingHost } from '../../suites/surface.suite.ts'

interface Run {
  played: ReturnType<typeof playedAgent>
  ends(reason: string): Promise<void>
  asked: boolean
  killed: boolean
  started_at: number
}

let clock: FakeClock
let runs: Run[]
let said: string[]
let kept: { text: string | null }
let cannotKeep: boolean
let surface: AcpSurface
let keeper: AgentKeeper
let host: ReturnType<typeof recordingHost>

beforeEach(() => {
  clock = fakeClock()
  runs = []
  said = []
  kept = { text: null }
  cannotKeep = false
})

/** Every run answers by the script; with `ended` it is over as soon as it began. */
async function keptBy(script: Script, ended: string | null = null): Promise<void> {
  const note = (_fields: object, message: string) => void said.push(message)
  const log: Log = { debug() {}, info() {}, warn: note, error: note }
  host = recordingHost()
  surface = acpSurface({
    kind: 'opencode',
    policy: 'reject',
    clock,
    ids: createIds(clock, seededRandom()),
    log,
    onTurnEnded: () => keeper.works(),
    onTurnBroke: () => keeper.restart(),
    onWanted: () => keeper.hurry(),
  })
  surface.open(host)
  keeper = keepAgent({
    surface,
    cwd: '/project',
    version: '0',
    clock,
    log,
    start: () => started(script, ended),
    mcpServer: (run) => ({ name: 'turnbell', command: 'node', args: [run] }),
    kept: keptSession(
      {
        read: () => kept.text,
        write(text) {
          if (cannotKeep) throw new Error('ENOSPC')
          kept.text = text
        },
      },
      { argv: ['agent'], cwd: '/project' },
    ),
  })
  keeper.start()
  await atRest()
}

function started(script: Script, ended: string | null): AgentProcess {
  const played = playedAgent(script)
  let exit: (reason: string) => void = () => {}
  const exited = new Promise<string>((resolve) => (exit = resolve))
  const run: Run = {
    played,
    asked: false,
    killed: false,
    started_at: clock.monotonic(),
    async ends(reason) {
      played.end()
      exit(reason)
      await atRest()
    },
  }
  runs.push(run)
  if (ended !== null) exit(ended)
  return {
    ...played.pipe,
    exited,
    ask: () => void (run.asked = true),
    kill() {
      run.killed = true
      played.end()
      exit('SIGKILL')
    },
  }
}

const last = () => runs.at(-1)!
const sessionOf = (run: Run) =>
  (run.played.asked('session/new') as { mcpServers: { args: string[] }[] }).mcpServers
const pauses = () => runs.slice(1).map(({ started_at }, n) => started_at - runs[n]!.started_at)

describe('an agent that is kept', () => {
  test('is idle once it has a session, under the name that its drains will bear', async () => {
    await keptBy({})
    const { session_id, turn } = await surface.status()
    expect(turn).toBe('idle')
    expect(sessionOf(last())[0]?.args).toEqual([session_id])
  })

  test('goes on with its session under another name when it died', async () => {
    await keptBy({ initialize: { agentCapabilities: { loadSession: true } } })
    const before = await surface.status()
    await last().ends('SIGSEGV')
    const between = await surface.status()
    expect(between).toMatchObject({ turn: 'unknown', turn_seq: before.turn_seq })
    expect(between.session_id).not.toBe(before.session_id)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'unavailable' })
    await clock.advance(LIMITS.shim_restart_min_ms)
    expect(last().played.asked('session/load')).toMatchObject({ sessionId: 'new' })
    expect(await surface.status()).toMatchObject({ turn: 'idle', session_id: between.session_id })
    expect(said).toEqual(['the agent has ended (SIGSEGV) and is started again'])
  })

  describe('for a session that it does not open', () => {
    const loads = { initialize: { agentCapabilities: { loadSession: true } } }
    const note = () => JSON.stringify({ session: 'ses_1', argv: ['agent'], cwd: '/project' })
    const restarted = () => clock.advance(LIMITS.shim_restart_max_ms)

    test('begins a new one after two runs that gave no answer, or ended', async () => {
      kept.text = note()
      await keptBy({ ...loads, 'session/load': null })
      await clock.advance(LIMITS.acp_answer_ms)
      await restarted()
      expect(last().played.asked('session/load')).toMatchObject({ sessionId: 'ses_1' })
      await last().ends('SIGSEGV')
      await restarted()
      expect(runs).toHaveLength(3)
      expect(last().played.asked('session/load')).toBeUndefined()
      expect((await surface.status()).turn).toBe('idle')
      expect(said).toContain('the earlier session was not opened 2 times in a row; a new one begins')
      expect(kept.text).toContain('"new"')
    })

    test('goes on with it where it was never asked for it, or wanted a login', async () => {
      kept.text = note()
      const script: Script = { initialize: null }
      await keptBy(script)
      for (let run = 0; run < 3; run++) {
        await last().ends('exit code 1')
        await restarted()
      }
      Object.assign(script, loads, { 'session/load': new AgentError(-32_000, 'Authentication required') })
      for (let run = 0; run < 3; run++) {
        await last().ends('exit code 1')
        await restarted()
      }
      script['session/load'] = {}
      await restarted()
      expect(last().played.asked('session/load')).toMatchObject({ sessionId: 'ses_1' })
      expect((await surface.status()).turn).toBe('idle')
    })

    test('goes on with it where only one run in between did not', async () => {
      kept.text = note()
      const script: Script = { ...loads }
      await keptBy(script)
      for (let run = 0; run < 3; run++) {
        script['session/load'] = null
        await last().ends('exit code 1')
        await restarted()
        script['session/load'] = {}
        await last().ends('exit code 1')
        await restarted()
        expect(last().played.asked('session/load')).toMatchObject({ sessionId: 'ses_1' })
      }
    })
  })

  test('works where its session cannot be noted', async () => {
    cannotKeep = true
    await keptBy({})
    expect((await surface.status()).turn).toBe('idle')
    expect(said).toEqual(['the session could not be noted, so a later run will not find it'])
  })

  test('is started ever more rarely while it dies at once, and every time says why', async () => {
    await keptBy({ initialize: null }, 'spawn agent ENOENT')
    await clock.advance(10 * 60_000)
    expect(pauses().slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000))
    expect(new Set(said)).toEqual(new Set(['the agent has ended (spawn agent ENOENT) and is started again']))
    expect(new Set(host.reports.map(({ turn }) => turn))).toEqual(new Set())
    expect((await surface.status()).turn).toBe('unknown')
  })

  test('is started at once when somebody wants it back, and not twice', async () => {
    await keptBy({})
    await surface.resume_surface()
    expect(runs).toHaveLength(1)
    await last().ends('exit code 1')
    await surface.resume_surface()
    await surface.resume_surface()
    expect(runs).toHaveLength(2)
  })

  test('that wants a login is tried once a minute, and says so', async () => {
    await keptBy({ 'session/new': new AgentError(-32_000, 'Authentication required') })
    expect(said[0]).toMatch(/the agent opens no session: it wants a login first/)
    expect(last().killed).toBe(true)
    await clock.advance(LIMITS.shim_restart_max_ms)
    expect(pauses()).toEqual([LIMITS.shim_restart_max_ms])
  })

  test('that opens no session in its time is ended', async () => {
    await keptBy({ initialize: null })
    await clock.advance(LIMITS.acp_answer_ms)
    expect(said[0]).toMatch(/the agent opens no session: initialize was not answered/)
    expect(runs[0]?.killed).toBe(true)
  })

  test('that breaks off every turn is started ever more rarely, until one of them ends', async () => {
    const script: Script = { 'session/prompt': new AgentError(-32_603, 'the model is away') }
    await keptBy(script)
    for (let turn = 0; turn < 3; turn++) {
      const at = runs.length
      expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'failed' })
      expect((await surface.status()).turn).toBe('unknown')
      while (runs.length === at) await clock.advance(500)
    }
    expect(pauses()).toEqual([1_000, 2_000, 4_000])
    script['session/prompt'] = { stopReason: 'end_turn' }
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: true, proof: 'confirmed' })
    await last().ends('exit code 1')
    await clock.advance(1_000)
    expect(pauses().at(-1)).toBe(1_000)
  })

  test('is asked to end with its shim, and made to after its grace', async () => {
    await keptBy({})
    let gone = false
    void keeper.stop().then(() => (gone = true))
    expect(last()).toMatchObject({ asked: true, killed: false })
    await clock.advance(LIMITS.acp_stop_grace_ms)
    expect(last().killed).toBe(true)
    expect(gone).toBe(true)
    await clock.advance(LIMITS.shim_restart_max_ms)
    expect(runs).toHaveLength(1)
  })

  test('is not started for a shim that has ended before', async () => {
    await keptBy({}, 'gone')
    await keeper.stop()
    const before = runs.length
    keeper.start()
    await atRest()
    expect(runs).toHaveLength(before)
  })

  test('is never prompted twice at once', async () => {
    await keptBy({ 'session/prompt': null })
    const first = surface.notify_surface(doorbell())
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    await clock.advance(LIMITS.acp_receipt_ms)
    expect(await first).toEqual({ accepted: true, proof: 'sent' })
    await clock.advance(24 * 60 * 60_000)
    expect(await surface.notify_surface(doorbell())).toEqual({ accepted: false, proof: 'deferred' })
    last().played.answers('session/prompt', { stopReason: 'end_turn' })
    await atRest()
    expect((await surface.status()).turn).toBe('idle')
    expect(clock.armed()).toBe(0)
  })
})

describe('the session that is kept', () => {
  const file = (text: string | null) => ({ read: () => text, write: () => {} })
  const here = { argv: ['opencode', 'acp'], cwd: '/project' }
  const note = JSON.stringify({ session: 'ses_1', ...here })

  test('is of use to the same agent in the same place', () => {
    expect(keptSession(file(note), here).read()).toBe('ses_1')
  })

  test.each([
    ['another agent', note, { ...here, argv: ['codex-acp'] }],
    ['another place', note, { ...here, cwd: '/elsewhere' }],
    ['nobody, where the file is missing', null, here],
    ['nobody, where the file is torn', note.slice(0, 20), here],
    ['nobody, where the file holds something else', '{"session": ""}', here],
  ])('but not to %s', (_whom, text, where) => {
    expect(keptSession(file(text), where).read()).toBeNull()
  })
})
