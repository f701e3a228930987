/** Services as LaunchAgents: one property list for the hub, one for each persona. See launchd.plist(5), launchctl(1). */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import { pause } from '../../ports/pause.ts'
import { userDirectory } from '../../system/config/home.ts'
import type { Invocation } from '../cli.ts'
import { runOrFail } from './run.ts'
import {
  escapeXml,
  fill,
  readTemplate,
  servicePath,
  serviceWords,
  utf8,
  type ServiceManager,
} from './unit.ts'

export function launchd(invocation: Invocation, uid: number): ServiceManager {
  const { cli, home } = invocation
  const directory = path.join(userDirectory(cli.env['HOME']), 'Library', 'LaunchAgents')
  const domain = `gui/${uid}`

  return {
    name: 'launchd',
    ...utf8,

    unit(service) {
      const own = service.kind === 'hub' ? 'hub' : `daemon.${service.identity}`
      const persona = service.kind === 'hub' ? '' : service.identity
      const values = {
        command: serviceWords(cli)
          .map((word) => `<string>${escapeXml(word)}</string>`)
          .join('\n\t\t'),
        home: escapeXml(home.root),
        logs: escapeXml(home.logs_dir),
        path: escapeXml(servicePath(invocation)),
        persona: escapeXml(persona),
      }
      const template = service.kind === 'hub' ? 'com.turnbell.hub.plist' : 'com.turnbell.daemon.plist'
      return {
        service,
        name: `com.turnbell.${own}`,
        file: path.join(directory, `com.turnbell.${own}.plist`),
        content: fill(readTemplate(invocation, template), values, (value) => value),
        home: `<string>${escapeXml(home.root)}</string>`,
      }
    },

    async enable(unit) {
      // A loaded agent would keep its old property list.
      await cli.runProgram('launchctl', ['bootout', `${domain}/${unit.name}`])
      await retryWhileEnding(cli, () => runOrFail(cli, 'launchctl', ['bootstrap', domain, unit.file]))
    },

    async disable(unit) {
      await cli.runProgram('launchctl', ['bootout', `${domain}/${unit.name}`])
    },

    isEnabled: (unit) => fs.existsSync(unit.file),
    sharers: () => [],
    async forget() {},

    async state(unit) {
      const { code, stdout } = await cli.runProgram('launchctl', ['print', `${domain}/${unit.name}`])
      const shown = (name: string) => new RegExp(`^\\s*${name} = (.+)$`, 'm').exec(stdout)?.[1]
      const installed = fs.existsSync(unit.file)
      const exit = shown('last exit code')
      return {
        manager: 'launchd',
        unit: unit.name,
        file: unit.file,
        installed,
        enabled: installed,
        state: code === 0 ? (shown('state') ?? 'unknown') : 'not loaded',
        pid: code === 0 && shown('pid') !== undefined ? Number(shown('pid')) : null,
        last_exit: exit !== undefined && /^\d+/.test(exit) ? Number.parseInt(exit, 10) : null,
      }
    },
  }
}

/** Retries, because `bootout` returns before the agent has ended, and `bootstrap` fails until it has. */
async function retryWhileEnding(
  { clock }: Invocation['cli'],
  bootstrap: () => Promise<unknown>,
): Promise<void> {
  const deadline = clock.monotonic() + LIMITS.close_grace_ms + LIMITS.control_answer_ms
  for (;;) {
    try {
      await bootstrap()
      return
    } catch (error) {
      const is_ending = error instanceof TurnbellError && STILL_ENDING.test(error.detail)
      if (!is_ending || clock.monotonic() > deadline) throw error
      await pause(clock, POLL_MS)
    }
  }
}

const POLL_MS = 500
/** Exit codes of launchctl for an input/output error and for an operation in progress. */
const STILL_ENDING = /^launchctl bootstrap .* ended with (5|37)\b/
