/** `npm run bench [-- NAME…]`: one JSON object a line on stdout, everything else on stderr. */
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { daemonIdle } from './daemon-idle.ts'
import { doorbell } from './doorbell.ts'
import { met, type Figure } from './figures.ts'
import { growth } from './growth.ts'
import { hook } from './hook.ts'
import { idleLinks } from './idle-links.ts'
import { journal } from './journal.ts'
import { stolenPercent } from './limits.ts'
import { inMemory, removeEverything, settings } from './processes.ts'
import { mcp } from './mcp.ts'
import { peek } from './peek.ts'
import { peers } from './peers.ts'
import { memory } from './memory.ts'
import { search } from './search.ts'
import { restart } from './restart.ts'
import { slowDisk } from './slow-disk.ts'
import { sendMany } from './send-many.ts'
import { sendOne } from './send-one.ts'

const BENCHES: Record<string, () => Promise<Figure[]>> = {
  'send-one': sendOne,
  'send-many': sendMany,
  peers,
  journal,
  doorbell,
  'slow-disk': slowDisk,
  restart,
  'idle-links': idleLinks,
  'daemon-idle': daemonIdle,
  mcp,
  peek,
  hook,
  growth,
  memory,
  search,
}
/** Everything together. What is not done by then is broken, and says so. */
const RUN_MAX_MS = 590_000

const say = (text: string) => process.stderr.write(`${text}\n`)

export async function main(argv: string[]): Promise<void> {
  const names = configure(argv)
  if (names === null) {
    say(`usage: npm run bench -- [${Object.keys(BENCHES).join('|')} …] [--dir DIR] [--profile DIR]`)
    process.exitCode = 64
    return
  }
  process.on('exit', removeEverything)
  for (const os_signal of ['SIGINT', 'SIGTERM'] as const) process.on(os_signal, () => process.exit(1))
  setTimeout(() => {
    say(`not done after ${RUN_MAX_MS / 1000} s`)
    process.exit(1)
  }, RUN_MAX_MS).unref()

  say(environment())
  for (const name of names) {
    const started = performance.now()
    const stolen = stolenPercent()
    try {
      for (const figure of (await BENCHES[name]?.()) ?? []) {
        const method = `${figure.method}; before it others had ${stolen} % of a core that span for 300 ms`
        process.stdout.write(`${JSON.stringify({ ...figure, method })}\n`)
        say(verdict(figure))
      }
    } catch (error) {
      process.exitCode = 1
      say(`BROKEN ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
    say(`       ${name} took ${((performance.now() - started) / 1000).toFixed(1)} s`)
  }
  // Sockets kept alive to hubs that are gone would keep this process for a while.
  process.exit()
}

function verdict(figure: Figure): string {
  const { name, ratio, goal, method } = figure
  if (ratio === null) return `LEFT OUT ${name}, goal ${goal ?? '-'}: ${method}`
  const word = goal === null ? 'seen  ' : met(figure) ? 'met   ' : 'MISSED'
  return `${word} ${name}: ratio ${ratio}, goal ${goal ?? '-'}`
}

/** The benches to run; null when the arguments make no sense. */
function configure(argv: string[]): string[] | null {
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      allowPositionals: true,
      options: { dir: { type: 'string' }, profile: { type: 'string' } },
    })
    settings.profile = values.profile === undefined ? null : path.resolve(values.profile)
    settings.directory = values.dir ?? diskDirectory()
    return positionals.every((name) => name in BENCHES)
      ? positionals.length > 0
        ? positionals
        : Object.keys(BENCHES)
      : null
  } catch (error) {
    say(error instanceof Error ? error.message : String(error))
    return null
  }
}

/** The temporary directory, unless it is memory: a sync there would cost nothing. */
function diskDirectory(): string {
  return inMemory(os.tmpdir()) ? path.resolve('node_modules/.cache') : os.tmpdir()
}

function environment(): string {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  const warning = inMemory(settings.directory) ? ' (in memory: syncs cost nothing here)' : ''
  return [
    `${os.cpus().length} x ${cpu}, ${os.type()} ${os.release()}, node ${process.version}`,
    `homes in ${settings.directory}${warning}; load ${os.loadavg()[0]?.toFixed(2)}`,
  ].join('\n')
}
