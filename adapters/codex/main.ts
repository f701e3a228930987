/**
 * The shim of the `codex` surface, started and supervised by the persona's daemon: owns the persona's
 * app-server, follows the thread a person works in there, and rings by its queue.
 */
import path from 'node:path'
import { connectAppServer } from './app-server.ts'
import { codexSurface } from './codex-surface.ts'
import { attachShim } from '../shim.ts'
import { exitCodeOf } from '../../src/contracts/exit-codes.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { clientProgram, withoutOuterSession } from '../../src/system/clients.ts'
import { systemClock } from '../../src/system/clock.ts'
import { workerLog } from '../../src/system/home.ts'
import { lastingProcess } from '../../src/system/lasting-process.ts'
import { connectLocally } from '../../src/system/local-socket.ts'
import { leaveWithParent } from '../../src/system/parent.ts'
import { printProblem } from '../../src/system/problem-output.ts'
import { shimPlace } from '../../src/system/shim-place.ts'
import { VERSION } from '../../src/system/version.ts'

function main(): void {
  const { home, config, identity, paths, log } = shimPlace('codex-shim')

  const output_file = workerLog(home, identity, 'codex')
  const server = lastingProcess({
    program: clientProgram('codex', { home, config, env: process.env }),
    args: ['app-server', ...mcpServer(identity, home.root), '--listen', `unix://${paths.codex_socket}`],
    env: { ...withoutOuterSession(process.env), TURNBELL_HOME: home.root, TURNBELL_PERSONA: identity },
    note_file: path.join(paths.run_dir, 'codex.pid'),
    output_file,
  })
  const surface = codexSurface({ identity, clock: systemClock, log })

  let dial_ms: number = LIMITS.codex_dial_ms
  let leaving = false
  let started = false
  /** For ever: an app-server that ended is started again, ever more slowly while it keeps ending. */
  async function attend(): Promise<void> {
    try {
      if (server.ensure() === 'started') {
        if (started) log.warn({ output: output_file }, 'the app-server has ended and is started again')
        started = true
      }
      const link = await connectAppServer(
        paths.codex_socket,
        { version: VERSION, clock: systemClock, log },
        {
          onNotification: (notification) => surface.notified(notification),
          onClose() {
            surface.disconnected()
            again()
          },
        },
      )
      dial_ms = LIMITS.codex_dial_ms
      await surface.connected(link)
      log.info({}, 'attached to the app-server')
    } catch (error) {
      log.debug({ err: error }, 'no app-server yet')
      again()
    }
  }
  function again(): void {
    if (leaving) return
    systemClock.after(dial_ms, () => void attend())
    dial_ms = Math.min(dial_ms * 2, LIMITS.shim_reconnect_max_ms)
  }
  void attend()

  // Its app-server stays: a person works in it.
  const leaveIfOrphaned = leaveWithParent()

  const shim = attachShim({
    surface,
    dial: (handlers) => connectLocally(paths.surface_socket, handlers),
    clock: systemClock,
    log,
    onDetached: leaveIfOrphaned,
  })
  surface.open(shim)

  for (const os_signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(os_signal, () => {
      leaving = true
      surface.close()
      shim.close()
      server.stop()
      process.exit(0)
    })
  }
}

/** turnbell's MCP server for every thread of this app-server; the person's own configuration is not touched. */
function mcpServer(identity: string, home: string): string[] {
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.js')
  const args = [bin, 'mcp', '--client', 'codex', '--persona', identity, '--home', home]
  // Codex gives its servers next to nothing of its environment, so what matters is said in words.
  if (process.env['TURNBELL_NO_AUTOSTART'] === '1') args.push('--no-autostart')
  const settings = {
    command: process.execPath,
    args,
    'tools.signals_pending.approval_mode': 'approve',
    'tools.signals.approval_mode': 'approve',
  }
  // JSON is TOML for strings and lists of them.
  return Object.entries(settings).flatMap(([key, value]) => [
    '-c',
    `mcp_servers.turnbell.${key}=${JSON.stringify(value)}`,
  ])
}

try {
  main()
} catch (error) {
  printProblem(error, false)
  process.exit(exitCodeOf(error))
}
