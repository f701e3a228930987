/** `npm run bench [-- NAME…]`: one JSON object a line on stdout, everything else on stderr. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { commandOptions, needDirectory } from '../test/support/command-options.mjs'
import type { Ending } from '../test/support/ending.mjs'
import { daemonIdle } from './daemon-idle.ts'
import { doorbell } from './doorbell.ts'
import type { Figure } from './figures.ts'
import { growth } from './growth.ts'
import { hook } from './hook.ts'
import { idleLinks } from './idle-links.ts'
import { journal } from './journal.ts'
import { SPIN_MS, stolenPercent } from './limits.ts'
import { inMemory, removeEverything, ROOT, settings } from './processes.ts'
import { mcp } from './mcp.ts'
import { peek } from './peek.ts'
import { peers } from './peers.ts'
import { memory } from './memory.ts'
import { search } from './search.ts'
import { restart } from './restart.ts'
import { slowDisk } from './slow-disk.ts'
import { team } from './team.ts'
import { sendMany } from './send-many.ts'
import { sendOne } from './send-one.ts'
import { met, shownRatio } from './verdict.mjs'

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
  team,
}
const HELP = `usage: npm run bench -- [NAME…] [options]
       npm run -s bench > OUT.jsonl

  --dir DIR      where the homes of hubs are made (the temporary directory, unless that is memory)
  --profile DIR  keep there what Node's profilers say of each process

All of them, where none is named: ${Object.keys(BENCHES).join(' ')}.
One JSON object a line on stdout, everything else on stderr; without -s npm writes to stdout as well.
Exit 1 when one of them could not be done, or not within ten minutes altogether: those are named, as what is left is after
Ctrl-C. Exit 2 when something was not understood.
`
/** Everything together. What is not measured by then is named, with how to measure it. */
const RUN_MAX_MS = 590_000

const say = (text: string) => process.stderr.write(`${text}\n`)

/** `prepare` sees to what is measured, once it is known that something will be. */
export async function main(argv: string[], ending: Ending, prepare: () => void): Promise<void> {
  const { names, options } = configure(argv)
  const left = new Set(names)
  prepare()
  const began = performance.now()
  // At its very end: npm hands Ctrl-C on to a process that has had it already, and the second one waits for nothing.
  process.on('exit', () => {
    const seconds = Math.round((performance.now() - began) / 1000)
    const rest = `npm run -s bench -- ${[...left, ...options].join(' ')}`
    if (left.size > 0) say(`STOPPED after ${seconds} s; what is left: ${rest}`)
    removeEverything()
  })
  setTimeout(() => process.exit(1), RUN_MAX_MS).unref()

  say(environment())
  for (const name of left) {
    const started = performance.now()
    const stolen = stolenPercent()
    try {
      for (const figure of await ending.unlessInterrupted(BENCHES[name]?.() ?? Promise.resolve([]))) {
        const method = `${figure.method}; before it others had ${stolen} % of a core that span for ${SPIN_MS} ms`
        process.stdout.write(`${JSON.stringify({ ...figure, method })}\n`)
        say(verdict(figure))
      }
    } catch (error) {
      process.exitCode = 1
      say(`BROKEN ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    } finally {
      // Nothing of one benchmark runs or lies beside the next.
      removeEverything()
    }
    say(`       ${name} took ${((performance.now() - started) / 1000).toFixed(1)} s`)
    left.delete(name)
  }
  // Sockets kept alive to hubs that are gone would keep this process for a while.
  process.exit()
}

function verdict(figure: Figure): string {
  const { name, ratio, goal, method } = figure
  if (ratio === null) return `LEFT OUT ${name}, goal ${goal ?? '-'}: ${method}`
  const word = goal === null ? 'seen  ' : met(figure) ? 'met   ' : 'MISSED'
  return `${word} ${name}: ratio ${shownRatio(figure)}, goal ${goal ?? '-'}`
}

/** The benches to run, and the options as they could be said anywhere. Ends the process after `--help`, and where they make no sense. */
function configure(argv: string[]): { names: string[]; options: string[] } {
  const { values, positionals } = commandOptions(HELP, {
    ...{ argv, names: Object.keys(BENCHES) },
    options: { dir: { type: 'string' }, profile: { type: 'string' } },
    directories: ['dir'],
    places: { script: 'bench', names: ['dir', 'profile'] },
    check({ profile }) {
      // It may be made only then.
      if (profile !== undefined && fs.existsSync(profile)) needDirectory('profile', profile)
    },
  })
  const { dir, profile } = values
  settings.directory = dir ?? diskDirectory()
  settings.profile = profile ?? null
  return {
    names: positionals.length > 0 ? positionals : Object.keys(BENCHES),
    options: [
      ...(dir === undefined ? [] : ['--dir', JSON.stringify(settings.directory)]),
      ...(profile === undefined ? [] : ['--profile', JSON.stringify(settings.profile)]),
    ],
  }
}

/** The temporary directory, unless it is memory: a sync there would cost nothing. */
function diskDirectory(): string {
  return inMemory(os.tmpdir()) ? path.join(ROOT, 'node_modules/.cache') : path.resolve(os.tmpdir())
}

function environment(): string {
  const cpu = os.cpus()[0]?.model ?? 'unknown processor'
  const warning = inMemory(settings.directory) ? ' (in memory: syncs cost nothing here)' : ''
  return [
    `${os.cpus().length} x ${cpu}, ${os.type()} ${os.release()}, node ${process.version}`,
    `homes in ${settings.directory}${warning}; load ${os.loadavg()[0]?.toFixed(2)}`,
  ].join('\n')
}
