/**
 * The shim of a persona whose agent speaks the Agent Client Protocol, started and supervised by its daemon: keeps
 * the agent without a window, and prompts it where the daemon rings.
 */
import path from 'node:path'
import { acpSurface } from './acp-surface.ts'
import { keepAgent, type AgentKeeper } from './agent-keeper.ts'
import { keptSession } from './kept-session.ts'
import { MCP_SERVER } from './permission.ts'
import { withCarefulSubagents } from '../opencode/server-config.ts'
import { shimProcess, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors.ts'
import { LIMITS } from '../../src/contracts/limits.ts'
import { withoutOuterSession } from '../../src/system/clients.ts'
import { systemClock } from '../../src/system/clock.ts'
import { nodeProgram } from '../../src/system/node-program.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { workingDirectory, type ShimPlace } from '../../src/system/shim-place.ts'
import { startTalking } from '../../src/system/talking-process.ts'
import { isOpencode } from '../../src/system/their-opencode.ts'
import { VERSION } from '../../src/system/version.ts'
import { readText } from '../../src/system/watch-text.ts'
import { replaceFile } from '../../src/system/replace-file.ts'

function begin(place: ShimPlace): ShimParts {
  const { home, identity, settings, paths, log } = place
  if (settings?.acp === undefined) {
    throw new TurnbellError('config_invalid', {
      detail: `${home.config} has no personas.${identity}.acp`,
      hint: 'Name the agent there: `acp: {argv: [PROGRAM]}`.',
    })
  }
  const { argv } = settings.acp
  const cwd = workingDirectory(place)
  const is_opencode = isOpencode(argv) || settings.surface === 'opencode'
  const environment = () => ({
    ...agentEnvironment(is_opencode),
    ...{ TURNBELL_HOME: home.root, TURNBELL_PERSONA: identity },
  })
  // Before anything runs: what cannot be read of it is for a person to mend.
  environment()

  let keeper: AgentKeeper | null = null
  const surface = acpSurface({
    kind: settings.surface,
    policy: settings.permissions ?? 'reject',
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
    onTurnEnded: () => keeper?.works(),
    onTurnBroke: () => keeper?.restart(),
    onWanted: () => keeper?.hurry(),
  })
  const session_file = path.join(paths.run_dir, 'acp-session.json')
  const bin = path.join(import.meta.dirname, '..', '..', 'turnbell.cjs')
  keeper = keepAgent({
    surface,
    cwd,
    version: VERSION,
    clock: systemClock,
    log,
    start: () =>
      startTalking({
        argv,
        cwd,
        // Anew each time: a person may have changed their files.
        env: environment(),
        note_file: path.join(paths.run_dir, 'acp.pid'),
        line_bytes_max: LIMITS.acp_message_bytes_max,
        log,
      }),
    mcpServer: (run) => ({
      name: MCP_SERVER,
      command: nodeProgram(process.env),
      args: [
        ...[bin, 'mcp', '--persona', identity, '--home', home.root, '--session', run],
        // Agents give their servers next to nothing of their environment.
        ...(process.env['TURNBELL_NO_AUTOSTART'] === '1' ? ['--no-autostart'] : []),
      ],
    }),
    kept: keptSession(
      {
        read: () => readText(session_file),
        write: (text) => replaceFile(session_file, text),
      },
      { argv, cwd },
    ),
  })
  keeper.start()

  // The agent goes with the shim: it is nobody's who could use it without.
  return { surface, stop: () => keeper.stop() }
}

/**
 * What the agent inherits; where it is an opencode, its subagents leave the queue alone.
 *
 * @throws `config_invalid`
 */
function agentEnvironment(is_opencode: boolean): NodeJS.ProcessEnv {
  const env = withoutOuterSession(process.env)
  if (!is_opencode) return env
  return {
    ...env,
    OPENCODE_CONFIG_CONTENT: withCarefulSubagents(env['OPENCODE_CONFIG_CONTENT']),
  }
}

shimProcess('acp-shim', begin)
