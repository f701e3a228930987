/**
 * Real processes, killed at random: hub, daemons and shims, during two thousand signals between three
 * personas. Nothing accepted may be lost, nothing may be handed out twice without a released lease in
 * between, and no turn may see two doorbells.
 *
 * The seed is printed; `TURNBELL_SEED=n` replays the choices.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, onTestFailed, test } from 'vitest'
import type { z } from 'zod'
import type { PersonaStatusList } from '../../../src/contracts/persona-status.ts'
import { eventually } from '../../support/eventually.ts'
import { hubHttp, Refused } from '../../support/worlds/hub-http.ts'
import {
  end,
  type Running,
  startDaemon,
  startHub,
  temporaryHome,
  turnbell,
} from '../../support/processes/processes.ts'

const PERSONAS = ['ada', 'bob', 'cyd'] as const
const SIGNALS = 2_000
const BURST = 20
/** Number of bursts between two kills. */
const KILL_EVERY = 5

type Persona = (typeof PERSONAS)[number]
interface LogEntry {
  kind: 'turn_started' | 'drained' | 'turn_ended'
  pid: number
  doorbell_id?: string
  signal_id?: string
  deliveries?: number
}

/** A small seeded generator (mulberry32) for the test's choices. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const running: Running[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((process_) => end(process_, 'SIGTERM')))
})

/**
 * What causes a doorbell for a backlog after a kill: a short patience, or one more signal to each. The second shows
 * that a push to a connected daemon with an idle surface is never missed.
 */
const WAKING = { 'a short patience': { reconnect_patience_ms: 500 }, 'one more signal': {} }
type Waking = keyof typeof WAKING

test.each(Object.keys(WAKING) as Waking[])(
  'no signal is lost or delivered twice when a random process is killed, with %s',
  // `bad-days.test.ts` kills the same processes, among other faults.
  { tags: ['extended'], timeout: 600_000 },
  killAtRandom,
)

