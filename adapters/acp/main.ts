/**
 * The shim of a persona whose agent speaks the Agent Client Protocol, started and supervised by its daemon: keeps
 * the headless agent running and prompts it when the daemon rings.
 */
import path from 'node:path'
import { acpSurface } from './acp-surface.ts'
import { keepAgent, type AgentKeeper } from './agent-keeper.ts'
import { sessionStore } from './session-store.ts'
import { MCP_SERVER } from './permission.ts'
import { withRestrictedSubagents } from '../opencode/server-config.ts'
import { runShim, type ShimParts } from '../shim-process.ts'
import { TurnbellError } from '../../src/contracts/errors/errors.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { withoutOuterSession } from '../../src/system/clients/client-discovery.ts'
import { systemClock } from '../../src/system/clock.ts'
import { nodeProgram } from '../../src/system/process/node-program.ts'
import { createIds, systemRandom } from '../../src/system/random.ts'
import { workingDirectory, type ShimEnvironment } from '../../src/system/clients/shim-environment.ts'
import { startStdioChild } from '../../src/system/process/stdio-child.ts'
import { isOpencode } from '../../src/system/clients/opencode-installation.ts'
import { VERSION } from '../../src/system/version.ts'
import { readText } from '../../src/system/files/watch-file.ts'
import { writeFileAtomic } from '../../src/system/files/atomic-write.ts'

function createParts(place: ShimEnvironment): ShimParts {
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
    TURNBELL_HOME: home.root,
    TURNBELL_PERSONA: identity,
  })
  // Called before anything starts, so that an invalid configuration is reported at once.
  environment()

  let keeper: AgentKeeper | null = null
  const surface = acpSurface({
    kind: settings.surface,
    policy: settings.permissions ?? 'reject',
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
    onTurnEnded: () => keeper?.turnEnded(),
    onTurnFailed: () => keeper?.restart(),
    onResumeRequested: () => keeper?.startNow(),
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
      startStdioChild({
        argv,
        cwd,
        // Read at every start, because a person may have changed the configuration.
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
        // Passed as an argument, because agents give their MCP servers almost none of their environment.
        ...(process.env['TURNBELL_NO_AUTOSTART'] === '1' ? ['--no-autostart'] : []),
      ],
    }),
    session_store: sessionStore(
      {
        read: () => readText(session_file),
        write: (text) => writeFileAtomic(session_file, text),
      },
      { argv, cwd },
    ),
  })
  keeper.start()

  // The agent is stopped with the shim, because no other client uses it.
  return { surface, stop: () => keeper.stop() }
}

/**
 * Returns the agent's environment. For opencode it denies subagents the tools that drain.
 *
 * @throws `config_invalid`
 */
function agentEnvironment(is_opencode: boolean): NodeJS.ProcessEnv {
  const env = withoutOuterSession(process.env)
  if (!is_opencode) return env
  return {
    ...env,
    OPENCODE_CONFIG_CONTENT: withRestrictedSubagents(env['OPENCODE_CONFIG_CONTENT']),
  }
}

runShim('acp-shim', createParts)
