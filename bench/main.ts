/** `npm run bench [-- NAME…]`: prints one JSON object per line on stdout, everything else on stderr. */
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { commandOptions, needDirectory } from '../test/support/command/command-options.mjs'
import type { Ending } from '../test/support/command/ending.mjs'
import { activityQueries } from './goals/activity-queries.ts'
import { capture } from './goals/capture.ts'
import { claudeEvents } from './goals/claude-events.ts'
import { claudeRun } from './goals/claude-run.ts'
import { daemonIdle } from './goals/daemon-idle.ts'
import { doorbell } from './goals/doorbell.ts'
import type { Figure } from './report/figures.ts'
import { growth } from './goals/growth.ts'
import { hook } from './goals/hook.ts'
import { idleLinks } from './goals/idle-links.ts'
import { journal } from './goals/journal.ts'
import { SPIN_MS, stolenPercent } from './limits.ts'
import { inMemory, removeEverything, ROOT, settings } from './processes.ts'
import { mcp } from './goals/mcp.ts'
import { peek } from './goals/peek.ts'
import { peers } from './goals/peers.ts'
import { memory } from './goals/memory.ts'
import { search } from './goals/search.ts'
import { restart } from './goals/restart.ts'
import { slowDisk } from './goals/slow-disk.ts'
import { team } from './goals/team.ts'
import { sendMany } from './goals/send-many.ts'
import { sendOne } from './goals/send-one.ts'
import { met, shownRatio } from './report/verdict.mjs'

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
  capture,
  'activity-queries': activityQueries,
  team,
}
/** Runs only if it is named: it needs the real clients, and ten minutes are not enough for all. */
const NAMED_ONLY: typeof BENCHES = { 'claude-events': claudeEvents, 'claude-run': claudeRun }
const ALL = { ...BENCHES, ...NAMED_ONLY }
const HELP = `usage: npm run bench -- [NAME…] [options]
       npm run -s bench > OUT.jsonl

  --dir DIR      parent directory of the hubs' homes (the temporary directory, unless that is in memory)
  --profile DIR  write Node's profiles of each process there

All of them if none is named: ${Object.keys(BENCHES).join(' ')}.
Only if named, with the clients of scripts/fetch-clients.mjs: ${Object.keys(NAMED_ONLY).join(' ')}.
Prints one JSON object per line on stdout, everything else on stderr; without -s npm writes to stdout as well.
Exit 1 if one failed, or not all ended within ten minutes: the others are named, also after Ctrl-C. Exit 2 for invalid
arguments.
`
/** Time limit of a run. Benchmarks that did not run in time are listed with a command to run them. */
const RUN_MAX_MS = 590_000

const say = (text: string) => process.stderr.write(`${text}\n`)

/** `prepare` builds the product after the arguments are validated. */
export async function main(argv: string[], ending: Ending, prepare: () => void): Promise<void> {
  const { names, options } = configure(argv)
  const left = new Set(names)
  prepare()
  const began = performance.now()
  // Registered last: npm forwards Ctrl-C to a process that has already received it, and the second one does not wait.
  process.on('exit', () => {
    const seconds = Math.round((performance.now() - began) / 1000)
    const rest = `npm run -s bench -- ${[...left, ...options].join(' ')}`
    if (left.size > 0) say(`STOPPED after ${seconds} s; not run: ${rest}`)
    removeEverything()
  })
  setTimeout(() => process.exit(1), RUN_MAX_MS).unref()

  say(environment())
  for (const name of left) {
    const started = performance.now()
    const stolen = stolenPercent()
    try {
      for (const figure of await ending.unlessInterrupted(ALL[name]?.() ?? Promise.resolve([]))) {
        const method = `${figure.method}; before it others had ${stolen} % of a core that span for ${SPIN_MS} ms`
        process.stdout.write(`${JSON.stringify({ ...figure, method })}\n`)
        say(verdict(figure))
      }
    } catch (error) {
      process.exitCode = 1
      say(`BROKEN ${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    } finally {
      // Processes and files of one benchmark must not affect the next.
      removeEverything()
    }
    say(`       ${name} took ${((performance.now() - started) / 1000).toFixed(1)} s`)
    left.delete(name)
  }
  // Keep-alive sockets to stopped hubs would delay the exit.
  process.exit()
}

function verdict(figure: Figure): string {
  const { name, ratio, goal, method } = figure
  if (ratio === null) return `LEFT OUT ${name}, goal ${goal ?? '-'}: ${method}`
  const word = goal === null ? 'seen  ' : met(figure) ? 'met   ' : 'MISSED'
  return `${word} ${name}: ratio ${shownRatio(figure)}, goal ${goal ?? '-'}`
}

/** Returns the selected benchmarks and the options. Ends the process after `--help` and for invalid arguments. */
function configure(argv: string[]): { names: string[]; options: string[] } {
  const { values, positionals } = commandOptions(HELP, {
    ...{ argv, names: Object.keys(ALL) },
    options: { dir: { type: 'string' }, profile: { type: 'string' } },
    directories: ['dir'],
    places: { script: 'bench', names: ['dir', 'profile'] },
    check({ profile }) {
      // The directory may be created only at that time.
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

/** Returns the temporary directory, unless it is in memory, where a sync has no cost. */
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