async function killAtRandom(waking: Waking): Promise<void> {
  const seed = Number(process.env['TURNBELL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  console.log(`seed ${seed}: replay with TURNBELL_SEED=${seed}`)
  const random = seeded(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T

  const home = temporaryHome()
  onTestFailed(async () => {
    const status = await turnbell(['status', '--home', home, '--json'])
    console.log(`the home is kept: ${home}\n${status.stdout}`)
  })
  const logOf = (persona: Persona) => path.join(home, `${persona}.agent.jsonl`)
  const agent = path.resolve(import.meta.dirname, '../../support/processes/drain-agent.mjs')
  const personas = Object.fromEntries(
    PERSONAS.map((persona) => [
      persona,
      { surface: 'command', command: { argv: [process.execPath, agent, logOf(persona)] } },
    ]),
  )
  // YAML is a superset of JSON.
  fs.writeFileSync(path.join(home, 'config.yaml'), JSON.stringify({ personas, daemon: WAKING[waking] }))

  let hub = await startHub(home)
  const daemons = new Map<Persona, Running>()
  for (const persona of PERSONAS) daemons.set(persona, await startDaemon(home, persona))
  const track = () => running.splice(0, running.length, hub, ...daemons.values())
  track()
  const http = hubHttp(home)

  const kills: Record<string, number> = { hub: 0, daemon: 0, shim: 0 }
  const killSomething = async () => {
    const victim = pick(['hub', 'daemon', 'shim'] as const)
    kills[victim] = (kills[victim] ?? 0) + 1
    if (victim === 'hub') {
      await end(hub)
      hub = await startHub(home)
    } else {
      const persona = pick(PERSONAS)
      const daemon = daemons.get(persona) as Running
      if (victim === 'daemon') {
        await end(daemon)
        daemons.set(persona, await startDaemon(home, persona))
      } else {
        for (const pid of childrenOf(daemon.child.pid as number)) kill(pid)
      }
    }
    track()
  }

  const accepted = new Set<string>()
  const send = async (number: number, to = pick(PERSONAS)): Promise<void> => {
    const from = pick(PERSONAS.filter((persona) => persona !== to))
    const body = {
      from,
      to,
      intent: 'count',
      payload: { number },
      priority: 1 + Math.floor(random() * 5),
      idempotency_key: `signal-${number}`,
    }
    const receipt = await eventually(
      `signal ${number} is accepted`,
      async () => {
        try {
          return await http.post<{ signal_id: string; durable: boolean }>('/api/signals/send', body)
        } catch (error) {
          // A permanent rejection is a bug; an unreachable hub is expected.
          if (error instanceof Refused && error.problem.retry === 'never') throw error
          return null
        }
      },
      60_000,
    )
    expect(receipt.durable).toBe(true)
    accepted.add(receipt.signal_id)
  }

  const entries = (persona: Persona): LogEntry[] =>
    fs.existsSync(logOf(persona))
      ? fs
          .readFileSync(logOf(persona), 'utf8')
          .split('\n')
          // The agent may still be running the last turn.
          .slice(0, -1)
          .map((line) => JSON.parse(line) as LogEntry)
      : []
  const drained = () => PERSONAS.flatMap(entries).filter((entry) => entry.kind === 'drained')
  const missing = () => {
    const seen = new Set(drained().map((entry) => entry.signal_id))
    return [...accepted].filter((signal_id) => !seen.has(signal_id))
  }
  /** When all processes run again, a signal to each causes a doorbell, and its drain returns all waiting signals. */
  let more = 0
  const waken = async (): Promise<void> => {
    if (waking !== 'one more signal') return
    const everybodyIsThere = async () => {
      const { json } = await turnbell(['status', '--home', home, '--json'])
      return json<z.infer<typeof PersonaStatusList>>().every(
        (row) => row.running && row.status.connected && row.status.surface.attached,
      )
    }
    await eventually('every daemon is connected, its surface attached', everybodyIsThere, 90_000)
    await Promise.all(PERSONAS.map((persona) => send(SIGNALS + more++, persona)))
  }
  const turnsBegun = () => PERSONAS.flatMap(entries).filter((entry) => entry.kind === 'turn_started').length

  for (let number = 0, burst = 0; number < SIGNALS; number += BURST, burst += 1) {
    const chaos = burst % KILL_EVERY === KILL_EVERY - 1 ? killSomething() : undefined
    const before = turnsBegun()
    await Promise.all([...Array.from({ length: BURST }, (_, offset) => send(number + offset)), chaos])
    // The agents need time between two kills; otherwise only the senders would be tested.
    if (chaos !== undefined) {
      await waken()
      await eventually(
        'a turn after the kill, or nothing to drain',
        () => turnsBegun() > before || missing().length === 0,
        60_000,
      )
    }
  }
  await waken()
  expect(accepted.size).toBe(SIGNALS + more)

  await eventually(
    'every accepted signal is drained',
    () =>
      missing().length === 0 ||
      Promise.reject(new Error(`${missing().length} missing, first ${missing()[0]}`)),
    90_000,
  )

  // The same signal with the same `deliveries` twice would be a second delivery without a released lease.
  const handOuts = drained().map((entry) => `${entry.signal_id}#${entry.deliveries}`)
  expect(new Set(handOuts).size).toBe(handOuts.length)
  expect(drained().every((entry) => accepted.has(entry.signal_id as string))).toBe(true)

  let turns = 0
  for (const persona of PERSONAS) {
    const bells = entries(persona)
      .filter((entry) => entry.kind === 'turn_started')
      .map((entry) => entry.doorbell_id)
    expect(new Set(bells).size, `${persona} saw a doorbell twice`).toBe(bells.length)
    expect(overlaps(entries(persona)), `${persona} was rung in the middle of a turn`).toEqual([])
    turns += bells.length
  }
  const repeated = handOuts.length - accepted.size
  console.log(JSON.stringify({ seed, signals: accepted.size, kills, turns, repeated, lost: 0 }))
}

/** Returns turns that began during an earlier one. A killed agent ends its turn by dying. */
function overlaps(entries: LogEntry[]): string[] {
  const found: string[] = []
  let open: LogEntry | null = null
  for (const entry of entries) {
    if (entry.kind === 'turn_started') {
      // Its last line follows the other's first: both were alive at the same time.
      const before = open
      if (
        before !== null &&
        entries.slice(entries.indexOf(entry)).some((later) => later.pid === before.pid)
      ) {
        found.push(`${before.doorbell_id} and ${entry.doorbell_id}`)
      }
      open = entry
    } else if (entry.kind === 'turn_ended' && open?.pid === entry.pid) open = null
  }
  return found
}

function childrenOf(pid: number): number[] {
  const text = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return text.split(' ').filter(Boolean).map(Number)
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
