import { beforeEach, describe, expect, test } from 'vitest'
import { acpSurface, type AcpSurface } from '../../../../adapters/acp/acp-surface.ts'
import { keepAgent, type AgentKeeper, type AgentProcess } from '../../../../adapters/acp/agent-keeper.ts'
import { sessionStore } from '../../../../adapters/acp/session-store.ts'
import { AgentUnusableError } from '../../../../adapters/acp/agent.ts'
import { AgentError } from '../../../../adapters/acp/wire.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import type { Log } from '../../../../src/ports/log.ts'
import { createIds } from '../../../../src/system/random.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, seededRandom, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { playedAgent, speaks, type Script } from '../../../support/fakes/scripted-acp-agent.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

interface Run {
  played: ReturnType<typeof playedAgent>
  ends(reason: string): Promise<void>
  input_closed: boolean
  killed: boolean
  started_at: number
}

let clock: FakeClock
let runs: Run[]
let logged: { err?: unknown; reason?: string; session?: string }[]
let kept: { text: string | null }
let disk_full: boolean
let surface: AcpSurface
let keeper: AgentKeeper
let host: ReturnType<typeof recordingHost>

beforeEach(() => {
  clock = fakeClock()
  runs = []
  logged = []
  kept = { text: null }
  disk_full = false
})

/** Keeps a fake agent that answers by the script; with `ended` every run exits at once with that reason. */
async function keptBy(script: Script, ended: string | null = null): Promise<void> {
  const note = (fields: object) => void logged.push(fields)
  const log: Log = { debug() {}, info() {}, warn: note, error: note }
  host = recordingHost()
  surface = acpSurface({
    kind: 'opencode',
    policy: 'reject',
    clock,
    ids: createIds(clock, seededRandom()),
    log,
    onTurnEnded: () => keeper.turnEnded(),
    onTurnFailed: () => keeper.restart(),
    onResumeRequested: () => keeper.startNow(),
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
    session_store: sessionStore(
      {
        read: () => kept.text,
        write(text) {
          if (disk_full) throw new Error('ENOSPC')
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
    input_closed: false,
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
    closeInput: () => void (run.input_closed = true),
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

describe('a kept agent', () => {
  test('a kept agent is idle once it has a session, under the session id of its drains', async () => {
    await keptBy({})
    const { session_id, turn } = await surface.status()
    expect(turn).toBe('idle')
    expect(sessionOf(last())[0]?.args).toEqual([session_id])
  })

  test('a kept agent that exits resumes its session under another session id', async () => {
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
    expect(logged.at(-1)).toMatchObject({ reason: 'SIGSEGV' })
  })

  describe('with a session that it does not open', () => {
    const loads = { initialize: { agentCapabilities: { loadSession: true } } }
    const note = () => JSON.stringify({ session: 'ses_1', argv: ['agent'], cwd: '/project' })
    const restarted = () => clock.advance(LIMITS.shim_restart_max_ms)

    test('a new session is opened after two runs that timed out or exited', async () => {
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
      expect(logged).toContainEqual(expect.objectContaining({ session: 'ses_1', failed_resumes: 2 }))
      expect(kept.text).toContain('"new"')
    })

    test('the session is kept if it was never requested, or if a login was required', async () => {
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

    test('the session is kept if a run in between opened it', async () => {
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

  test('a kept agent works if its session id cannot be stored', async () => {
    disk_full = true
    await keptBy({})
    expect((await surface.status()).turn).toBe('idle')
    expect(logged).toMatchObject([{ session: 'new' }])
  })

  test('an agent that exits at once is restarted with backoff, and every exit reason is logged', async () => {
    await keptBy({ initialize: null }, 'spawn agent ENOENT')
    await clock.advance(10 * 60_000)
    expect(pauses().slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((s) => s * 1_000))
    expect(new Set(logged.map(({ reason }) => reason))).toEqual(new Set(['spawn agent ENOENT']))
    expect(new Set(host.reports.map(({ turn }) => turn))).toEqual(new Set())
    expect((await surface.status()).turn).toBe('unknown')
  })

  test('resume_surface starts an exited agent at once and only once', async () => {
    await keptBy({})
    await surface.resume_surface()
    expect(runs).toHaveLength(1)
    await last().ends('exit code 1')
    await surface.resume_surface()
    await surface.resume_surface()
    expect(runs).toHaveLength(2)
  })

  test('an agent that requires a login is restarted once a minute, and that is logged', async () => {
    await keptBy({ 'session/new': new AgentError(-32_000, 'Authentication required') })
    expect(logged[0]?.err).toBeInstanceOf(AgentUnusableError)
    expect(last().killed).toBe(true)
    await clock.advance(LIMITS.shim_restart_max_ms)
    expect(pauses()).toEqual([LIMITS.shim_restart_max_ms])
  })

  test('an agent with another protocol version is restarted once a minute and stays absent', async () => {
    await keptBy(speaks(2))
    expect(logged[0]?.err).toBeInstanceOf(AgentUnusableError)
    expect(last().killed).toBe(true)
    await clock.advance(LIMITS.shim_restart_max_ms)
    expect(pauses()).toEqual([LIMITS.shim_restart_max_ms])
    expect(await surface.status()).toMatchObject({ absent: true })
  })

  test('an agent that does not open a session in time is killed', async () => {
    await keptBy({ initialize: null })
    await clock.advance(LIMITS.acp_answer_ms)
    expect(logged[0]?.err).toBeInstanceOf(AgentError)
    expect(runs[0]?.killed).toBe(true)
  })

  test('an agent whose turns fail is restarted with backoff until one of its turns ends', async () => {
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

  test("stopping closes the agent's input and kills it after the grace period", async () => {
    await keptBy({})
    let gone = false
    void keeper.stop().then(() => (gone = true))
    expect(last()).toMatchObject({ input_closed: true, killed: false })
    await clock.advance(LIMITS.acp_stop_grace_ms)
    expect(last().killed).toBe(true)
    expect(gone).toBe(true)
    await clock.advance(LIMITS.shim_restart_max_ms)
    expect(runs).toHaveLength(1)
  })

  test('an agent is not started after its keeper was stopped', async () => {
    await keptBy({}, 'gone')
    await keeper.stop()
    const before = runs.length
    keeper.start()
    await atRest()
    expect(runs).toHaveLength(before)
  })

  test('an agent is never prompted during a turn', async () => {
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

describe('the stored session', () => {
  const file = (text: string | null) => ({ read: () => text, write: () => {} })
  const here = { argv: ['opencode', 'acp'], cwd: '/project' }
  const note = JSON.stringify({ session: 'ses_1', ...here })

  test('the stored session is read by the same command in the same directory', () => {
    expect(sessionStore(file(note), here).read()).toBe('ses_1')
  })

  test.each([
    ['another command', note, { ...here, argv: ['codex-acp'] }],
    ['another directory', note, { ...here, cwd: '/elsewhere' }],
    ['any agent if the file is missing', null, here],
    ['any agent if the file is truncated', note.slice(0, 20), here],
    ['any agent if the file has other content', '{"session": ""}', here],
  ])('the stored session is not read by %s', (_whom, text, where) => {
    expect(sessionStore(file(text), where).read()).toBeNull()
  })
})
