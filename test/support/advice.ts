/** Runs `turnbell doctor` in a home and executes the commands that it advises, as a user would. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { expect } from 'vitest'
import type { FindingDocument } from '../../src/cli/doctor/finding.ts'
import {
  BIN,
  cleanEnvironment,
  end,
  startReady,
  turnbell as runTurnbell,
  type Running,
} from './processes/processes.ts'

/** Output by which each long-running command shows that it is ready. */
const READY: Readonly<Record<string, RegExp>> = {
  hub: /turnbell hub ready/,
  daemon: /turnbell daemon ready/,
  up: /turnbell up ready/,
}

export interface Adviser {
  home: string
  env: Record<string, string>
  /** Runs `turnbell ARGS` in the home until it exits. */
  turnbell(...args: string[]): ReturnType<typeof runTurnbell>
  /** Starts `turnbell ARGS` and waits until it is ready. */
  start(...args: string[]): Promise<Running>
  findings(): Promise<FindingDocument[]>
  /** Returns the most severe finding of this check. */
  finding(check: string): Promise<FindingDocument>
  /**
   * Runs these commands, each of which must occur in the finding. `filled` maps placeholder words in capitals to their
   * values. Long-running commands are started.
   */
  follow(
    finding: FindingDocument,
    commands: readonly RegExp[],
    filled?: Record<string, string>,
  ): Promise<void>
  close(): Promise<void>
}

export function adviserIn(home: string, extra: Record<string, string> = {}): Adviser {
  const bin = fs.mkdtempSync(path.join(home, '..', 'bin-'))
  fs.writeFileSync(path.join(bin, 'turnbell'), `#!/bin/sh\nexec "${process.execPath}" "${BIN}" "$@"\n`, {
    mode: 0o755,
  })
  const env = { TURNBELL_HOME: home, PATH: `${bin}:${process.env['PATH']}`, ...extra }
  const running: Running[] = []

  const adviser: Adviser = {
    home,
    env,
    turnbell: (...args) => runTurnbell(args, { env }),
    async start(...args) {
      const started = await startReady(args, READY[args[0] ?? ''] ?? /./, env)
      running.push(started)
      return started
    },
    async findings() {
      return (await adviser.turnbell('doctor', '--json')).json<{ findings: FindingDocument[] }>().findings
    },
    async finding(check) {
      const found = (await adviser.findings()).filter((one) => one.check === check)
      const worst = ['broken', 'warning', 'ok'].flatMap((state) => found.filter((one) => one.state === state))
      return worst[0] ?? expect.unreachable(`doctor says nothing of ${check}`)
    },
    async follow({ mend }, commands, filled = {}) {
      const named = [...(mend ?? '').matchAll(/`([^`]+)`/g)].map(([, command]) => command ?? '')
      for (const wanted of commands) {
        const command = named.find((one) => wanted.test(one))
        if (command === undefined) return expect.unreachable(`no ${wanted} in: ${mend}`)
        const words = command.replaceAll(/\b[A-Z]{4,}\b/g, (word) => filled[word] ?? word)
        const [program, ...args] = words.split(' ')
        if (program === 'turnbell' && READY[args[0] ?? ''] !== undefined) await adviser.start(...args)
        else {
          const { status, stderr } = spawnSync('sh', ['-c', words], {
            env: cleanEnvironment(env),
            encoding: 'utf8',
          })
          // doctor exits with 1 while any other check fails.
          if (!words.startsWith('turnbell doctor')) expect(status, `${words}: ${stderr}`).toBe(0)
        }
      }
    },
    async close() {
      for (const one of running.splice(0)) {
        // A failed test may have left the process stopped.
        one.child.kill('SIGCONT')
        await end(one, 'SIGTERM')
      }
      fs.rmSync(bin, { recursive: true, force: true })
    },
  }
  return adviser
}
