/** Goal 16: the cost of an idle team: `up` with a hub and daemons, and a Claude Code shim for each. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { DaemonStatus } from '../../src/contracts/control.ts'
import { cleanEnvironment } from '../../test/support/processes/processes.ts'
import { leftOut, short, type Figure } from '../report/figures.ts'
import { socketsOf, TURNBELL } from '../hubs.ts'
import { pause, ROOT, startProgram, temporaryDirectory, until } from '../processes.ts'
import { control } from '../shim.ts'
import { shownRatio } from '../report/verdict.mjs'

const PERSONAS = ['ada', 'bob', 'cyd', 'dan', 'eve']
const PSS_MIB_MAX = 300
const PROCESSES_MAX = 12
/** Wait after the last shim attached: idle processes release memory every 15 seconds. */
const SETTLE_MS = 50_000
/** A copy of node, whose pages are shared only within the team. */
const NODE = 'node-of-the-team'
const KEEPER = path.join(ROOT, 'dist/adapters/claude-code/keeper.sh')
const KEEPER_ROLE = path.basename(KEEPER)

interface Weighed {
  role: string
  pss_mib: number
}

export async function team(): Promise<Figure[]> {
  if (process.platform !== 'linux')
    return [leftOut('team-pss', 'MiB', `16: <= 1`, 'only Linux has /proc/PID/smaps_rollup')]
  const home = temporaryDirectory()
  const personas = Object.fromEntries(PERSONAS.map((persona) => [persona, { surface: 'claude-code' }]))
  fs.writeFileSync(path.join(home, 'config.yaml'), JSON.stringify({ hub: { port: 0 }, personas }))
  const node = path.join(home, NODE)
  fs.copyFileSync(process.execPath, node)
  const up = await startProgram(node, [TURNBELL, 'up', '--home', home])
  const shims: ChildProcess[] = []
  try {
    await allDaemons('connected', home, ({ state }) => state === 'CONNECTED')
    for (const persona of PERSONAS) shims.push(await startShim(home, persona, node))
    await allDaemons('attached', home, ({ surface }) => surface.attached)
    await pause(SETTLE_MS)
    const roots = [up.pid, ...shims.map(({ pid }) => pid as number)]
    return figures(descendants(roots).map(weigh))
  } finally {
    for (const shim of shims) shim.stdin?.end()
    await Promise.all(shims.map(async (shim) => shim.exitCode ?? (await once(shim, 'exit'))))
    await up.stop()
  }
}

async function allDaemons(
  what: string,
  home: string,
  holds: (status: DaemonStatus) => boolean,
): Promise<void> {
  await until(`all daemons are ${what}`, async () => {
    const sockets = PERSONAS.map((persona) => socketsOf(home, persona).control)
    return (await Promise.all(sockets.map((socket) => control<DaemonStatus>(socket, 'status')))).every(holds)
  })
}

/** Starts a shim like the plugin does. Resolves when the client has its tools. */
async function startShim(home: string, persona: string, node: string): Promise<ChildProcess> {
  const shim = spawn('/bin/sh', [KEEPER], {
    cwd: home,
    env: {
      ...cleanEnvironment(),
      TURNBELL_HOME: home,
      TURNBELL_PERSONA: persona,
      TURNBELL_NODE: node,
      CLAUDE_CODE_SESSION_ID: `session-of-${persona}`,
      CLAUDE_CONFIG_DIR: home,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: shim.stdout })
  const call = (id: number, method: string, params: object) =>
    new Promise<void>((resolve) => {
      lines.on('line', (line) => {
        if ((JSON.parse(line) as { id?: number }).id === id) resolve()
      })
      say({ id, method, params })
    })
  const say = (message: object) => shim.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'claude-code', version: '2.0.0' }
  await call(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  say({ method: 'notifications/initialized' })
  await call(2, 'tools/list', {})
  return shim
}

/** Returns these processes and all their descendants. */
function descendants(roots: readonly number[]): number[] {
  const children = new Map<number, number[]>()
  for (const name of fs.readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      // The program's name is in parentheses and may contain any character.
      const fields = fs.readFileSync(`/proc/${name}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
      const parent = Number(fields?.[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // The process has ended.
    }
  }
  const found = [...roots]
  for (const pid of found) found.push(...(children.get(pid) ?? []))
  return found
}

function weigh(pid: number): Weighed {
  const words = fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const rollup = fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const pss_kib = Number(/^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1])
  return { role: roleOf(words), pss_mib: pss_kib / 1024 }
}

function roleOf(words: readonly string[]): string {
  const program = words.findIndex((word) => /\.(cjs|js|sh)$/.test(word))
  const name = path.basename(words[program] ?? words[0] ?? '')
  return name === 'turnbell.cjs' ? (words[program + 1] ?? name) : name
}

function figures(processes: readonly Weighed[]): Figure[] {
  const pss_mib = processes.reduce((sum, one) => sum + one.pss_mib, 0)
  const state = `a hub, ${PERSONAS.length} daemons, as many Claude Code shims, and \`up\`, idle for ${SETTLE_MS / 1000} s`
  const roles = [...new Set(processes.map(({ role }) => role))].map((role) => {
    const those = processes.filter((one) => one.role === role)
    const each = those.reduce((sum, one) => sum + one.pss_mib, 0) / those.length
    return `${those.length} ${role}: ${short(each)} MiB each`
  })
  const keepers = processes.filter(({ role }) => role === KEEPER_ROLE).length
  const workers = processes.length - keepers
  return [
    {
      ...{ name: 'team-pss', value: short(pss_mib), unit: 'MiB', limit: PSS_MIB_MAX },
      ...{ ratio: ratio(pss_mib, PSS_MIB_MAX), goal: '16: <= 1' },
      method: [`sum of Pss in smaps_rollup: ${state}`, ...roles, 'one round'].join('; '),
    },
    {
      ...{ name: 'team-processes', value: workers, unit: 'processes', limit: PROCESSES_MAX },
      ...{ ratio: ratio(workers, PROCESSES_MAX), goal: '16: <= 1' },
      method: `number of processes without the keeper shells: ${state}; limit: one for each of these; one round`,
    },
    {
      ...{ name: 'team-keepers', value: keepers, unit: 'processes', limit: PERSONAS.length },
      ...{ ratio: ratio(keepers, PERSONAS.length), goal: null },
      method: `number of shells that restart a killed Claude Code shim: ${state}; limit: one for each shim; one round`,
    },
  ]
}

const ratio = (value: number, limit: number) => Number(shownRatio({ value, limit, goal: '16: <= 1' }))
