/**
 * Measures the cost of a hostile agent for others: a hub with a team at work, first without and then with the attacker.
 */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { setTimeout as pause } from 'node:timers/promises'
import { resolveHome } from '../../../src/system/config/home.ts'
import { signToken } from '../../../src/kernel/sign-token.ts'
import { hubHttp } from '../../support/worlds/hub-http.ts'
import { weigh } from '../gauges.ts'
import { Supervised } from '../supervised.ts'
import type { Strikes } from './attacker.ts'
import type { Target } from './attacks.ts'
import { emptyTally, work, type Tally, type TeamWorld } from './team.ts'

export interface HostileOptions {
  quiet_s: number
  attack_s: number
  personas: number
  directory?: string
  /** The bundle of `worker.ts`. */
  worker: string
  /** Names of the attacks; all if empty. */
  attacks: readonly string[]
  onStarted?(started: { killNow: () => void; home: string }): void
}

export interface HostileResult {
  quiet: Figures
  attacked: Figures
  strikes: Strikes
  hub_mib_idle: number
  hub_mib_max: number
  /** Processes that ended unexpectedly. */
  ended: string[]
  home: string
}

export interface Figures {
  sent: number
  send_p50_ms: number
  send_p99_ms: number
  health_p99_ms: number
  health_max_ms: number
  /** Rejections of other callers. */
  refused: Record<string, number>
}

export const P99_MS_MAX = 250
export const P99_RATIO_MAX = 10
export const MEMORY_MIB_MAX = 400
export const HOSTILE = 'mallory'
const WEIGH_MS = 50
const FILL = 1_500
const STOP_MS_MAX = 20_000

export async function hostile(options: HostileOptions): Promise<HostileResult> {
  const home = fs.mkdtempSync(path.join(options.directory ?? os.tmpdir(), 'tb-hostile-'))
  const ended: string[] = []
  const hub = new Supervised({
    name: 'hub',
    args: ['hub', '--port', '0', '--home', home],
    ready: /^turnbell hub ready (http\S+)$/,
    restartPause: () => 1_000,
    onBroken: (violation) => ended.push(violation.message),
  })
  let max_mib = 0
  const scales = setInterval(() => {
    const mib = hub.pid === null ? 0 : (weigh(hub.pid)?.rss_mib ?? 0)
    max_mib = Math.max(max_mib, mib)
  }, WEIGH_MS)
  options.onStarted?.({ home, killNow: () => hub.killNow() })
  try {
    await hub.start()
    const { world, target } = await prepare(home, options.personas)
    const quiet = await phase(world, options.quiet_s)
    const idle_mib = max_mib
    const attacker = attackInWorker(options.worker, target, options.attacks)
    const attacked = await phase(world, options.attack_s)
    const strikes = await attacker.end()
    return { quiet, attacked, strikes, hub_mib_idle: idle_mib, hub_mib_max: max_mib, ended, home }
  } finally {
    clearInterval(scales)
    await hub.close()
  }
}

export interface RunningAttack {
  /** Ends the attack and returns its figures; empty if the attacker does not stop. */
  end(): Promise<Strikes>
}

/** Starts the attacker in another thread. `worker` is the bundle of `worker.ts`; all attacks if none are named. */
export function attackInWorker(worker: string, target: Target, attacks: readonly string[]): RunningAttack {
  const attacker = new Worker(worker, { workerData: { target, attacks } })
  const struck = new Promise<Strikes>((resolve, reject) => {
    attacker.once('message', resolve)
    attacker.once('error', reject)
  })
  struck.catch(() => undefined)
  return {
    async end() {
      attacker.postMessage('over')
      const strikes = await Promise.race([struck, pause(STOP_MS_MAX, {})])
      await attacker.terminate()
      return strikes
    },
  }
}

/** Creates personas and their tokens, and a full inbox for the hostile one to read. */
export async function prepare(home: string, personas: number): Promise<{ world: TeamWorld; target: Target }> {
  const hub = hubHttp(home)
  const operator_token = secret(home, 'operator.token')
  const names = Array.from({ length: personas }, (_, index) => `p${index}`)
  for (const identity of names) await hub.post('/api/personas/add', { identity, surface: 'mcp' })
  const world: TeamWorld = {
    ...{ url: hub.url(), operator_token, names },
    tokens: new Map(names.map((name) => [name, tokenOf(home, name, 'agent')])),
    daemon_tokens: new Map(names.map((name) => [name, tokenOf(home, name, 'daemon')])),
  }
  return { world, target: await hostileTarget(home) }
}

/** Returns the hostile persona with a full inbox. */
export async function hostileTarget(home: string): Promise<Target> {
  const hub = hubHttp(home)
  await hub.post('/api/personas/add', { identity: HOSTILE, surface: 'mcp' })
  const target: Target = { url: hub.url(), identity: HOSTILE, token: tokenOf(home, HOSTILE, 'agent') }
  for (let sent = 0; sent < FILL; sent += 100) {
    const calls = Array.from({ length: 100 }, () => ({
      facade: 'signals',
      action: 'send',
      params: { to: HOSTILE, intent: 'fill', payload: 'x'.repeat(700) },
    }))
    await hub.post('/batch', { calls }, target.token)
  }
  return target
}

function tokenOf(home: string, identity: string, kind: 'agent' | 'daemon'): string {
  const exp = Math.floor(Date.now() / 1000) + 24 * 3_600
  return signToken({ tenant_id: 'local', identity, kind, exp }, secret(home, 'signing.key'))
}

function secret(home: string, name: string): string {
  return fs.readFileSync(path.join(resolveHome({}, home).root, 'secrets', name), 'utf8').trim()
}

/** Returns the violated limits; an empty list if there are none. */
export function broken({ quiet, attacked, hub_mib_max, ended }: HostileResult): string[] {
  const p99_max = Math.max(P99_MS_MAX, P99_RATIO_MAX * quiet.send_p99_ms)
  const found = [...ended]
  if (attacked.sent === 0) found.push('nobody could send anything')
  if (attacked.send_p99_ms >= p99_max)
    found.push(`p99 of sends is ${attacked.send_p99_ms} ms; it may be ${p99_max}`)
  if (hub_mib_max >= MEMORY_MIB_MAX) found.push(`the hub used ${Math.round(hub_mib_max)} MiB`)
  for (const [what, count] of Object.entries(attacked.refused)) found.push(`others, ${count} times: ${what}`)
  return found
}

export function report({ quiet, attacked, strikes, hub_mib_idle, hub_mib_max }: HostileResult): string {
  const line = (name: string, { sent, send_p50_ms, send_p99_ms, health_p99_ms, health_max_ms }: Figures) =>
    `${name}: ${sent} sends, p50 ${send_p50_ms} ms, p99 ${send_p99_ms} ms; /health p99 ${health_p99_ms} ms, at most ${health_max_ms} ms\n`
  const attacks = Object.entries(strikes).map(([name, count]) => `  ${name}: ${count}\n`)
  return (
    line('quiet', quiet) +
    line('under attack', attacked) +
    `memory of the hub: ${Math.round(hub_mib_idle)} MiB before, at most ${Math.round(hub_mib_max)} MiB\n` +
    `attacks:\n${attacks.join('')}`
  )
}

async function phase(world: TeamWorld, seconds: number): Promise<Figures> {
  const tally = emptyTally()
  await work(world, tally, AbortSignal.timeout(seconds * 1_000))
  return figuresOf(tally)
}

function figuresOf({ send_ms, health_ms, sent, refused }: Tally): Figures {
  return {
    sent,
    send_p50_ms: quantile(send_ms, 0.5),
    send_p99_ms: quantile(send_ms, 0.99),
    health_p99_ms: quantile(health_ms, 0.99),
    health_max_ms: quantile(health_ms, 1),
    refused: Object.fromEntries(refused),
  }
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]
  return value === undefined ? Number.POSITIVE_INFINITY : Math.round(value * 10) / 10
}
